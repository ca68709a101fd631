"""Answers that serve more than one request: typed along, taken back, broken off, asked for twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from completiond.complete.context_budget import ReadingTime
from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.complete.service import LocalService
from completiond.complete.service_protocol import SupersededError
from completiond.config import CacheConfig, CompletionConfig, PromptConfig
from tests.complete.test_service import ANSWER, CONFIG, Gate, Opener, error_of, request, result_of, until
from tests.complete.test_service import gate as gate
from tests.complete.test_service import loading as loading
from tests.complete.test_service import opener as opener
from tests.complete.test_service import service as service
from tests.e2e.harness import until as until_true
from tests.fake_model import bytes_of, says


async def ask(service: LocalService, wanted: CompletionRequest) -> tuple[list[Chunk], Completion]:
    items = [item async for item in service.stream(wanted)]
    assert isinstance(items[-1], Completion)
    chunks = [item for item in items[:-1] if isinstance(item, Chunk)]
    assert "".join(chunk.text for chunk in chunks) == items[-1].text
    assert all("".join(span.text for span in chunk.spans) == chunk.text for chunk in chunks)
    assert "".join(span.text for span in items[-1].spans) == items[-1].text
    return chunks, items[-1]


# Finished


async def test_typing_along_takes_no_pass(service: LocalService, opener: Opener) -> None:
    _, whole = await ask(service, request())
    assert (whole.text, whole.served_from) == (ANSWER, "engine")
    num_passes = opener.target.num_passes
    for typed in (1, 2, 5, len(ANSWER) - 1, 3, 0):
        _, rest = await ask(service, request(prefix="x" + ANSWER[:typed]))
        assert (rest.text, rest.served_from, rest.passes) == (ANSWER[typed:], "cache", 0)
        assert rest.stop_reason == whole.stop_reason
    assert opener.target.num_passes == num_passes


@pytest.mark.parametrize(
    "other",
    [
        request(prefix="xb"),
        request(prefix="x" + ANSWER),
        request(prefix="yx"),
        request(document="b.py"),
        replace(request(), suffix="\n\n"),
        replace(request(), max_tokens=3),
        replace(request(), explain=True),
        request(document=""),
    ],
    ids=["typed", "all typed", "before", "document", "suffix", "length", "explained", "no document"],
)
async def test_another_text_or_question_is_answered_anew(service: LocalService, other: CompletionRequest) -> None:
    await service.complete(request())
    assert (await service.complete(other)).served_from == "engine"


async def test_without_a_document_nothing_is_kept(service: LocalService) -> None:
    for _ in range(2):
        assert (await service.complete(request(document=""))).served_from == "engine"


async def test_a_closed_document_is_forgotten(service: LocalService) -> None:
    for name in ("a.py", "b.py"):
        await service.complete(request(document=name))
    service.close_document("me", "a.py")
    assert (await service.complete(request(document="b.py"))).served_from == "cache"
    assert (await service.complete(request(document="a.py"))).served_from == "engine"
    service.forget_client("me")
    assert (await service.complete(request(document="b.py"))).served_from == "engine"


async def test_an_answer_in_a_document_that_is_closed_stops_and_is_not_kept(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(1)
    running = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    service.close_document("me", "a.py")
    assert isinstance(await error_of(running), SupersededError)
    num_passes = opener.target.num_passes
    gate.allow(100)
    answer = await service.complete(request())
    assert (answer.text, answer.served_from) == (ANSWER, "engine")
    assert opener.target.num_passes - num_passes <= 1 + answer.passes


async def test_a_file_that_came_to_be_excluded_is_not_answered_from_memory(
    service: LocalService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    wanted = replace(request(), path=str(path))
    assert (await service.complete(wanted)).text == ANSWER
    completer = service._completer
    assert completer is not None
    monkeypatch.setattr(completer.guard, "why", lambda client_id, path: "gitignore")
    answer = await service.complete(wanted)
    assert (answer.text, answer.stop_reason) == ("", "excluded: gitignore")
    assert (await service.complete(replace(wanted, prefix="xa"))).text == ""


async def test_that_a_file_was_excluded_is_not_kept(
    service: LocalService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = replace(request(), path=str(tmp_path / "a.py"))
    completer = service._completer
    assert completer is not None
    reasons = iter([None, "gitignore", None, None])  # it comes to be excluded between the two times it is asked
    monkeypatch.setattr(completer.guard, "why", lambda client_id, path: next(reasons))
    assert (await service.complete(wanted)).stop_reason == "excluded: gitignore"
    assert (await service.complete(wanted)).text == ANSWER


async def test_it_can_be_turned_off(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        service, "_config", CONFIG.model_copy(update={"cache": CacheConfig(results=False, ahead=False)})
    )
    for _ in range(2):
        assert (await service.complete(request())).served_from == "engine"


# On the way


async def test_an_answer_that_is_typed_along_is_gone_on_with(service: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(2)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)  # "ab" is written
    newer = asyncio.create_task(ask(service, request(prefix="xa")))
    assert isinstance(await error_of(older), SupersededError)
    gate.allow(100)
    chunks, rest = await asyncio.wait_for(newer, 20)
    assert (rest.text, rest.served_from) == (ANSWER[1:], "running")
    assert chunks[0].text.startswith("b"), "what was there came at once"
    assert opener.target.num_passes == len(ANSWER) + 1


async def test_typing_faster_than_it_writes(service: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(2)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    newer = asyncio.create_task(ask(service, request(prefix="xabcd")))
    assert isinstance(await error_of(older), SupersededError)
    gate.allow(100)
    _, rest = await asyncio.wait_for(newer, 20)
    assert (rest.text, rest.served_from) == (ANSWER[4:], "running")
    assert opener.target.num_passes == len(ANSWER) + 1


async def test_an_answer_that_turns_away_from_the_text_is_given_up(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(2)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    newer = asyncio.create_task(ask(service, request(prefix="xabX")))
    assert isinstance(await error_of(older), SupersededError)
    gate.allow(1)  # "c"
    await until(gate.waiting)
    gate.allow(100)
    _, answer = await asyncio.wait_for(newer, 20)
    assert (answer.text, answer.served_from) == (ANSWER, "engine")
    assert opener.target.num_passes - answer.passes == 4, "the one under way when it turned away was the last"


async def test_an_answer_that_ends_in_what_was_typed_is_no_answer(service: LocalService, gate: Gate) -> None:
    gate.allow(2)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    newer = asyncio.create_task(ask(service, request(prefix="x" + ANSWER)))
    assert isinstance(await error_of(older), SupersededError)
    gate.allow(100)
    _, answer = await asyncio.wait_for(newer, 20)
    assert (answer.text, answer.served_from) == (ANSWER, "engine"), "the script says it again"


async def test_an_answer_broken_off_is_gone_on_with_where_it_was(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(3)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)  # "abc" is written
    older.cancel()
    await asyncio.gather(older, return_exceptions=True)
    gate.allow(100)
    await service.complete(request(document="", prefix="y"))  # the engine has done what came before
    num_others = opener.target.num_passes - 4
    chunks, rest = await ask(service, request(prefix="xa"))
    assert (rest.text, rest.served_from) == (ANSWER[1:], "running")
    assert chunks[0].text.startswith("bc")
    assert opener.target.num_passes == num_others + len(ANSWER) + 1, "no token was computed twice"


async def test_a_reader_who_comes_while_it_stops_makes_it_go_on(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(2)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    older.cancel()
    await asyncio.gather(older, return_exceptions=True)
    newer = asyncio.create_task(ask(service, request(prefix="xa")))
    await asyncio.sleep(0)
    gate.allow(100)
    _, rest = await asyncio.wait_for(newer, 20)
    assert (rest.text, rest.served_from) == (ANSWER[1:], "running")
    assert opener.target.num_passes == len(ANSWER) + 1


async def test_the_same_question_of_two_clients_is_answered_once(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(2)
    first = asyncio.create_task(ask(service, request()))
    await until(gate.waiting)
    second = asyncio.create_task(ask(service, request(client="you")))
    await asyncio.sleep(0)
    gate.allow(100)
    assert [(await asyncio.wait_for(task, 20))[1].text for task in (first, second)] == [ANSWER] * 2
    assert opener.target.num_passes == len(ANSWER) + 1


async def test_one_of_two_readers_may_leave(service: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(2)
    first = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    second = asyncio.create_task(service.complete(request(client="you")))
    await asyncio.sleep(0)
    first.cancel()
    gate.allow(100)
    assert (await result_of(second)).text == ANSWER
    assert opener.target.num_passes == len(ANSWER) + 1


async def test_a_question_with_other_settings_is_not_joined(service: LocalService, gate: Gate) -> None:
    gate.allow(2)
    first = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    second = asyncio.create_task(service.complete(replace(request(client="you"), max_tokens=3)))
    await asyncio.sleep(0)
    gate.allow(100)
    assert (await result_of(first)).text == ANSWER
    assert (await result_of(second)).text == ANSWER[:3]


# Ahead


@pytest.fixture
def ahead(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> LocalService:
    monkeypatch.setattr(service, "_config", CONFIG.model_copy(update={"cache": CacheConfig()}))
    monkeypatch.setattr("completiond.complete.quiet.QUIET_AFTER_S", 0.0)
    return service


async def test_what_follows_an_accepted_answer_is_there(ahead: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(len(ANSWER) + 1)
    await ahead.complete(request())
    await until(gate.waiting)  # in the first pass ahead
    gate.allow(100)
    accepted = request(prefix="x" + ANSWER)
    assert (await ahead.complete(accepted)).text == ANSWER
    assert opener.target.num_passes == 2 * (len(ANSWER) + 1)
    assert (await ahead.complete(replace(accepted, prefix=accepted.prefix + "a"))).served_from == "cache"


async def test_a_request_does_not_wait_for_what_is_written_ahead(ahead: LocalService, gate: Gate) -> None:
    gate.allow(len(ANSWER) + 3)
    await ahead.complete(request())
    await until(gate.waiting)  # two passes ahead
    other = asyncio.create_task(ahead.complete(request(prefix="y")))
    await until_true(lambda: len(ahead._answers._running) == 2)
    gate.allow(1 + len(ANSWER) + 1)  # the third, which has begun, and those of the answer: it comes by no more
    answer = await result_of(other)
    assert (answer.text, answer.passes) == (ANSWER, len(ANSWER) + 1)
    gate.allow(100)  # what is written ahead behind it: the engine's thread is to end with the test


async def test_nothing_is_written_ahead_of_nothing(ahead: LocalService, opener: Opener) -> None:
    await ahead.complete(replace(request(document=""), max_tokens=3))
    await asyncio.sleep(0.05)
    assert opener.target.num_passes == 3
    assert ahead._answers.is_idle


@pytest.mark.parametrize("goes", ["document", "client"])
async def test_nothing_is_written_ahead_for_who_has_gone(
    ahead: LocalService, opener: Opener, goes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("completiond.complete.quiet.QUIET_AFTER_S", 0.05)
    await ahead.complete(request())
    ahead.close_document("me", "a.py") if goes == "document" else ahead.forget_client("me")
    num_passes = opener.target.num_passes
    await asyncio.sleep(0.2)
    assert opener.target.num_passes == num_passes


async def test_a_closed_document_stops_what_is_written_ahead(ahead: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(len(ANSWER) + 3)
    await ahead.complete(request())
    await until(gate.waiting)
    ahead.close_document("me", "a.py")
    num_passes = opener.target.num_passes
    gate.allow(100)
    await ahead.complete(replace(request(document="b.py"), max_tokens=1))
    assert opener.target.num_passes <= num_passes + 2


# A context that was not read as a whole


@pytest.fixture
def slow(service: LocalService, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> LocalService:
    """On a machine that is said to read ten tokens in the time there is."""
    prompt = PromptConfig(prefix_tokens=200, suffix_tokens=16, max_read_ms=100)
    monkeypatch.setattr(opener.completer, "config", CONFIG.model_copy(update={"prompt": prompt}))
    opener.completer.reading = ReadingTime(10.0)
    monkeypatch.setattr(opener.completer.reading, "observe", lambda num_tokens, pass_ms: None)
    monkeypatch.setattr("completiond.complete.quiet.QUIET_AFTER_S", 0.0)
    return service


LONG = "a = 1\n" * 30


async def test_the_rest_of_the_context_is_read_in_a_quiet_moment(slow: LocalService, opener: Opener) -> None:
    first = await slow.complete(replace(request(prefix=LONG), may_read_less=True))
    assert first.context_share < 1.0
    held = opener.completer.kv
    await until_true(lambda: held.num_tokens > len(LONG) and slow._worker._jobs.empty())
    assert slow._answers.is_idle, "and nothing is written ahead where that is turned off"
    second = await slow.complete(replace(request(prefix=LONG), max_tokens=9, may_read_less=True))
    assert second.context_share == 1.0
    assert second.prompt_tokens - second.cached_tokens == 1


async def test_who_asks_does_not_wait_until_all_is_read(
    slow: LocalService, opener: Opener, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.allow(len(ANSWER) + 2)
    await slow.complete(replace(request(prefix=LONG), may_read_less=True))
    await until(gate.waiting)  # in the second piece of the rest
    monkeypatch.setattr("completiond.complete.quiet.QUIET_AFTER_S", 60.0)  # of the second answer nothing is read on
    num_passes = opener.target.num_passes
    other = asyncio.create_task(slow.complete(replace(request(prefix=LONG + "b"), may_read_less=True)))
    await asyncio.sleep(0.01)
    gate.allow(100)
    answer = await result_of(other)
    assert answer.text == ANSWER
    assert opener.target.num_passes - num_passes <= 1 + answer.passes


# In lines


FIRST = "first = 1"
LINES = FIRST + "\n    second = 2\n    third = 3"


@pytest.fixture
def writes_lines(opener: Opener, service: LocalService, monkeypatch: pytest.MonkeyPatch) -> Opener:
    opener.target.script = says(bytes_of(LINES))
    cache = CacheConfig(ahead=False)
    config = CONFIG.model_copy(update={"cache": cache, "completion": CompletionConfig(deadline_ms=1)})
    monkeypatch.setattr(service, "_config", config)
    return opener


def in_lines(typed: str = "") -> CompletionRequest:
    return replace(request(prefix="def f():\n    " + typed), suffix="", in_lines=True)


async def test_at_the_deadline_whole_lines_are_the_answer_and_the_rest_follows(
    service: LocalService, writes_lines: Opener, gate: Gate
) -> None:
    gate.allow(len(FIRST) + 9)
    lines = await result_of(asyncio.create_task(service.complete(in_lines())))
    assert (lines.text, lines.stop_reason) == (FIRST, "deadline")
    await until(gate.waiting)
    assert "".join(span.text for span in lines.spans) == FIRST
    rest = asyncio.create_task(service.complete(replace(in_lines(FIRST), in_lines=False)))
    await asyncio.sleep(0)
    gate.allow(1000)
    assert (await result_of(rest)).text == LINES[len(FIRST) :]
    assert writes_lines.target.num_passes == len(LINES) + 1, "one answer, written once"
    whole = await service.complete(in_lines())
    assert (whole.text, whole.served_from) == (LINES, "cache")


async def test_without_a_whole_line_the_deadline_waits_for_one(
    service: LocalService, writes_lines: Opener, gate: Gate
) -> None:
    gate.allow(3)
    answer = asyncio.create_task(service.complete(in_lines()))
    await until(gate.waiting)
    await asyncio.sleep(0.05)
    assert not answer.done()
    gate.allow(len(FIRST) + 9)
    assert (await result_of(answer)).text == FIRST
    gate.allow(1000)


async def test_before_the_deadline_the_whole_answer_is_waited_for(
    service: LocalService, writes_lines: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = service._config.model_copy(update={"completion": CompletionConfig(deadline_ms=20000)})
    monkeypatch.setattr(service, "_config", config)
    assert (await service.complete(in_lines())).text == LINES


async def test_who_does_not_want_lines_gets_all(service: LocalService, writes_lines: Opener, gate: Gate) -> None:
    gate.allow(len(FIRST) + 9)
    answer = asyncio.create_task(service.complete(replace(in_lines(), in_lines=False)))
    await until(gate.waiting)
    await asyncio.sleep(0.05)
    assert not answer.done()
    gate.allow(1000)
    assert (await result_of(answer)).text == LINES
