"""Whether to draft, and how far: the best length for an acceptance on one machine, and how it compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from completiond.spec.policy import MIN_GAIN
from completiond.spec.speedup import RoundCost, best_measured_length, expected_tokens, measured_speedup

__all__ = ["NEARLY", "DraftChoice", "NextGuess", "choose_draft"]

NEARLY = 0.97
"""Speeds within this share of the best differ by less than pass times do from run to run."""


@dataclass(frozen=True, slots=True)
class NextGuess:
    """One guess more than was chosen: the tokens it would bring, their worth at the chosen rate, and what it costs."""

    tokens: float
    worth_ms: float
    cost_ms: float


@dataclass(frozen=True, slots=True)
class DraftChoice:
    """``length`` 0: decode plainly. ``best_length`` is of the greatest speed, but is not chosen if that is less than
    MIN_GAIN times plain decoding's: the policy leaves such drafts out too.

    ``nearly_as_good`` are the lengths, from 0, that come within NEARLY of the speed of the one chosen.
    """

    length: int
    best_length: int
    best_speedup: float
    speedup: float
    tokens_per_pass: float
    round_ms: float
    nearly_as_good: tuple[int, ...]
    next_guess: NextGuess | None
    """None where ``length`` is the most that was asked for."""

    @property
    def ms_per_token(self) -> float:
        """Expected, with the chosen length."""
        return self.round_ms / self.tokens_per_pass


def choose_draft(acceptances: Sequence[float], cost: RoundCost) -> DraftChoice:
    """The length from 0 to ``len(acceptances)`` to draft when guess i + 1 is accepted with ``acceptances[i]``."""
    rates = [measured_speedup(acceptances[:length], cost) for length in range(len(acceptances) + 1)]
    best = best_measured_length(acceptances, cost)
    length = best if rates[best] >= MIN_GAIN else 0
    return DraftChoice(
        length=length,
        best_length=best,
        best_speedup=rates[best],
        speedup=rates[length],
        tokens_per_pass=expected_tokens(acceptances[:length]),
        round_ms=cost.round_ms(length),
        nearly_as_good=tuple(k for k, rate in enumerate(rates) if rate >= NEARLY * rates[length]),
        next_guess=_next_guess(acceptances, length, cost) if length < len(acceptances) else None,
    )


def _next_guess(acceptances: Sequence[float], length: int, cost: RoundCost) -> NextGuess:
    tokens = expected_tokens(acceptances[:length])
    gain = expected_tokens(acceptances[: length + 1]) - tokens
    round_ms = cost.round_ms(length)
    return NextGuess(gain, gain * round_ms / tokens, cost.round_ms(length + 1) - round_ms)
