"""What becomes of a suggestion while one types, accepts a part of it, or removes lines."""

from __future__ import annotations

import asyncio

import pytest

from tests.complaints.desk import PATIENT, URI, Desk, desk_in
from tests.complete.drafting import change, span
from tests.e2e.harness import EMPTY, TIMEOUT_S, Editor, daemon_in_process, temporary_paths, until
from tests.fakes import HANG, FakeService

TEXT = "def add(a, b):\n    §\n"
ANSWER = "return sum_of(a, b)"


async def test_10_what_is_typed_along_leaves_the_rest_at_the_new_cursor_at_once(desk: Desk) -> None:
    """Letters that were typed before the suggestion was accepted stay behind, and it is inserted at an old place."""
    line, character = desk.open(TEXT)
    desk.will_say(ANSWER)
    assert await desk.ask((line, character)) == ANSWER
    num_passes = desk.target.num_passes
    for typed, letter in enumerate(ANSWER[:-1]):
        desk.editor.insert(URI, line, character + typed, letter, 2 + typed)
        assert await desk.ask((line, character + typed + 1)) == ANSWER[typed + 1 :]
    assert desk.target.num_passes == num_passes, "the model was asked"


async def test_12_a_suggestion_that_a_newer_request_overtakes_is_given_up_at_once() -> None:
    """An old suggestion is shown though lines have been removed meanwhile."""
    service = FakeService()
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service), Editor.on_socket(paths) as editor:
            await editor.initialize()
            editor.open(HANG, "one\ntwo\nthree\n")
            older = editor.ask(HANG, 2, 5)
            await until(lambda: service.num_running)
            change(editor, HANG, {"range": span((0, 0), (2, 0)), "text": ""})
            newer = editor.ask(HANG, 0, 5)
            assert await asyncio.wait_for(older, TIMEOUT_S) is None
            editor.notify("textDocument/didClose", {"textDocument": {"uri": HANG}})
            newer.cancel()


async def test_12_where_nothing_is_suggested_any_more_the_old_suggestion_is_cleared(desk: Desk) -> None:
    """A suggestion stays on the screen that belongs to lines which are not there any more."""
    line, character = desk.open("a = 1\n" * 20 + TEXT)
    desk.will_say(ANSWER)
    assert await desk.ask((line, character)) == ANSWER
    change(desk.editor, URI, {"range": span((3, 0), (line, character)), "text": ""})
    desk.will_say("")
    assert await desk.editor.complete(URI, 3, 0) == EMPTY
    desk.will_say("b = 2")
    change(desk.editor, URI, {"range": span((0, 0), (3, 0)), "text": "x = 1\n"})
    (item,) = (await desk.editor.complete(URI, line, character))["items"]  # a line that is gone: the end of the text
    assert item["range"]["start"] == {"line": 2, "character": 0}


async def test_13_a_suggestion_that_is_typed_along_does_not_change(desk: Desk) -> None:
    """While one types what is suggested, it turns into something else."""
    line, character = desk.open(TEXT)
    assert await desk.suggestion(TEXT, ANSWER) == ANSWER
    desk.will_say("raise NotImplementedError")  # the model would have it otherwise now
    for typed, letter in enumerate(ANSWER[:8]):
        desk.editor.insert(URI, line, character + typed, letter, 2 + typed)
        assert await desk.ask((line, character + typed + 1)) == ANSWER[typed + 1 :]
    desk.editor.insert(URI, line, character + 8, "X", 20)  # who types something else gets something else
    assert await desk.ask((line, character + 9)) == "raise NotImplementedError"


async def test_13_a_key_that_is_taken_back_brings_the_same_suggestion(desk: Desk) -> None:
    """The suggestion flickers when a letter is typed and removed."""
    line, character = desk.open(TEXT)
    assert await desk.suggestion(TEXT, ANSWER) == ANSWER
    desk.will_say("raise NotImplementedError")
    desk.editor.insert(URI, line, character, "q", 2)
    await desk.ask((line, character + 1))
    change(desk.editor, URI, {"range": span((line, character), (line, character + 1)), "text": ""})
    assert await desk.ask((line, character)) == ANSWER


@pytest.mark.parametrize("accepted", ["return", "return sum_of(", "return sum_of(a, b)\n"])
async def test_14_behind_an_accepted_word_or_line_the_rest_is_there_at_once(desk: Desk, accepted: str) -> None:
    """Who accepts a word or a line waits for the rest anew, or gets another one."""
    whole = "return sum_of(a, b)\n    # the end"
    line, character = desk.open("def add(a, b):\n    §")
    desk.will_say(whole)
    assert await desk.ask((line, character)) == whole
    num_passes = desk.target.num_passes
    desk.editor.insert(URI, line, character, accepted)
    at = (line + 1, 0) if accepted.endswith("\n") else (line, character + len(accepted))
    assert await desk.ask(at) == whole.removeprefix(accepted)
    assert desk.target.num_passes == num_passes, "the model was asked"


async def test_14_what_follows_an_accepted_suggestion_is_written_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a suggestion that was accepted as a whole there is nothing for a while."""
    ahead = PATIENT.model_copy(update={"cache": PATIENT.cache.model_copy(update={"ahead": True})})
    async with desk_in(monkeypatch, ahead) as desk:
        line, character = desk.open(TEXT)
        desk.will_say("a = 1")
        assert await desk.ask((line, character)) == "a = 1"
        await until(lambda: len(desk.target.prompts) == 2)
        desk.editor.insert(URI, line, character, "a = 1")
        await desk.ask((line, character + 5))
        (last, *_) = (await desk.status())["recent"]
        assert last["served_from"] in ("running", "cache")
