"""How quickly answers came in the last minute: what is kept in memory, and what it comes to."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from completiond.complete.request import Completion

__all__ = ["MAX_ANSWERS", "WINDOW_S", "Latencies", "LatencyState", "Percentiles"]

WINDOW_S = 60.0
MAX_ANSWERS = 1000
"""Answers that are kept; more in a minute than any editor asks for."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is kept of a Completion: no text."""

    ended_s: float
    tokens: int
    prompt_tokens: int
    cached_tokens: int
    ttft_ms: float
    token_ms: float | None


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of at least one value: the smallest that half, 90 and 99 of 100 are no greater than (nearest rank)."""

    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Percentiles | None:
        """None where there is no value."""
        ordered = sorted(values)
        if not ordered:
            return None
        p50, p90, p99 = (ordered[math.ceil(share * len(ordered) / 100) - 1] for share in (50, 90, 99))
        return cls(round(p50, 3), round(p90, 3), round(p99, 3))


@dataclass(frozen=True, slots=True)
class LatencyState:
    """Of the ``answers`` that ended in the last WINDOW_S seconds and took passes of the model: their ``tokens``, their
    prompts' and how many of those had been read before.

    ``ttft_ms``: from the request to the first token. ``token_ms``: each answer's mean time between two tokens, of
    those that took more than one pass. None where there is no such answer.
    """

    answers: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    ttft_ms: Percentiles | None = None
    token_ms: Percentiles | None = None


class Latencies:
    """The newest MAX_ANSWERS answers, of which those of the last minute count. On the event loop's thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds."""
        self._clock = clock
        self._ended: deque[_Answer] = deque(maxlen=MAX_ANSWERS)

    def add(self, completion: Completion) -> None:
        """An answer has ended; one that took no pass of the model is left out."""
        if completion.served_from != "cache" and completion.passes and completion.token_ids:
            self._forget_old()
            self._ended.append(
                _Answer(
                    ended_s=self._clock(),
                    tokens=len(completion.token_ids),
                    prompt_tokens=completion.prompt_tokens,
                    cached_tokens=completion.cached_tokens,
                    ttft_ms=completion.ttft_ms,
                    token_ms=completion.ms_per_token if completion.passes > 1 else None,
                )
            )

    @property
    def state(self) -> LatencyState:
        """What is known now."""
        self._forget_old()
        answers = self._ended
        return LatencyState(
            answers=len(answers),
            tokens=sum(answer.tokens for answer in answers),
            prompt_tokens=sum(answer.prompt_tokens for answer in answers),
            cached_tokens=sum(answer.cached_tokens for answer in answers),
            ttft_ms=Percentiles.of([answer.ttft_ms for answer in answers]),
            token_ms=Percentiles.of([answer.token_ms for answer in answers if answer.token_ms is not None]),
        )

    def _forget_old(self) -> None:
        while self._ended and self._ended[0].ended_s < self._clock() - WINDOW_S:
            self._ended.popleft()
