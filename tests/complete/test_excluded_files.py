"""What an editor has open and may not be read: no drafts from it, no completions in it, and no errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from completiond.config import ExcludeConfig
from tests.complete.drafting import Daemon, change, config, drafting_daemon, span
from tests.e2e.harness import EMPTY, TIMEOUT_S, Editor, until

ANSWER = "result = registry.lookup(identifier, default=None)"
SOURCE = f"def find(registry, identifier):\n    {ANSWER}\n    return result\n"
TARGET = "def get(registry, identifier):\n    "
PLACE = (1, 4)
MANY = len(ANSWER) // 2

EXCLUDED = [
    (".env", "secret_name"),
    ("deploy/prod.env", "secret_name"),
    ("ignored.py", "gitignore"),
    ("out/deep/made.py", "gitignore"),
    ("own.py", "completiondignore"),
    ("legal/contract.py", "config_glob"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored.py\nout/\n")
    (tmp_path / ".completiondignore").write_text("own.py\n")
    return tmp_path


@pytest.fixture
async def daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    exclude = ExcludeConfig(globs=("legal/*.py",))
    async with drafting_daemon(monkeypatch, ANSWER, config(exclude=exclude)) as one:
        yield one


@pytest.fixture
async def editor(daemon: Daemon, root: Path) -> AsyncIterator[Editor]:
    async with Editor.on_socket(daemon.paths) as editor:
        await editor.request("initialize", {"capabilities": {}, "workspaceFolders": [folder(root)]})
        editor.notify("initialized", {})
        yield editor


def folder(path: Path) -> dict[str, str]:
    return {"uri": path.as_uri(), "name": path.name}


async def counts(editor: Editor) -> tuple[int, int]:
    """Documents that are drafted from, and those that are excluded, as of the last answer."""
    state = (await editor.request("completiond/status"))["dictionary"]
    return state["documents"], state["excluded_documents"]


async def alone(daemon: Daemon, editor: Editor, root: Path) -> tuple[str, int]:
    """Open the file that completions are asked for in; how much is accepted there while no other is open."""
    target = (root / "target.py").as_uri()
    editor.open(target, TARGET)
    return target, await daemon.accepted(editor, target, PLACE)


@pytest.mark.parametrize("name", [name for name, _ in EXCLUDED])
async def test_an_excluded_file_is_never_drafted_from_however_its_text_got_there(
    daemon: Daemon, editor: Editor, root: Path, name: str
) -> None:
    target, few = await alone(daemon, editor, root)
    uri = (root / name).as_uri()

    editor.open(uri, SOURCE)
    assert await daemon.accepted(editor, target, PLACE) <= few + 2
    assert await counts(editor) == (1, 1)

    change(editor, uri, {"range": span((1, 0), (1, 0)), "text": f"    {ANSWER}\n"})
    assert await daemon.accepted(editor, target, PLACE) <= few + 2
    change(editor, uri, {"text": SOURCE + SOURCE})
    assert await daemon.accepted(editor, target, PLACE) <= few + 2
    assert await counts(editor) == (1, 1)

    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await daemon.accepted(editor, target, PLACE) <= few + 2
    assert await counts(editor) == (1, 0)


@pytest.mark.parametrize("name", ["ordinary.py", "env.py", "sub/legal/contract.py", "legal/deep/contract.py"])
async def test_the_same_text_in_an_ordinary_file_is_drafted_from(
    daemon: Daemon, editor: Editor, root: Path, name: str
) -> None:
    target, few = await alone(daemon, editor, root)
    editor.open((root / name).as_uri(), SOURCE)

    assert few < MANY < await daemon.accepted(editor, target, PLACE)
    assert await counts(editor) == (2, 0)


@pytest.mark.parametrize("name", [name for name, _ in EXCLUDED])
async def test_an_inline_completion_in_an_excluded_file_is_an_empty_list(
    daemon: Daemon, editor: Editor, root: Path, name: str
) -> None:
    uri = (root / name).as_uri()
    editor.open(uri, TARGET)

    assert await editor.complete(uri, *PLACE) == EMPTY
    assert editor.count("window/showMessage") == editor.count("window/logMessage") == 0
    counters = (await editor.request("completiond/status"))["counters"]
    assert (counters["requests"], counters["empty"]) == (1, 1)


@pytest.mark.parametrize(("name", "reason"), EXCLUDED)
async def test_a_completion_for_a_tool_says_why_there_is_none(
    daemon: Daemon, editor: Editor, root: Path, name: str, reason: str
) -> None:
    editor.open((root / "ordinary.py").as_uri(), SOURCE)
    params = {"path": str(root / name), "prefix": TARGET, "suffix": "\n", "explain": True, "stream": True}
    answer: dict[str, Any] = await editor.request("completiond/complete", params)

    assert (answer["text"], answer["stop_reason"]) == ("", f"excluded: {reason}")
    assert (answer["decisions"], answer["prompt_tokens"], answer["passes"]) == ([], 0, 0)
    assert editor.count("completiond/chunk") == 0


async def test_an_editor_s_view_of_an_excluded_file_is_excluded(daemon: Daemon, editor: Editor, root: Path) -> None:
    target, few = await alone(daemon, editor, root)
    view = "git:" + (root / ".env").as_uri().removeprefix("file://") + '?{"ref":"HEAD"}'
    editor.open(view, SOURCE)

    assert await daemon.accepted(editor, target, PLACE) <= few + 2
    assert await editor.complete(view, *PLACE) == EMPTY


async def test_a_buffer_that_was_never_saved_is_drafted_from(daemon: Daemon, editor: Editor, root: Path) -> None:
    target, few = await alone(daemon, editor, root)
    editor.open("untitled:Untitled-1", SOURCE)

    assert few < MANY < await daemon.accepted(editor, target, PLACE)


async def test_a_change_of_folders_takes_effect_on_what_is_open(daemon: Daemon, editor: Editor, root: Path) -> None:
    target, few = await alone(daemon, editor, root)
    uri = (root / "sub" / "legal" / "contract.py").as_uri()
    editor.open(uri, SOURCE)
    assert await daemon.accepted(editor, target, PLACE) > MANY

    event = {"added": [folder(root / "sub")], "removed": []}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert await daemon.accepted(editor, target, PLACE) <= few + 2
    assert await editor.complete(uri, *PLACE) == EMPTY

    event = {"added": [], "removed": [folder(root / "sub")]}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    editor.open(uri, SOURCE)  # what was forgotten comes back when the editor sends it again
    assert await daemon.accepted(editor, target, PLACE) > MANY


async def test_folders_of_one_client_mean_nothing_to_another(daemon: Daemon, editor: Editor, root: Path) -> None:
    async with Editor.on_socket(daemon.paths) as other:
        await other.request("initialize", {"capabilities": {}, "rootUri": (root / "sub").as_uri()})
        uri = (root / "sub" / "legal" / "contract.py").as_uri()
        for one in (editor, other):
            one.open(uri, SOURCE)
            await one.complete(uri, *PLACE)
        assert await counts(editor) == (1, 1)


async def test_a_file_that_comes_to_be_ignored_is_forgotten_in_a_moment(
    daemon: Daemon, editor: Editor, root: Path
) -> None:
    target, few = await alone(daemon, editor, root)
    editor.open((root / "notes.py").as_uri(), SOURCE)
    assert await daemon.accepted(editor, target, PLACE) > MANY

    (root / ".gitignore").write_text("notes.py\n")
    async with asyncio.timeout(TIMEOUT_S):
        while await daemon.accepted(editor, target, PLACE) > few + 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert await counts(editor) == (1, 1)


async def test_what_is_wrong_with_an_ignore_file_is_logged_once(
    daemon: Daemon, editor: Editor, root: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("completiond"), "propagate", True)
    (root / ".gitignore").write_text("*.log\n[oops\n")
    for name in ("a.py", "b.py", "c.log"):
        editor.open((root / name).as_uri(), SOURCE)
        await editor.complete((root / name).as_uri(), *PLACE)
    await until(lambda: daemon.service.dictionary.excluded_documents == 1)

    told = [record.getMessage() for record in caplog.records if "ignore" in record.getMessage()]
    (line,) = told
    assert f"{root}/.gitignore:2" in line
    assert "[oops" in line
