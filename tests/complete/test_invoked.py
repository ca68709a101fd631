"""Who asks for suggestions by a command of the editor is given several, through a daemon on its socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from completiond.config import Config
from tests.complete.drafting import config, drafting_daemon
from tests.e2e.harness import Editor

ANSWER = "registry.lookup(identifier)"
INVOKED, AUTOMATIC = 1, 2


async def items(editor: Editor, uri: str, trigger: int) -> list[dict[str, Any]]:
    params = {
        "textDocument": {"uri": uri}, "position": {"line": 1, "character": 13}, "context": {"triggerKind": trigger}
    }  # fmt: skip
    found = await editor.request("textDocument/inlineCompletion", params)
    assert isinstance(found["items"], list)
    return found["items"]


def wanting(count: int) -> Config:
    base = config(drafter="none")
    return base.model_copy(update={"completion": base.completion.model_copy(update={"alternatives": count})})


@pytest.mark.parametrize("count", [1, 3])
async def test_a_command_of_the_editor_gives_several_and_a_key_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int
) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with drafting_daemon(monkeypatch, ANSWER, wanting(count)) as daemon, Editor.on_socket(daemon.paths) as editor:
        await editor.request("initialize", {"capabilities": {}})
        editor.notify("initialized", {})
        editor.open(uri, "def get(registry, identifier):\n    result = \n    return result\n")
        (one,) = await items(editor, uri, AUTOMATIC)
        several = await items(editor, uri, INVOKED)
        recent = (await editor.request("completiond/status", {"why": True}))["recent"]

    assert one["insertText"] == ANSWER
    assert several[0] == one
    assert len(several) == count == len({item["insertText"] for item in several})
    assert {str(item["range"]) for item in several} == {str(one["range"])}
    assert len(recent) == 2
