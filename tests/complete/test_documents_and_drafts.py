"""From an editor's notifications to accepted drafts: what is open is drafted from, for its own client and until closed.

The whole way but the model: sockets, LSP, the service with its thread, and a target that writes by script.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from completiond.complete.completer import Completer
from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.complete.service import LocalService
from completiond.config import CompletionConfig, Config, ModelConfig, SpecConfig
from completiond.daemon import run_daemon
from completiond.paths import Paths
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy
from tests.e2e.harness import Editor, is_listening, temporary_paths, until
from tests.fake_model import bytes_of, fake_model, says

ANSWER = "result = registry.lookup(identifier, default=None)"
SOURCE = f"def find(registry, identifier):\n    {ANSWER}\n    return result\n"
TARGET = "def get(registry, identifier):\n    "
A, B = "file:///p/a.py", "file:///p/b.py"
PLACE = (1, 4)


class RecordingService(LocalService):
    """The real service; keeps the completions it gave."""

    def __init__(self, config: Config, paths: Paths) -> None:
        super().__init__(config, paths)
        self.completions: list[Completion] = []
        self.client_id = ""

    async def complete(self, request: CompletionRequest) -> Completion:
        self.client_id = request.client_id
        completion = await super().complete(request)
        self.completions.append(completion)
        return completion


@dataclass
class Daemon:
    """A daemon on the test's event loop."""

    paths: Paths
    service: RecordingService
    completer: Completer

    async def accepted(self, editor: Editor, uri: str, place: tuple[int, int] = PLACE) -> int:
        """Ask for a completion; return how many drafted tokens were accepted. The answer is always the same."""
        answer: Any = await editor.complete(uri, *place)
        completion = self.service.completions[-1]
        assert [item["insertText"] for item in answer["items"]] == [ANSWER]
        assert completion.token_ids == tuple(bytes_of(ANSWER))
        return completion.accepted


def config(drafter: Literal["auto", "none"] = "auto") -> Config:
    return Config(
        model=ModelConfig(name="fake", context_tokens=1024),
        completion=CompletionConfig(max_tokens=100),
        spec=SpecConfig(drafter=drafter),
    )


async def _daemon(drafter: Literal["auto", "none"], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    model, _ = fake_model(says(bytes_of(ANSWER + "\n\n\n")))
    completer = Completer(model, config(drafter))
    # Fixed costs: what is checked must not depend on how busy this machine is.
    completer.policy = MeasuredPolicy(PassCosts({1: 10.0, 4: 11.0, 32: 20.0}), refresh_costs=False)

    def open_completer(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        return completer

    monkeypatch.setattr("completiond.complete.open_completer.open_completer", open_completer)
    with temporary_paths() as paths:
        service = RecordingService(config(drafter), paths)
        task = asyncio.create_task(run_daemon(lambda: service, paths))
        await until(lambda: task.done() or (is_listening(paths) and service.state.phase == "ready"))
        yield Daemon(paths, service, completer)
        async with Editor.on_socket(paths) as editor:
            await editor.request("completiond/stop")
        await asyncio.wait_for(task, 20.0)


@pytest.fixture
async def daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async for one in _daemon("auto", monkeypatch):
        yield one


@pytest.fixture
async def plain_daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    async for one in _daemon("none", monkeypatch):
        yield one


@pytest.fixture
async def editor(daemon: Daemon) -> AsyncIterator[Editor]:
    async with Editor.on_socket(daemon.paths) as editor:
        await editor.initialize()
        yield editor


def close(editor: Editor, uri: str) -> None:
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def change(editor: Editor, uri: str, *changes: dict[str, Any]) -> None:
    editor.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": list(changes)}
    )


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, dict[str, int]]:
    (line, character), (end_line, end_character) = start, end
    return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end_character}}


MANY = len(ANSWER) // 2


async def test_a_file_that_is_open_beside_is_drafted_from(daemon: Daemon, editor: Editor) -> None:
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B)
    editor.open(A, SOURCE)

    assert alone < MANY < await daemon.accepted(editor, B)


async def test_a_file_of_another_client_never_is_even_with_the_same_name(daemon: Daemon, editor: Editor) -> None:
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B)
    async with Editor.on_socket(daemon.paths) as other:
        await other.initialize()
        other.open(A, SOURCE)
        other.open(B, SOURCE + TARGET)
        assert await daemon.accepted(other, B, (4, 4)) > MANY

        assert await daemon.accepted(editor, B) <= alone + 2


async def test_a_file_that_was_closed_is_drafted_from_no_more(daemon: Daemon, editor: Editor) -> None:
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B)
    editor.open(A, SOURCE)
    assert await daemon.accepted(editor, B) > MANY
    close(editor, A)

    assert await daemon.accepted(editor, B) <= alone + 2
    close(editor, B)
    await until(lambda: daemon.completer.dictionary.num_tokens == 0)
    assert daemon.completer.dictionary.memo_lines == 0


async def test_the_files_of_an_editor_that_hung_up_are_forgotten(daemon: Daemon) -> None:
    async with Editor.on_socket(daemon.paths) as editor:
        await editor.initialize()
        editor.open(A, SOURCE)
        editor.open(B, TARGET)
        assert await daemon.accepted(editor, B) > MANY
    await until(lambda: daemon.completer.dictionary.num_tokens == 0)


async def test_text_typed_in_another_file_is_drafted_from(daemon: Daemon, editor: Editor) -> None:
    editor.open(A, "def find(registry, identifier):\n    \n    return result\n")
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B)
    for offset, character in enumerate(ANSWER):
        editor.insert(A, 1, 4 + offset, character, 2 + offset)

    assert alone < MANY < await daemon.accepted(editor, B)
    lines = daemon.completer.dictionary.lines((daemon.service.client_id, A))
    assert lines == tuple(SOURCE.split("\n"))


async def test_a_text_replaced_as_a_whole_is_the_new_one(daemon: Daemon, editor: Editor) -> None:
    editor.open(A, "nothing\n")
    editor.open(B, TARGET)
    alone = await daemon.accepted(editor, B)
    change(editor, A, {"text": SOURCE})
    assert await daemon.accepted(editor, B) > MANY
    change(editor, A, {"text": "nothing again\n"})

    assert await daemon.accepted(editor, B) <= alone + 2


async def test_text_that_was_deleted_at_the_cursor_is_drafted_from_its_first_token(
    daemon: Daemon, editor: Editor
) -> None:
    editor.open(B, f"zzz\n    {ANSWER}\nqqq\n")
    change(editor, B, {"range": span((1, 4), (1, 4 + len(ANSWER))), "text": ""})

    # Nothing else in the file leads to it: all but what the first pass writes itself can come from the deleted line.
    assert await daemon.accepted(editor, B) > MANY
    assert daemon.service.completions[-1].passes < len(ANSWER) // 4


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_line_ends_do_not_matter_to_what_is_drafted(daemon: Daemon, editor: Editor, line_end: str) -> None:
    editor.open(A, SOURCE.replace("\n", line_end))
    editor.open(B, TARGET.replace("\n", line_end))

    assert await daemon.accepted(editor, B) > MANY


async def test_requests_from_elsewhere_have_no_business_with_open_files(daemon: Daemon, editor: Editor) -> None:
    editor.open(A, SOURCE)
    async with Editor.on_socket(daemon.paths) as tool:
        answer = await tool.request("completiond/complete", {"prefix": TARGET, "suffix": "\n", "explain": True})
        own = await editor.request("completiond/complete", {"prefix": TARGET, "suffix": "\n", "explain": True})

    for one in (answer, own):
        assert one["text"] == ANSWER
        assert one["accepted"] < MANY
        assert {decision["origin"].partition(",")[0] for decision in one["decisions"]} <= {"", "prompt", "realigned"}
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

        assert await plain_daemon.accepted(editor, B) == 0
