"""Two who ask at once share the engine."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from completiond.complete.request import Completion, CompletionRequest
from completiond.complete.service import LocalService
from tests.complete.test_service import ANSWER, Gate, request, until
from tests.complete.test_service import gate as gate
from tests.complete.test_service import loading as loading
from tests.complete.test_service import opener as opener
from tests.complete.test_service import service as service


@pytest.fixture(autouse=True)
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("completiond.complete.answer_job.TURN_S", 0.0)
    monkeypatch.setattr("completiond.complete.completer.Completer.keeps_other_texts", True)


async def test_answers_to_two_who_ask_at_once_are_written_by_turns(service: LocalService, gate: Gate) -> None:
    came: list[tuple[str, str]] = []

    async def read(name: str, wanted: CompletionRequest) -> Completion:
        async for item in service.stream(wanted):
            came.append((name, item.text))
            if isinstance(item, Completion):
                return item
        raise AssertionError

    gate.allow(1)
    first = asyncio.create_task(read("first", request()))
    await until(gate.waiting)
    second = asyncio.create_task(read("second", request(document="b.py", prefix="y")))
    for _ in range(4):
        gate.allow(1)
        await asyncio.sleep(0.02)
    gate.allow(100)
    answers = await asyncio.wait_for(asyncio.gather(first, second), 20)
    assert [answer.text for answer in answers] == [ANSWER, ANSWER]
    assert [answer.passes for answer in answers] == [len(ANSWER) + 1] * 2, "no token was computed twice"
    names = [name for name, _ in came]
    assert names.index("second") < len(names) - names[::-1].index("first") - 1, "the second waited for the first's end"
    for name in ("first", "second"):
        *chunks, whole = (text for whose, text in came if whose == name)
        assert "".join(chunks) == whole


async def test_a_short_question_does_not_wait_until_a_long_prompt_is_read(
    service: LocalService, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("completiond.engine.generate.PREFILL_CHUNK_TOKENS", 8)
    gate.allow(2)
    first = asyncio.create_task(service.complete(replace(request(), prefix="x = 1\n" * 40)))
    await until(gate.waiting)
    second = asyncio.create_task(service.complete(request(document="b.py", prefix="y")))
    await asyncio.sleep(0.3)  # so much the first one has had already
    gate.allow(1 + len(ANSWER) + 1)  # a piece of what the first one asked, and all that the second one needs
    assert (await asyncio.wait_for(second, 20)).text == ANSWER
    assert not first.done()
    gate.allow(1000)
    assert (await asyncio.wait_for(first, 20)).text == ANSWER


async def test_a_whole_answer_does_not_wait_for_another_turn(service: LocalService, gate: Gate) -> None:
    texts = {"a.py": "", "b.py": ""}

    async def read(document: str) -> None:
        wanted = replace(request(document=document, prefix=document[0]), max_tokens=len(ANSWER))
        async for item in service.stream(wanted):
            if not isinstance(item, Completion):
                texts[document] += item.text

    gate.allow(0)
    tasks = {document: asyncio.create_task(read(document)) for document in texts}
    num_whole = 0
    for _ in range(2 * len(ANSWER)):
        await until(gate.waiting)
        await asyncio.sleep(0.01)  # what was written has come
        whole = [document for document, text in texts.items() if text == ANSWER]
        assert all(tasks[document].done() for document in whole)
        num_whole += len(whole)
        gate.allow(1)
    gate.allow(1000)
    await asyncio.wait_for(asyncio.gather(*tasks.values()), 20)
    assert num_whole > 0
    assert list(texts.values()) == [ANSWER] * 2
