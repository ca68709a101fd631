"""What the editor's list of completions has selected is gone on with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.harness import Editor, inline_params
from tests.fakes import OTHER, FakeService

Place = tuple[int, int]


async def ask(editor: Editor, cursor: Place, text: str, start: Place, end: Place) -> Any:
    ends = {"start": dict(zip(("line", "character"), start, strict=True))} | {
        "end": dict(zip(("line", "character"), end, strict=True))
    }
    params = inline_params(OTHER, *cursor)
    params["context"] = {"triggerKind": 2, "selectedCompletionInfo": {"range": ends, "text": text}}
    return (await editor.request("textDocument/inlineCompletion", params))["items"], ends


async def test_the_suggestion_stands_behind_it_and_takes_the_same_place(editor: Editor, service: FakeService) -> None:
    editor.open(OTHER, "first\nitems.app(x)\n")

    (item,), replaced = await ask(editor, (1, 9), "append", (1, 6), (1, 9))

    (request,) = service.requests
    assert (request.prefix, request.suffix) == ("first\nitems.append", "(x)\n")
    assert item["range"] == replaced
    assert item["insertText"].startswith("append")
    assert len(item["insertText"]) > len("append")


async def test_text_behind_the_cursor_that_it_takes_the_place_of_is_gone(editor: Editor, service: FakeService) -> None:
    editor.open(OTHER, "items.apple\n")

    (item,), replaced = await ask(editor, (0, 9), "append", (0, 6), (0, 11))

    (request,) = service.requests
    assert (request.prefix, request.suffix) == ("items.append", "\n")
    assert item["range"] == replaced


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [("append", (0, 0), (0, 2)), ("append", (0, 10), (0, 11)), ("append", (0, 9), (1, 0)), ("a\nb", (0, 6), (0, 9))],
)
async def test_what_is_not_at_the_cursor_or_no_line_is_not_looked_at(
    editor: Editor, service: FakeService, text: str, start: Place, end: Place
) -> None:
    editor.open(OTHER, "items.apple\nb\n")

    (item,), _ = await ask(editor, (0, 9), text, start, end)

    (request,) = service.requests
    assert (request.prefix, request.suffix) == ("items.app", "le\nb\n")
    cursor = {"line": 0, "character": 9}
    assert item["range"] == {"start": cursor, "end": cursor}
