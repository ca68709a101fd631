"""The text that a completion is made for is the text that the editor has."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from completiond.paths import Paths
from tests.e2e.harness import EMPTY, Editor, inline_params, insertion
from tests.fakes import HASH, OTHER, digest

SNIPPETS = [
    "",
    "x",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "é",
    "日本語",
    "\U0001f600",
    "a\x0cb",
    "a\u2028b",
    "\x85",
    "\x1c",
    "\ta",
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_edits_at_many_places_give_the_text_that_the_editor_has(daemon_paths: Paths, encoding: Any) -> None:
    """The reference is the plainest that can be: split into lines, measure, cut."""
    rng = random.Random(f"edits {encoding}")
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize([encoding])
        text = "a\x0cb\r\n\u2028x = '日本\U0001f600'\r\n\n\x0c\rend"
        editor.open(HASH, text)
        for version in range(2, 62):
            changes = []
            for _ in range(rng.randint(1, 3)):
                start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
                start, end = _between_characters(text, start), _between_characters(text, min(end, start + 6))
                new = "".join(rng.choices(SNIPPETS, k=rng.randint(0, 3)))
                span = {"start": _position(text, start, encoding), "end": _position(text, end, encoding)}
                changes.append({"range": span, "text": new})
                text = text[:start] + new + text[end:]
            if version % 20 == 0:
                changes.append({"text": text})  # the whole document
            editor.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": HASH, "version": version}, "contentChanges": changes},
            )
            cursor = _between_characters(text, rng.randint(0, len(text)))
            position = _position(text, cursor, encoding)
            (item,) = (await editor.complete(HASH, position["line"], position["character"]))["items"]
            assert item["insertText"] == f"{digest(text[:cursor])}:{digest(text[cursor:])}", f"version {version}"
            assert item["range"] == {"start": position, "end": position}


def _between_characters(text: str, offset: int) -> int:
    """Move out of the middle of a CR LF, where LSP has no position."""
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def _position(text: str, offset: int, encoding: str) -> dict[str, int]:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    codec, unit_bytes = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
    return {"line": before.count("\n"), "character": len(line.encode(codec)) // unit_bytes}


async def test_a_request_sees_the_text_as_it_was_when_it_was_sent(editor: Editor) -> None:
    editor.open(HASH, "old")
    request, answer = editor.prepare("textDocument/inlineCompletion", inline_params(HASH, 0, 3))
    editor.send(request, insertion(HASH, 0, 0, "new ", 2), insertion(HASH, 0, 0, "newer ", 3))
    (item,) = (await asyncio.wait_for(answer, 10))["items"]
    assert item["insertText"] == f"{digest('old')}:{digest('')}"
    (item,) = (await editor.complete(HASH, 0, 0))["items"]
    assert item["insertText"] == f"{digest('')}:{digest('newer new old')}"


async def test_closing_and_opening_again(editor: Editor) -> None:
    editor.open(HASH, "one")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": HASH}})
    assert await editor.complete(HASH) == EMPTY
    editor.open(HASH, "two", version=1)
    (item,) = (await editor.complete(HASH, 0, 3))["items"]
    assert item["insertText"].startswith(digest("two"))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didChange", {"textDocument": {"uri": "file:///no", "version": 1}, "contentChanges": []}),
        ("textDocument/didClose", {"textDocument": {"uri": "file:///no"}}),
        ("textDocument/didSave", {"textDocument": {"uri": "file:///no"}}),
        ("textDocument/didOpen", None),
        ("textDocument/didOpen", {"textDocument": {"uri": 3}}),
        ("textDocument/didChange", {"textDocument": {"uri": "file:///no"}, "contentChanges": [{"range": 1}]}),
        ("textDocument/didClose", []),
        ("workspace/didChangeConfiguration", {"settings": {}}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}}),
        ("$/setTrace", {"value": "verbose"}),
        ("$/cancelRequest", {"id": 12345}),
        ("$/cancelRequest", None),
        ("notebookDocument/didOpen", {}),
    ],
)
async def test_notifications_that_mean_nothing_here_do_no_harm(editor: Editor, method: str, params: Any) -> None:
    editor.open(OTHER, "x")
    editor.notify(method, params)
    assert len((await editor.complete(OTHER))["items"]) == 1
    assert editor.received == []


async def test_after_a_change_that_cannot_be_read_the_document_counts_as_closed(editor: Editor) -> None:
    editor.open(OTHER, "x")
    change = {"range": {"start": {"line": 0}}, "text": "y"}
    editor.notify("textDocument/didChange", {"textDocument": {"uri": OTHER, "version": 2}, "contentChanges": [change]})
    assert await editor.complete(OTHER) == EMPTY
