"""All answers that are being written or were finished, and who waits for which. On the event loop's thread.

A request is answered by the first of these that there is: a finished answer that goes on where its cursor is, one that
is being written, or was broken off, and still agrees with its text, and a new run of the model.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b

from completiond.cache.results import ResultCache
from completiond.complete.closers import before_closers, closers_at
from completiond.complete.generation import Generation, Reader
from completiond.complete.limits import Limits
from completiond.complete.request import EXCLUDED, OFF, Completion, CompletionRequest
from completiond.complete.rest import beginning_of, rest_of
from completiond.config import Config
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import NotReadyError

__all__ = ["Answers"]


@dataclass(frozen=True, slots=True)
class _Group:
    """What a kept answer depends on, besides the text before the cursor, and whose it is. Drafters change nothing."""

    client_id: str
    document_id: str
    path: str
    suffix_digest: bytes
    max_tokens: int | None
    sampling: SamplingParams
    settings: Config | None
    exact: tuple[bool, Limits, bool, bytes]


MAX_BROKEN_OFF = 8
"""Answers that nobody waited for to the end; a key pressed by mistake and taken back needs the newest only."""


class Answers:
    """``run`` has the engine work at a generation, for a request that came at a time (``time.perf_counter``); it calls
    ``Generation.began`` first.
    """

    def __init__(self, run: Callable[[Generation, float], None]) -> None:
        self._run = run
        self._results: ResultCache[Completion] = ResultCache()
        self._running: list[Generation] = []
        self._broken_off: deque[Generation] = deque(maxlen=MAX_BROKEN_OFF)
        self._waiting: dict[Generation, float] = {}
        """Of those that stop just now: since when someone wants them to go on."""

    def find(self, request: CompletionRequest, arrived: float) -> Completion | None:
        """The rest of a finished answer, if it goes on where the request's cursor is."""
        if not _is_kept(request):
            return None
        found = self._results.find(_group(request), request.prefix)
        if found is None:
            return self._find_before_closers(request, arrived)
        return rest_of(*found, (time.perf_counter() - arrived) * 1e3, "cache")

    def _find_before_closers(self, request: CompletionRequest, arrived: float) -> Completion | None:
        """The same where the editor put closers behind the cursor while their openers were typed along."""
        closers = closers_at(request.suffix)
        for end in range(1, len(closers) + 1):
            group = _group(replace(request, suffix=request.suffix[end:]))
            if (found := self._results.find(group, request.prefix)) is None or found[1] == 0:
                continue
            rest = rest_of(*found, (time.perf_counter() - arrived) * 1e3, "cache")
            text = before_closers(rest.text, closers[:end])
            if text and not text.isspace():
                return beginning_of(rest, len(text))
        return None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written."""
        return not self._running

    def join(self, reader: Reader, may_share: bool = True) -> None:
        """Have ``reader``'s request answered: by an answer on its way if one fits, else by a new one.

        Unless it ``may_share``, it is answered on its own, and nobody after it by what was written for it.
        """
        generation = self._fitting(reader.request) if may_share else None
        for other in self._running:
            if other.is_ahead and other is not generation and not other.has_readers:
                other.stop()
        if generation is None:
            generation = self._new(reader.request, may_share)
            self._begin(generation, reader.arrived)
        elif generation in self._broken_off:
            self._broken_off.remove(generation)
            self._begin(generation, reader.arrived)
        elif generation.is_stopping:
            self._waiting.setdefault(generation, reader.arrived)
        generation.join(reader)

    def write_ahead(self, request: CompletionRequest) -> None:
        """Answer a request that nobody has made yet, until someone makes another."""
        if _is_kept(request) and self.is_idle and (_group(request), request.prefix) not in self._results:
            generation = self._new(request, True)
            generation.is_ahead = True
            self._begin(generation, time.perf_counter())

    def hurry(self, reader: Reader) -> None:
        """``reader`` wants what there is."""
        for generation in self._running:
            generation.hurry(reader)

    def leave(self, reader: Reader) -> None:
        """``reader`` waits no more."""
        for generation in self._running:
            generation.leave(reader)

    def ended(self, generation: Generation, completion: Completion | None) -> None:
        """The engine is done with ``generation``: ``completion`` is None when it was stopped before its end."""
        self._running.remove(generation)
        waiting = self._waiting.pop(generation, None)
        if completion is not None:
            # A file may be read again tomorrow, and there may be more time.
            if generation.is_kept and not completion.stop_reason.startswith((EXCLUDED, OFF, "time")):
                self._results.put(_group(generation.request), generation.request.prefix, completion.text, completion)
            generation.end(completion)
        elif waiting is not None and generation.has_readers:
            self._begin(generation, waiting)
        elif generation.has_readers:  # not by us
            generation.fail(NotReadyError("The answer was cut off.", "Ask again."))
        elif generation.written.token_ids and generation.is_kept:
            self._broken_off.append(generation)

    def failed(self, generation: Generation, error: Exception) -> None:
        """The engine could not answer."""
        self._running.remove(generation)
        self._waiting.pop(generation, None)
        generation.fail(error)

    def forget(self, client_id: str | None, document_id: str | None = None) -> None:
        """Drop what was answered in a document, in all of a client's, or in all there are."""

        def is_meant(one: CompletionRequest | _Group) -> bool:
            return client_id in (None, one.client_id) and document_id in (None, one.document_id)

        for generation in [one for one in (*self._running, *self._broken_off) if is_meant(one.request)]:
            generation.is_kept = False
            if not generation.has_readers:
                generation.stop()
            if generation in self._broken_off:
                self._broken_off.remove(generation)
        for group in self._results.groups:
            assert isinstance(group, _Group)
            if is_meant(group):
                self._results.forget(group)

    def _new(self, request: CompletionRequest, may_share: bool) -> Generation:
        generation = Generation(request, self.join)  # who is turned away from asks again
        generation.is_kept = may_share and _is_kept(request)
        return generation

    def _begin(self, generation: Generation, arrived: float) -> None:
        self._running.append(generation)
        self._run(generation, arrived)

    def _fitting(self, request: CompletionRequest) -> Generation | None:
        """Newest first; one that runs before one that was broken off."""
        if not _is_kept(request):
            return None
        for generation in (*reversed(self._running), *reversed(self._broken_off)):
            same = generation.is_kept and _is_same_but_for_prefix(generation.request, request)
            if same and generation.fits(request):
                return generation
        return None


def _group(request: CompletionRequest) -> _Group:
    suffix = blake2b(request.suffix.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _Group(
        request.client_id,
        request.document_id,
        request.path,
        suffix,
        request.max_tokens,
        request.sampling,
        request.settings,
        _exactly(request),
    )


def _exactly(request: CompletionRequest) -> tuple[bool, Limits, bool, bytes]:
    """What has to be the same besides; for an exact request, all that the answer depends on."""
    asked = repr((request.prefix, request.prompt_ids)).encode() if request.is_exact else b""
    return request.is_exact, request.limits, request.is_raw, blake2b(asked, digest_size=16).digest()


def _is_kept(request: CompletionRequest) -> bool:
    """Of a text without a name nobody says when it is closed; who wants an explanation wants passes of the model, and
    who wants another answer than the one there is shall not have that.
    """
    return bool(request.document_id) and not request.explain and request.avoided_ids is None


def _is_same_but_for_prefix(a: CompletionRequest, b: CompletionRequest) -> bool:
    same = (a.path, a.max_tokens, a.sampling, a.suffix) == (b.path, b.max_tokens, b.sampling, b.suffix)
    return same and a.settings == b.settings and _exactly(a) == _exactly(b)
