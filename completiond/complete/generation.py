"""An answer that is being written, for all who can use it: whoever types what it says reads on where they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from completiond.complete.request import Chunk, Completion, CompletionRequest, Span
from completiond.complete.rest import rest_of, spans_behind
from completiond.complete.written import Written
from completiond.engine.worker import Job

__all__ = ["Generation", "Reader"]


class Reader(Protocol):
    """Someone who waits for an answer to ``request``, which came at ``arrived`` (``time.perf_counter``)."""

    request: CompletionRequest
    arrived: float

    def put(self, item: Any) -> None:
        """Take the next Chunk; or, last, the Completion or an Exception."""


class _Place:
    """Where a reader stands: ``typed`` follows the answer's beginning; ``sent`` characters of the answer are known."""

    def __init__(self, typed: str) -> None:
        self.typed = typed
        self.sent = len(typed)
        self.ttft_ms = 0.0
        self.is_hurried = False


class Generation:
    """One run of the model for ``request``, on the event loop's side.

    ``written`` is the answer so far, by the engine's thread; a run that was broken off goes on behind it.
    ``misfits`` is told of readers whose typed text the answer turned away from.
    """

    def __init__(self, request: CompletionRequest, misfits: Callable[[Reader], None]) -> None:
        self.request = request
        self.written = Written()
        self.job: Job | None = None
        self.is_kept = True
        """Whether it may be read by others than those who read it now, and later."""
        self.is_ahead = False
        """Whether it goes on though nobody waits for it, as long as nobody needs the engine."""
        self._misfits = misfits
        self._places: dict[Reader, _Place] = {}
        self._is_new_run = True
        self._text = ""
        self._spans: list[Span] = []
        self._lines: Completion | None = None

    @property
    def has_readers(self) -> bool:
        """Whether anyone waits for it."""
        return bool(self._places)

    @property
    def is_stopping(self) -> bool:
        """Whether its job was told to stop and may not have done so yet."""
        return self.job is not None and self.job.cancelled.is_set()

    def fits(self, request: CompletionRequest) -> bool:
        """Whether ``request``, the same but for its prefix, may be answered by going on.

        What was typed must be what is written, as far as both go; before anything is, there is nothing to go by.
        """
        begin = len(self.request.prefix)
        typed = request.prefix[begin:]
        agrees = not typed or (bool(self._text) and _agree(self._text, typed))
        return agrees and request.prefix.startswith(self.request.prefix)

    def join(self, reader: Reader) -> None:
        """Let ``reader``, whose request fits, read it; what is there comes at once."""
        self.is_ahead = False
        place = self._places[reader] = _Place(reader.request.prefix[len(self.request.prefix) :])
        self._send(reader, place)

    def leave(self, reader: Reader) -> None:
        """``reader`` waits no more; without any, the engine stops within one pass, and what was written is kept."""
        if self._places.pop(reader, None) is not None and not self._places:
            self.stop()

    def stop(self) -> None:
        """Have the engine stop within one pass."""
        if self.job is not None:
            self.job.cancel()

    def run_begins(self) -> None:
        """A run begins, or goes on after a break: its first chunk is all that there is so far."""
        self._is_new_run = True

    def add(self, chunk: Chunk) -> None:
        """The engine has written more."""
        if self._is_new_run:
            self._text, self._spans, self._is_new_run = "", [], False
        self._text += chunk.text
        self._spans += chunk.spans
        for reader, place in list(self._places.items()):
            if _agree(self._text, place.typed):
                self._send(reader, place)
            else:
                self.leave(reader)
                self._misfits(reader)

    def add_lines(self, completion: Completion) -> None:
        """There is one more whole line."""
        self._lines = completion
        for reader, place in list(self._places.items()):
            if place.is_hurried:
                self._give_lines(reader, place)

    def hurry(self, reader: Reader) -> None:
        """``reader``'s time is over: it takes whole lines as soon as there are some, and the rest is written ahead."""
        if (place := self._places.get(reader)) is not None:
            place.is_hurried = True
            self._give_lines(reader, place)

    def _give_lines(self, reader: Reader, place: _Place) -> None:
        lines, typed = self._lines, place.typed
        if lines is None or not lines.text.startswith(typed) or not lines.text[len(typed) :].strip():
            return
        del self._places[reader]
        self.is_ahead = True
        reader.put(rest_of(lines, len(typed), place.ttft_ms, "running" if typed else "engine"))

    def end(self, completion: Completion) -> None:
        """The engine is done. Who has typed all of it and more waits for another answer."""
        places, self._places = self._places, {}
        for reader, place in places.items():
            typed = len(place.typed)
            if not completion.text.startswith(place.typed) or (typed and not completion.text[typed:].strip()):
                self._misfits(reader)
            elif typed == 0 and reader.request is self.request:
                reader.put(completion)
            else:
                ttft_ms = place.ttft_ms or (time.perf_counter() - reader.arrived) * 1e3
                reader.put(rest_of(completion, typed, ttft_ms, "running"))

    def fail(self, error: Exception) -> None:
        """The engine could not: all readers are told."""
        places, self._places = self._places, {}
        for reader in places:
            reader.put(error)

    def _send(self, reader: Reader, place: _Place) -> None:
        if len(self._text) > place.sent:
            place.ttft_ms = place.ttft_ms or (time.perf_counter() - reader.arrived) * 1e3
            reader.put(Chunk(self._text[place.sent :], spans_behind(self._spans, place.sent)))
            place.sent = len(self._text)


def _agree(text: str, typed: str) -> bool:
    return text.startswith(typed) or typed.startswith(text)
