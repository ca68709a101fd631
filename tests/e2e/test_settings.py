"""Settings in the programs as they are installed: a shim, the daemon it starts, and a real model of random weights."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from completiond.log_line import LogLine
from completiond.paths import Paths
from tests.e2e.harness import TIMEOUT_S, Editor, environment, temporary_paths
from tests.e2e.test_memory import run
from tests.lsp.test_settings import SHIM, SHOW
from tests.train.small import make_model

LOAD_TIMEOUT_S = 120.0
PREFIX = "def add(a, b):\n    "
WATCHED = "workspace/didChangeWatchedFiles"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "small", tied=False)


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        paths.config_dir.mkdir()
        yield paths


@pytest.fixture
def env(paths: Paths) -> dict[str, str]:
    found = environment(paths, COMPLETIOND_MODEL_DEVICE="cpu")
    del found["COMPLETIOND_SERVE_COMMAND"]
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def user_file(paths: Paths, model: Path, text: str = "") -> None:
    paths.config_file.write_text(f"[model]\nname = '{model}'\ncontext_tokens = 512\nthreads = 1\n{text}")


@asynccontextmanager
async def serving(env: dict[str, str], root: Path, *options: str) -> AsyncIterator[Editor]:
    async with Editor.on_program(*SHIM, *options, env=env) as editor:
        await editor.request("initialize", {"capabilities": {}, "rootUri": root.as_uri()})
        editor.notify("initialized", {})
        async with asyncio.timeout(LOAD_TIMEOUT_S):
            while (values := await editor.request("completiond/status"))["phase"] == "loading":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert values["phase"] == "ready", values
        yield editor


async def answer(editor: Editor, path: Path, **more: Any) -> dict[str, Any]:
    params = {"path": str(path), "prefix": PREFIX, "suffix": "\n", "temperature": 1.0, "seed": 7, **more}
    found: dict[str, Any] = await editor.request("completiond/complete", params)
    return found


async def test_a_running_daemon_follows_its_files(paths: Paths, env: dict[str, str], model: Path, root: Path) -> None:
    user_file(paths, model)
    path = root / "a.py"
    async with serving(env, root) as editor:
        assert len((await answer(editor, path))["token_ids"]) > 9

        user_file(paths, model, "[completion]\nmax_tokens = 9\n")
        editor.notify(WATCHED, {"changes": []})
        assert len((await answer(editor, path))["token_ids"]) in range(1, 10)
        (root / ".completiond.toml").write_text("[completion]\nmax_tokens = 5\n[exclude]\nglobs = ['legal/']\n")
        editor.notify(WATCHED, {"changes": []})
        assert len((await answer(editor, path))["token_ids"]) in range(1, 6)
        assert (await answer(editor, root / "legal" / "a.py"))["stop_reason"] == "excluded: repository_glob"
        (root / ".completiond.toml").write_text("[completion]\nenabled = false\n")
        editor.notify(WATCHED, {"changes": []})
        assert (await answer(editor, path))["stop_reason"] == "off: completion.enabled"
        (root / ".completiond.toml").unlink()
        assert editor.count(SHOW) == 0

        user_file(paths, root / "another", "[completion]\nmax_tokenz = 5\n")
        editor.notify(WATCHED, {"changes": []})
        shown = await editor.wait_for(SHOW)
        assert "max_tokens?" in shown["message"]
        assert "And 1 more" in shown["message"]
        values = await editor.request("completiond/status")
        assert values["model"] == str(model), "that one goes on serving"
        (pending,) = (one for one in values["problems"] if "model.name" in one)
        assert pending.startswith(f'{paths.config_file}:2: model.name = "/')
        assert pending.endswith(" takes effect after `completiond stop`.")
        said = " ".join((await asyncio.to_thread(run, env, "status")).split())
        assert "completion.max_tokenz is not a setting" in said
        assert (await answer(editor, path))["token_ids"]
        assert editor.count(SHOW) == 1
    log = paths.log_file.read_text()
    logged = [LogLine.parse(line) for line in log.splitlines()]
    assert [line.level for line in logged if line.message == pending] == ["warning"]
    assert "Traceback" not in log


@pytest.mark.parametrize("options", [(), ("--standalone",)])
async def test_a_first_start_with_wrong_settings_serves_with_the_right_ones(
    paths: Paths, env: dict[str, str], model: Path, root: Path, options: tuple[str, ...]
) -> None:
    user_file(paths, model, "[completion]\nmax_tokens = '5'\n[prompt]\nprefix_tokens = 40\n[oops]\n")
    async with serving(env, root, *options) as editor:
        assert "completion.max_tokens must be a whole number" in (await editor.wait_for(SHOW))["message"]
        found = await answer(editor, root / "a.py", prefix=PREFIX * 20)
        assert found["prompt_tokens"] < 60


async def test_a_pipe_for_a_file_holds_nobody_up(paths: Paths, env: dict[str, str], model: Path, root: Path) -> None:
    user_file(paths, model)
    async with serving(env, root) as editor:
        await answer(editor, root / "a.py")
        user_file(paths, model, "[oops]\n")
        fifo = root / ".completiond.toml"
        os.mkfifo(fifo)  # who opened it to read would hang
        editor.notify(WATCHED, {"changes": []})
        async with asyncio.timeout(TIMEOUT_S):
            assert (await answer(editor, root / "a.py"))["token_ids"]
        assert any("is not a regular file" in one for one in (await editor.request("completiond/status"))["problems"])
