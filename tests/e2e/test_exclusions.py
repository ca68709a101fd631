"""Exclusions in the programs as they are installed: a daemon with the tiny model, an editor, the command line.

Drafts are seen by ``completiond/complete`` with ``explain``, which takes a path for a document's name; so the file that
completions are asked for in is opened under its path. No secret stands here: it is put together at run time.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.completer import Completer
from completiond.complete.reasons import REASONS
from completiond.paths import Paths
from tests.e2e.harness import EMPTY, Editor, kill_daemon
from tests.e2e.test_real_model import until_loaded

pytestmark = pytest.mark.model

SECRET = 'aws_access_id = "' + "AKIA" + "J7Q2MZ5X8RW4T9KD" + '"'
INNOCENT = 'aws_access_id = "read_from_the_system"'
BEGUN = 'aws_access_id = "'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored.py\n[oops\n")
    (tmp_path / ".completiondignore").write_text("own.py\n")
    (tmp_path / ".env").write_text(INNOCENT)
    (tmp_path / "main.py").write_text("total = ")
    return tmp_path


@pytest.fixture
def environment(fresh_environment: dict[str, str]) -> dict[str, str]:
    return {**fresh_environment, "COMPLETIOND_MODEL_NAME": "smollm2-135m", "COMPLETIOND_EXCLUDE_GLOBS": "legal/*.py"}


@pytest.fixture
async def paths(
    fresh_paths: Paths, environment: dict[str, str], tiny_completer: Completer, root: Path
) -> AsyncIterator[Paths]:
    """Where a daemon serves with the tiny model, which ``tiny_completer`` has prepared."""
    command = [sys.executable, "-m", "completiond", "serve"]
    with (root / "daemon.log").open("wb") as log:
        daemon = await asyncio.create_subprocess_exec(*command, env=environment, stderr=log)
    try:
        assert (await until_loaded(fresh_paths))["phase"] == "ready"
        yield fresh_paths
    finally:
        kill_daemon(fresh_paths)
        await daemon.wait()


async def origins(editor: Editor, path: Path) -> set[str]:
    """Where drafts for what follows BEGUN were from."""
    params = {"path": str(path), "prefix": BEGUN, "suffix": "\n", "maxTokens": 12, "explain": True}
    answer: dict[str, Any] = await editor.request("completiond/complete", params)
    assert answer["token_ids"]
    return {decision["origin"].partition(",")[0] for decision in answer["decisions"] if decision["proposed"]}


async def test_nothing_of_excluded_files_and_secrets_is_drafted(paths: Paths, root: Path) -> None:
    hidden = [(name, INNOCENT) for name in (".env", "ignored.py", "own.py", "legal/a.py")]
    async with Editor.on_socket(paths) as editor:
        await editor.request("initialize", {"capabilities": {}, "rootUri": root.as_uri()})
        editor.open(str(root / "main.py"), "")
        for name, line in [*hidden, ("config.py", SECRET)]:
            editor.open((root / name).as_uri(), f"import os\n\n{line}\n")
        assert "file" not in await origins(editor, root / "main.py")
        state = (await editor.request("completiond/status"))["dictionary"]
        assert (state["documents"], state["excluded_documents"]) == (2, len(hidden))
        for name, _ in hidden:
            assert await editor.complete((root / name).as_uri(), 2, 5) == EMPTY

        editor.open((root / "plain.py").as_uri(), f"import os\n\n{INNOCENT}\n")
        assert "file" in await origins(editor, root / "main.py")


async def test_the_command_line_says_why_there_is_nothing(
    paths: Paths, root: Path, environment: dict[str, str]
) -> None:
    async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "completiond", *arguments]
        return await asyncio.to_thread(
            subprocess.run, command, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    for options in ((), ("--stream", "--explain")):
        result = await run("complete", ".env", "--line", "1", *options)
        assert (result.returncode, result.stdout) == (0, "\n")
        reason = "excluded: secret_name"
        assert result.stderr == f"no suggestion ({reason}): {REASONS[reason]}\n"
    assert "excluded" not in (await run("complete", "main.py", "--line", "1")).stderr
    log = (root / "daemon.log").read_text()
    assert log.count(f"{root}/.gitignore:2 ") == 1

    status = await run("status")
    assert "0 documents, 0 tokens" in status.stdout
    doctor = await run("doctor")
    (line,) = (line for line in doctor.stdout.splitlines() if "exclusions" in line)
    assert line.startswith("note")
    assert f"{root}/.gitignore:2" in doctor.stdout.replace("\n", "").replace(" ", "")
    assert (doctor.stdout + doctor.stderr).count("oops") == 1
