"""What is done a moment after an answer, unless something else is asked for: read what was left out of its context, or
moved, and write what would follow it if it is accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from completiond.complete.request import Completion, CompletionRequest
from completiond.engine.worker import Job

__all__ = ["QuietMoment"]

QUIET_AFTER_S = 0.15
"""Between a key and the next there is mostly less: who goes on typing should find the engine free."""


class QuietMoment:
    """One plan at a time, on the event loop's thread.

    ``read`` has the engine read a request's whole context, and calls the function when it is done (not when it was
    cancelled); ``write`` has it answered.
    """

    def __init__(
        self,
        read: Callable[[CompletionRequest, Callable[[], None]], Job | None],
        write: Callable[[CompletionRequest], None],
    ) -> None:
        self._read = read
        self._write = write
        self._timer: asyncio.TimerHandle | None = None
        self._reading: Job | None = None
        self._planned: CompletionRequest | None = None

    def plan(self, request: CompletionRequest, completion: Completion) -> None:
        """``request`` was answered with ``completion``. What was planned before is dropped."""
        self.drop()
        if (
            not request.document_id
            or request.avoided_ids is not None
            or not (_is_to_read(completion) or completion.text)
        ):
            return
        self._planned = request
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(QUIET_AFTER_S, self._begin, request, completion)

    def drop(self, client_id: str | None = None, document_id: str | None = None) -> None:
        """Do nothing of what is planned, and stop reading; or only if it is for this client, and this document."""
        planned = self._planned
        if planned is None or client_id not in (None, planned.client_id):
            return
        if document_id not in (None, planned.document_id):
            return
        self._planned = None
        if self._timer is not None:
            self._timer.cancel()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _begin(self, request: CompletionRequest, completion: Completion) -> None:
        if _is_to_read(completion):
            self._reading = self._read(request, lambda: self._go_on(request, completion))
        else:
            self._go_on(request, completion)

    def _go_on(self, request: CompletionRequest, completion: Completion) -> None:
        if self._planned is not request:
            return
        self._planned = self._reading = None
        if completion.text:
            self._write(replace(request, prefix=request.prefix + completion.text))


def _is_to_read(completion: Completion) -> bool:
    """Whether the model has not seen all of the context, as it is now, by itself; an answer that was kept says nothing
    about what the cache holds.
    """
    return completion.served_from == "engine" and (completion.context_share < 1.0 or completion.moved_tokens > 0)
