"""Writing an answer on the engine's thread, and the way of what is written to who reads it on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from completiond.complete.answers import Answers
from completiond.complete.generation import Generation
from completiond.complete.jobs import post
from completiond.complete.request import Chunk, Completion, Lines
from completiond.engine.worker import Job
from completiond.errors import RemoteDownError

if TYPE_CHECKING:
    from completiond.complete.completer_protocol import AnyCompleter

__all__ = ["TURN_S", "answer_job"]

TURN_S: Final = 0.03
"""A turn is no shorter: a pass of the default model on two CPU cores (docs/log.md)."""


def answer_job(
    completer: AnyCompleter,
    generation: Generation,
    arrived: float,
    answers: Answers,
    loop: asyncio.AbstractEventLoop,
    begin: Callable[[], None],
    fail: Callable[[RemoteDownError], None],
) -> Job:
    """The job of ``generation``: to begin with it, or go on with it. ``begin`` is called first, on its
    thread, and ``fail`` where the engine is away.
    """
    request, completions = generation.request, list[Completion]()

    def work() -> Iterator[Chunk | Lines | Completion | None]:
        begin()
        post(loop, lambda _: generation.run_begins(), None)
        yield from completer.run(request, arrived, generation.written)

    def on_item(item: Chunk | Lines | Completion | None) -> None:
        if isinstance(item, Completion):
            completions.append(item)
        elif isinstance(item, Lines):
            post(loop, generation.add_lines, item.completion)
        elif item is not None:
            post(loop, generation.add, item)

    def on_end() -> None:
        post(loop, lambda completion: answers.ended(generation, completion), next(iter(completions), None))

    def on_error(error: Exception) -> None:
        if isinstance(error, RemoteDownError):
            fail(error)
        post(loop, lambda error: answers.failed(generation, error), error)

    # What is explained are the decisions of a whole answer.
    turn_s = TURN_S if completer.keeps_other_texts and not request.explain else None
    generation.job = job = Job(work, on_item, on_end, on_error, turn_s, lambda: generation.written.num_done)
    return job
