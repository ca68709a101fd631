"""The arithmetic of speculative decoding: what a draft is worth, from acceptance, length and cost.

A draft of k guesses is checked in one pass over k + 1 tokens. ``acceptances[i]`` is the chance that guess i + 1 is
accepted once all before it were, so its length is k. Costs come in two forms: in units of a pass that costs the same
whatever its size (Leviathan, Kalman and Matias 2023, equation 1 and theorem 3.8), and measured in milliseconds.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from completiond.spec.pass_costs import PassCosts

__all__ = [
    "RoundCost",
    "best_length",
    "best_measured_length",
    "break_even_acceptance",
    "constant_acceptance",
    "expected_tokens",
    "falling_acceptance",
    "measured_speedup",
    "speedup",
]


def constant_acceptance(acceptance: float, length: int) -> tuple[float, ...]:
    """Every guess is accepted with the same chance."""
    return falling_acceptance(acceptance, 1.0, length)


def falling_acceptance(acceptance: float, decay: float, length: int) -> tuple[float, ...]:
    """Guess i + 1 is accepted with ``acceptance * decay**i``: it builds on i others. Both are from 0 to 1."""
    if not (0.0 <= acceptance <= 1.0 and 0.0 <= decay <= 1.0 and length >= 0):
        raise ValueError(f"acceptance {acceptance}, decay {decay}, length {length}")
    return tuple(acceptance * decay**depth for depth in range(length))


def expected_tokens(acceptances: Sequence[float]) -> float:
    """Tokens per pass: the target's own, and each guess with the chance that it and all before it are accepted."""
    return 1.0 + math.fsum(itertools.accumulate(acceptances, operator.mul))


def speedup(acceptances: Sequence[float], draft_cost: float) -> float:
    """Speed over plain decoding when a guess costs ``draft_cost`` passes and checking it costs nothing more."""
    return expected_tokens(acceptances) / (1.0 + len(acceptances) * draft_cost)


def best_length(acceptances: Sequence[float], draft_cost: float) -> int:
    """Draft length from 0 to ``len(acceptances)`` of the greatest ``speedup``; the shortest of equals."""
    return max(range(len(acceptances) + 1), key=lambda length: speedup(acceptances[:length], draft_cost))


@dataclass(frozen=True, slots=True)
class RoundCost:
    """What one round of drafting and checking costs on one machine.

    A draft of k > 0 guesses costs ``lookup_ms + k * guess_ms``: copied guesses cost a look-up, a model's one step each.
    """

    passes: PassCosts
    lookup_ms: float = 0.0
    guess_ms: float = 0.0

    def __post_init__(self) -> None:
        if self.lookup_ms < 0.0 or self.guess_ms < 0.0:
            raise ValueError(f"a draft of {self.lookup_ms} and {self.guess_ms} ms")

    def round_ms(self, length: int) -> float:
        """Draft ``length`` guesses and check them, in a pass of one token more."""
        draft_ms = self.lookup_ms + length * self.guess_ms if length else 0.0
        # A longer pass that was measured as shorter than a single one was measured on a busy machine: a draft that is
        # never right must not seem to pay.
        return draft_ms + max(self.passes.pass_ms(length + 1), self.passes.pass_ms(1))


def measured_speedup(acceptances: Sequence[float], cost: RoundCost) -> float:
    """Speed over plain decoding, which yields one token in the time of a pass of one."""
    return expected_tokens(acceptances) * cost.passes.pass_ms(1) / cost.round_ms(len(acceptances))


def best_measured_length(acceptances: Sequence[float], cost: RoundCost) -> int:
    """Draft length from 0 to ``len(acceptances)`` of the greatest ``measured_speedup``; the shortest of equals."""
    return max(range(len(acceptances) + 1), key=lambda length: measured_speedup(acceptances[:length], cost))


def break_even_acceptance(cost: RoundCost, max_length: int) -> float | None:
    """The acceptance, the same at every depth, above which some draft of up to ``max_length`` guesses pays.

    None if none pays even when every guess is right.
    """

    def pays(acceptance: float) -> bool:
        return best_measured_length(constant_acceptance(acceptance, max_length), cost) > 0

    if not pays(1.0):
        return None
    return bisect.bisect_left(range(10_000), True, key=lambda step: pays(step / 10_000)) / 10_000
