"""What there is of an answer so far: enough to go on with it, and what it has cost."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from completiond.complete.prompt import Prompt

if TYPE_CHECKING:  # a remote engine needs no torch
    from completiond.engine.generate import Step

__all__ = ["Figures", "Written"]


class Figures:
    """Counts and times of one answer, however many runs it takes."""

    def __init__(self, arrived: float) -> None:
        self._arrived = arrived
        self._first: float | None = None
        self._first_tokens = 0
        self._later_ms = 0.0
        self._tokens = 0
        self.passes = 0
        self.cached_tokens = 0
        self.moved_tokens = 0
        self.by_drafter: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))

    def add(self, step: Step) -> None:
        """Count one pass; pieces of prefill produce no tokens and are not decode passes."""
        if self._first is None:  # what another run of it finds is its own
            self.cached_tokens = step.cached_tokens
            self.moved_tokens = step.moved_tokens
        if not step.token_ids and step.stop_reason is None:
            return
        self.passes += 1
        self._tokens += len(step.token_ids)
        if self._first is None:
            self._first, self._first_tokens = time.perf_counter(), self._tokens
        else:
            self._later_ms += step.pass_ms
        if step.drafted:
            drafted, accepted = self.by_drafter[step.source]
            self.by_drafter[step.source] = (drafted + step.drafted, accepted + step.accepted)

    @property
    def ttft_ms(self) -> float:
        """From the request's arrival to the end of the first pass with a token."""
        return ((self._first or self._arrived) - self._arrived) * 1e3

    @property
    def wrote_ms(self) -> float:
        """From the end of the first pass with a token until now."""
        return (time.perf_counter() - self._first) * 1e3 if self._first is not None else 0.0

    @property
    def ms_per_token(self) -> float:
        """Mean over the tokens after the first pass; 0.0 when there are none."""
        later = self._tokens - self._first_tokens
        return self._later_ms / later if later else 0.0


@dataclass(slots=True)
class Written:
    """``sources``: who guessed each of ``token_ids``; ``logprobs``: how sure the model was of it. ``prompt`` and
    ``figures`` are None before the first run; what the cache holds later must not make the prompt another one.
    """

    prompt: Prompt | None = None
    token_ids: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    figures: Figures | None = None
    num_read: int = 0
    """Tokens of the prompt up to where it was read once; another run reads them again if the cache lost them."""
    is_whole: bool = False
    """Whether all that is left is to say so."""

    @property
    def num_done(self) -> int:
        """Grows with what another run finds done; 0 for a whole answer, whose end is not worth a turn."""
        return 0 if self.is_whole else self.num_read + len(self.token_ids)
