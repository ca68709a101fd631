"""The record of the last requests: what is noted, and what is not."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from completiond.complete.recent import MAX_NAME_CHARS, MAX_RECENT, Recent, RecentRequest, document_name
from completiond.complete.request import Chunk, Completion, CompletionRequest, Span
from completiond.complete.service_protocol import SupersededError
from completiond.errors import NotReadyError

TEXT = "password = 1\n    more\n"


class Clock:
    """A second passes whenever it is looked at."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


def completion(text: str = "one\ntwo", reason: str = "eos") -> Completion:
    return Completion(
        text=text, token_ids=(1,), spans=(Span(text, "model"),), prompt_tokens=1, cached_tokens=0, ttft_ms=1.0,
        ms_per_token=0.0, passes=1, drafted=0, accepted=0, by_drafter={}, stop_reason=reason, model="m", device="cpu",
    )  # fmt: skip


def request(path: str = "/p/src/a.py") -> CompletionRequest:
    return CompletionRequest(TEXT, TEXT, path, client_name="Ed")


async def answer(*items: Chunk | Completion | Exception) -> AsyncGenerator[Chunk | Completion, None]:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


async def last(asked: CompletionRequest, *items: Chunk | Completion) -> RecentRequest:
    """What is noted of a request that was answered so."""
    recent = Recent(Clock())
    async for _ in recent.follow(asked, answer(*items), ["/p"]):
        pass
    (one,) = recent.newest_first
    return one


async def test_what_is_noted_of_an_answer() -> None:
    chunk = Chunk("one", ())

    assert await last(request(), chunk, completion()) == RecentRequest(
        ago_s=1.0, client="Ed", document="src/a.py", line=3, column=0, lines=2, characters=7, served_from="engine",
        took_ms=1000.0, reason="eos", meaning="The model ended the answer by itself.",
    )  # fmt: skip


async def test_what_is_noted_of_silence() -> None:
    one = await last(request(), completion("", "excluded: secret_name"))

    assert (one.lines, one.characters, one.served_from, one.reason) == (0, 0, "", "excluded: secret_name")
    assert "secrets" in one.meaning
    assert (await last(request(), completion("", "empty"))).served_from == "engine"
    assert (await last(request(), completion("", "of tomorrow"))).meaning == ""


@pytest.mark.parametrize(
    ("error", "loading", "reason"),
    [
        (SupersededError(), False, "superseded"),
        (NotReadyError("50 %."), True, "loading"),
        (NotReadyError("Broken."), False, "error: NotReadyError"),
        (RuntimeError(TEXT), False, "error: internal"),
    ],
)
async def test_an_error_is_noted_and_passed_on(error: Exception, loading: bool, reason: str) -> None:
    recent = Recent(Clock())
    with pytest.raises(type(error)) as caught:
        async for _ in recent.follow(request(), answer(Chunk("a", ()), error), ["/p"], loading):
            pass

    assert caught.value is error
    (one,) = recent.newest_first
    assert (one.reason, one.characters, one.served_from) == (reason, 0, "")
    assert "password" not in repr(one)


async def test_who_stops_reading_before_the_answer_has_cancelled() -> None:
    recent, closed = Recent(), []

    async def items() -> AsyncGenerator[Chunk | Completion, None]:
        try:
            yield Chunk("a", ())
            yield completion()
        finally:
            closed.append(True)

    early = recent.follow(request(), items())
    await anext(early)
    await early.aclose()
    late = recent.follow(request(), items())
    assert [await anext(late), await anext(late)] == [Chunk("a", ()), completion()]
    await late.aclose()

    assert [one.reason for one in recent.newest_first] == ["eos", "cancelled"]
    assert closed == [True, True], "the engine is told at once"


async def test_only_the_newest_are_kept_and_nothing_of_the_texts() -> None:
    recent = Recent(Clock())
    for number in range(MAX_RECENT + 5):
        async for _ in recent.follow(request(f"{number}.py"), answer(completion(TEXT))):
            pass

    assert [one.document for one in recent.newest_first] == [f"{n}.py" for n in range(MAX_RECENT + 4, 4, -1)]
    assert "password" not in repr(vars(recent))
    ages = [one.ago_s for one in recent.newest_first]
    assert ages == sorted(ages)


@pytest.mark.parametrize(
    ("prefix", "place"),
    [
        ("", (1, 0)),
        ("ab", (1, 2)),
        ("a\nb", (2, 1)),
        ("a\r\nb\r\n", (3, 0)),
        ("a\rb\r\nc\nde", (4, 2)),
        ("x\n🎉é", (2, 3)),
        ("\ud83d", (1, 1)),
    ],
)
async def test_the_position_is_that_of_the_command_line(prefix: str, place: tuple[int, int]) -> None:
    one = await last(CompletionRequest(prefix, "\n"), completion())

    assert (one.line, one.column) == place
    assert (one.client, one.document) == ("", "")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/p/src/a.py", "src/a.py"),
        ("/p/in/ner/a.py", "ner/a.py"),
        ("/elsewhere/b.py", "b.py"),
        ("/pp/b.py", "b.py"),
        ("src/c.py", "c.py"),
        ("git:/p/src/a.py?%7B%7D", "src/a.py"),
        ("untitled:Untitled-1", "Untitled-1"),
        ("data:text/plain,password", "data:"),
        ("/p/a\x1b[31m\ud800\n.py", "a?[31m??.py"),
        ("", ""),
    ],
)
def test_a_document_s_name_is_relative_to_the_innermost_folder(path: str, name: str) -> None:
    assert document_name(path, ["/p", "/p/in/"]) == name


def test_a_name_is_no_longer_than_it_may_be() -> None:
    assert document_name("/" + "x" * 5000 + ".py", []) == "x" * (MAX_NAME_CHARS - 3) + ".py"
