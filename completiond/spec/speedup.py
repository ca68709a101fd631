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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "MIN_TRIED",
    "AcceptanceCounts",
    "RoundCost",
    "TemperatureFall",
    "best_length",
    "best_measured_length",
    "break_even_acceptance",
    "constant_acceptance",
    "expected_tokens",
    "falling_acceptance",
    "measured_speedup",
    "speedup",
    "temperature_falls",
]

MIN_TRIED = 50
"""Guesses that must have been checked before the share of hits is believed: its standard error is then 0.07 at most."""


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

    ``points``: tokens in a pass and its milliseconds, as measured, by size; the first is the pass of one token.
    A draft of k > 0 guesses costs ``lookup_ms + k * guess_ms``: copied guesses cost a look-up, a model's one step each.
    """

    points: tuple[tuple[int, float], ...]
    lookup_ms: float = 0.0
    guess_ms: float = 0.0

    def __post_init__(self) -> None:
        sizes = [num_tokens for num_tokens, _ in self.points]
        if sizes[:1] != [1] or sizes != sorted(set(sizes)):
            raise ValueError(f"passes of {sizes} tokens: sizes must grow from 1")
        times_ms = [pass_ms for _, pass_ms in self.points]
        if not all(0.0 < time_ms < math.inf for time_ms in times_ms) or self.lookup_ms < 0.0 or self.guess_ms < 0.0:
            raise ValueError(f"passes of {times_ms} ms, draft {self.lookup_ms} and {self.guess_ms} ms")

    @classmethod
    def measured(cls, pass_ms: Mapping[int, float], lookup_ms: float = 0.0, guess_ms: float = 0.0) -> RoundCost:
        """From a mapping of tokens in the pass to milliseconds, in any order."""
        return cls(tuple(sorted(pass_ms.items())), lookup_ms, guess_ms)

    @property
    def max_length(self) -> int:
        """The longest draft whose pass was measured."""
        return self.points[-1][0] - 1

    def verify_ms(self, num_tokens: int) -> float:
        """T_verify(M): a straight line between measured sizes. Raises ValueError outside of them."""
        if not 1 <= num_tokens <= self.points[-1][0]:
            raise ValueError(f"a pass of {num_tokens} tokens, but 1 to {self.points[-1][0]} were measured")
        above = bisect.bisect_left(self.points, num_tokens, key=lambda point: point[0])
        high, high_ms = self.points[above]
        if high == num_tokens:
            return high_ms
        low, low_ms = self.points[above - 1]
        return low_ms + (high_ms - low_ms) * (num_tokens - low) / (high - low)

    def round_ms(self, length: int) -> float:
        """Draft ``length`` guesses and check them, in a pass of one token more."""
        draft_ms = self.lookup_ms + length * self.guess_ms if length else 0.0
        return draft_ms + self.verify_ms(length + 1)


def measured_speedup(acceptances: Sequence[float], cost: RoundCost) -> float:
    """Speed over plain decoding, which yields one token in the time of a pass of one."""
    return expected_tokens(acceptances) * cost.verify_ms(1) / cost.round_ms(len(acceptances))


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


@dataclass(frozen=True, slots=True)
class AcceptanceCounts:
    """What became of guesses at one temperature, by depth.

    ``tried[i]``: how often guess i + 1 was checked with all before it accepted, and ``accepted[i]``: how often it was
    right. Counts that fade with time need not be whole.
    """

    temperature: float
    tried: tuple[float, ...]
    accepted: tuple[float, ...]

    def __post_init__(self) -> None:
        pairs = zip(self.accepted, self.tried, strict=True)
        if not 0.0 <= self.temperature < math.inf or not all(0.0 <= hits <= all_ < math.inf for hits, all_ in pairs):
            raise ValueError(f"not counts of guesses: {self}")

    @property
    def enough(self) -> bool:
        """Whether at least MIN_TRIED first guesses were checked."""
        return bool(self.tried) and self.tried[0] >= MIN_TRIED

    def acceptances(self, length: int) -> tuple[float, ...]:
        """Acceptance by depth. Depths checked fewer than MIN_TRIED times get the last one that was checked enough.

        Raises ValueError unless ``enough``.
        """
        if not self.enough:
            raise ValueError(f"not enough guesses were checked: {self}")
        depths = zip(self.accepted, self.tried, strict=True)
        known = [hits / all_ for hits, all_ in itertools.takewhile(lambda depth: depth[1] >= MIN_TRIED, depths)]
        return tuple(known[min(depth, len(known) - 1)] for depth in range(length))


@dataclass(frozen=True, slots=True)
class TemperatureFall:
    """How much lower the acceptance of first guesses was at ``temperature`` than at the lowest one seen.

    ``low`` and ``high`` bound the true difference with a confidence of 95 %.
    """

    temperature: float
    fall: float
    low: float
    high: float


def temperature_falls(counts: Sequence[AcceptanceCounts]) -> tuple[TemperatureFall, ...]:
    """The effect of temperature as it was seen, from one AcceptanceCounts for each; empty means unknown, which it is
    until two temperatures have enough counts.

    No formula gives it: it depends on how sure the target is of its tokens. First guesses only, because every draft
    has one checked; deeper ones are checked at a high temperature only where the text was easy. Bounds: Agresti and
    Caffo 2000, which hold for shares near 0 and 1 too.
    """
    trusted = sorted((one for one in counts if one.enough), key=lambda one: one.temperature)
    falls = []
    for cool, warm in itertools.product(trusted[:1], trusted[1:]):
        fall = cool.accepted[0] / cool.tried[0] - warm.accepted[0] / warm.tried[0]
        shares = [(c.accepted[0] + 1) / (c.tried[0] + 2) for c in (cool, warm)]
        variances = [p * (1 - p) / (c.tried[0] + 2) for p, c in zip(shares, (cool, warm), strict=True)]
        middle, margin = shares[0] - shares[1], 1.96 * math.sqrt(sum(variances))
        falls.append(TemperatureFall(warm.temperature, fall, middle - margin, middle + margin))
    return tuple(falls)
