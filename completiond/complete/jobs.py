"""Work for the engine's thread that nobody waits for, and the way back from there to the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

from completiond.engine.worker import Job

__all__ = ["log_failure", "one_step_job", "post"]

log = logging.getLogger(__name__)


def one_step_job(call: Callable[[], None], on_error: Callable[[Exception], None]) -> Job:
    """A job that is one call, of which nobody is told unless it raises."""

    def work() -> Iterator[None]:
        call()
        yield from ()

    return Job(work, lambda item: None, lambda: None, on_error)


def log_failure(what: str) -> Callable[[Exception], None]:
    """What logs ``what`` and the type of an error alone: its message may quote a text."""
    return lambda error: log.error("%s: %s", what, type(error).__name__)


def post(loop: asyncio.AbstractEventLoop, call: Callable[[Any], None], item: Any) -> None:
    """Hand ``item`` to the event loop; a loop that is already closed has nobody left to tell."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, item)
