"""Ordinary completion items, for clients that have no inline completion and ask for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from completiond.paths import Paths
from tests.e2e.harness import FAKE_DAEMON, Editor, environment, kill_daemon, temporary_paths
from tests.fakes import HANG, OTHER, FakeService

NOTHING = {"isIncomplete": True, "items": []}
SAY = "file:///p/say.py"
WANTED = [{"lsp_items": True}, {"completiond": {"lsp_items": True}}]


async def initialized(editor: Editor, options: Any) -> dict[str, Any]:
    result = await editor.request("initialize", {"capabilities": {}, "initializationOptions": options})
    editor.notify("initialized", {})
    capabilities: dict[str, Any] = result["capabilities"]
    return capabilities


def ask(editor: Editor, uri: str, line: int = 0, character: int = 0) -> asyncio.Future[Any]:
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    return editor.start("textDocument/completion", place)


@pytest.mark.parametrize("options", [None, [], {}, {"lsp_items": False}, {"lsp_items": 1}, {"completiond": None}])
async def test_they_are_announced_to_those_who_want_them_only(daemon_paths: Paths, options: Any) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        assert "completionProvider" not in await initialized(editor, options)


@pytest.mark.parametrize("options", WANTED)
async def test_one_item_that_displaces_nothing(daemon_paths: Paths, options: Any) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        assert (await initialized(editor, options))["completionProvider"] == {}
        editor.open(SAY, '"(a):\\n\\treturn a"\n\U0001f600 add(x)')
        answer = await ask(editor, SAY, 1, 6)  # behind "add", in UTF-16 units
        (item,) = answer["items"]
    assert answer["isIncomplete"] is True
    assert item["label"] == "(a):"
    assert item["sortText"] > "zzz"
    assert item["preselect"] is False
    assert item["filterText"].startswith("add(a)"), "it matches what was typed"
    here = {"line": 1, "character": 6}
    assert item["textEdit"] == {"range": {"start": here, "end": here}, "newText": "(a):\n\treturn a"}


async def test_it_is_no_misspelled_setting(daemon_paths: Paths, service: FakeService) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await initialized(editor, WANTED[0])
        editor.notify("workspace/didChangeConfiguration", {"settings": {"completiond": WANTED[0]}})
        editor.open(OTHER, "")
        assert (await ask(editor, OTHER))["items"][0]["label"] == "fake"
        assert editor.count("window/showMessage") == 0


async def test_never_an_error(daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await initialized(editor, WANTED[0])
        for uri in ("file:///p/crash.py", "file:///p/empty.py"):
            editor.open(uri, "x")
            assert await ask(editor, uri) == NOTHING
        assert await ask(editor, "file:///p/not-open.py") == NOTHING
        for params in (None, {}, {"textDocument": {"uri": OTHER}}, {"textDocument": 3, "position": {}}):
            assert await editor.request("textDocument/completion", params) == NOTHING
        editor.open(HANG, "x")
        older = ask(editor, HANG)
        newer = ask(editor, HANG, 0, 1)
        assert await asyncio.wait_for(older, 30) == NOTHING
        newer.cancel()
        status = await editor.request("completiond/status")
        assert status["counters"]["superseded"] == 1


async def test_nothing_while_the_model_loads(loading_paths: Paths) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await initialized(editor, WANTED[0])
        editor.open(OTHER, "x")
        assert await ask(editor, OTHER) == NOTHING


async def test_the_shim_announces_them_before_there_is_a_daemon() -> None:
    with temporary_paths() as paths:
        command = [FAKE_DAEMON[0], "-m", "completiond", "lsp"]
        async with Editor.on_program(*command, env=environment(paths)) as editor:
            assert "completionProvider" in await initialized(editor, WANTED[0])
            editor.open(HANG, "x")
            await editor.request("completiond/status")
            waiting = ask(editor, HANG)
            await editor.request("completiond/status")
            kill_daemon(paths)
            assert await asyncio.wait_for(waiting, 30) is None
            editor.open(OTHER, "x")
            await editor.request("completiond/status")
            assert (await ask(editor, OTHER))["items"][0]["textEdit"]["newText"] == "fake"
