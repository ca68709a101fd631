"""From an editor's notifications to accepted drafts: what is open is drafted from, for its own client and until closed.

The whole way but the model: sockets, LSP, the service with its thread, and a target that writes by script.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from completiond.complete.request import Chunk, CompletionRequest
from tests.complete.drafting import Daemon, change, config, drafting_daemon, span
from tests.e2e.harness import Editor, until

ANSWER = "result = registry.lookup(identifier, default=None)"
SOURCE = f"def find(registry, identifier):\n    {ANSWER}\n    return result\n"
TARGET = "def get(registry, identifier):\n    "
A, B = "file:///p/a.py", "file:///p/b.py"
PLACE = (1, 4)


@pytest.fixture
async def daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async with drafting_daemon(monkeypatch, ANSWER, config()) as one:
        yield one


@pytest.fixture
async def plain_daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async with drafting_daemon(monkeypatch, ANSWER, config("none")) as one:
        yield one


@pytest.fixture
async def editor(daemon: Daemon) -> AsyncIterator[Editor]:
    async with Editor.on_socket(daemon.paths) as editor:
        await editor.initialize()
        yield editor


def close(editor: Editor, uri: str) -> None:
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


MANY = len(ANSWER) // 2


async def test_a_file_that_is_open_beside_is_drafted_from(daemon: Daemon, editor: Editor) -> None:
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B, PLACE)
    editor.open(A, SOURCE)

    assert alone < MANY < await daemon.accepted(editor, B, PLACE)


async def test_a_file_of_another_client_never_is_even_with_the_same_name(daemon: Daemon, editor: Editor) -> None:
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B, PLACE)
    async with Editor.on_socket(daemon.paths) as other:
        await other.initialize()
        other.open(A, SOURCE)
        other.open(B, SOURCE + TARGET)
        assert await daemon.accepted(other, B, (4, 4)) > MANY

        assert await daemon.accepted(editor, B, PLACE) <= alone + 2


async def test_a_file_that_was_closed_is_drafted_from_no_more(daemon: Daemon, editor: Editor) -> None:
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B, PLACE)
    editor.open(A, SOURCE)
    assert await daemon.accepted(editor, B, PLACE) > MANY
    close(editor, A)

    assert await daemon.accepted(editor, B, PLACE) <= alone + 2
    close(editor, B)
    await until(lambda: daemon.completer.dictionary.num_tokens == 0)
    assert daemon.completer.dictionary.memo_lines == 0


async def test_the_files_of_an_editor_that_hung_up_are_forgotten(daemon: Daemon) -> None:
    async with Editor.on_socket(daemon.paths) as editor:
        await editor.initialize()
        editor.open(A, SOURCE)
        editor.open(B, TARGET)
        assert await daemon.accepted(editor, B, PLACE) > MANY
    await until(lambda: daemon.completer.dictionary.num_tokens == 0)


async def test_text_typed_in_another_file_is_drafted_from(daemon: Daemon, editor: Editor) -> None:
    editor.open(A, "def find(registry, identifier):\n    \n    return result\n")
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B, PLACE)
    for offset, character in enumerate(ANSWER):
        editor.insert(A, 1, 4 + offset, character, 2 + offset)

    assert alone < MANY < await daemon.accepted(editor, B, PLACE)
    lines = daemon.completer.dictionary.lines((daemon.service.client_id, A))
    assert lines == tuple(SOURCE.split("\n"))


async def test_a_text_replaced_as_a_whole_is_the_new_one(daemon: Daemon, editor: Editor) -> None:
    editor.open(A, "nothing\n")
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B, PLACE)
    change(editor, A, {"text": SOURCE})
    assert await daemon.accepted(editor, B, PLACE) > MANY
    change(editor, A, {"text": "nothing again\n"})

    assert await daemon.accepted(editor, B, PLACE) <= alone + 2


async def test_text_that_was_deleted_at_the_cursor_is_drafted_from_its_first_token(
    daemon: Daemon, editor: Editor
) -> None:
    editor.open(B, f"zzz\n    {ANSWER}\nqqq\n")
    change(editor, B, {"range": span((1, 4), (1, 4 + len(ANSWER))), "text": ""})

    # Nothing else in the file leads to it: all but what the first pass writes itself can come from the deleted line.
    assert await daemon.accepted(editor, B, PLACE) > MANY
    assert daemon.service.completions[-1].passes < len(ANSWER) // 4


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_line_ends_do_not_matter_to_what_is_drafted(daemon: Daemon, editor: Editor, line_end: str) -> None:
    editor.open(A, SOURCE.replace("\n", line_end))
    editor.open(B, TARGET.replace("\n", line_end))

    assert await daemon.accepted(editor, B, PLACE) > MANY


async def test_requests_from_elsewhere_have_no_business_with_open_files(daemon: Daemon, editor: Editor) -> None:
    editor.open(A, SOURCE)
    async with Editor.on_socket(daemon.paths) as tool:
        answer = await tool.request("completiond/complete", {"prefix": TARGET, "suffix": "\n", "explain": True})
        own = await editor.request("completiond/complete", {"prefix": TARGET, "suffix": "\n", "explain": True})

    for one in (answer, own):
        assert one["text"] == ANSWER
        assert one["accepted"] < MANY
        assert {decision["origin"].partition(",")[0] for decision in one["decisions"]} <= {"", "prompt", "near"}
        assert len(one["decisions"]) == one["passes"]


async def test_an_answer_that_was_broken_off_leaves_no_explanations_to_the_next(daemon: Daemon, editor: Editor) -> None:
    request = CompletionRequest(TARGET, "\n", document_id="x", explain=True)
    stream = daemon.service.stream(request)
    assert isinstance(await anext(stream), Chunk)
    await stream.aclose()
    completion = await daemon.service.complete(request)

    assert len(completion.decisions) == completion.passes


async def test_without_a_drafter_the_answers_are_the_same(plain_daemon: Daemon) -> None:
    async with Editor.on_socket(plain_daemon.paths) as editor:
        await editor.initialize()
        editor.open(A, SOURCE)
        editor.open(B, TARGET)

        assert await plain_daemon.accepted(editor, B, PLACE) == 0
