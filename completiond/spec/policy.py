"""How much of a draft is worth checking: expected tokens per millisecond, from measured costs and measured acceptance.

A draft of k guesses yields 1 + a1 + a1 a2 + ... tokens for a pass of k + 1 tokens. The cost of a pass by its number
of tokens is measured on this machine and refreshed from every pass; the chance that a guess is right is counted per
origin of the draft, length of its match and depth in the draft, with older counts fading. A draft that is not
expected to beat plain decoding is not checked at all; since its guesses are still compared with what the model
writes, its chances go on being counted, and it comes back when they rise.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.pass_costs import PassCosts

__all__ = ["Decision", "FixedPolicy", "MeasuredPolicy", "Policy"]

FADE = 0.98
"""Weight of earlier counts after each new one: the last fifty or so guesses of a kind decide."""
PRIOR_WEIGHT = 16.0
"""Counts that the drafter's own estimate stands for, before anything was seen."""
KEEP_PROBABILITY = 0.1
MIN_GAIN = 1.02
"""Expected gain over plain decoding below which a draft is left out: estimates are noisy, plain decoding is not."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One pass explained: what was proposed, how much of it was checked, what was expected and what came of it."""

    source: str
    origin: str
    match: int
    proposed: int
    checked: int
    expected: float
    accepted: int
    pass_ms: float


class Policy(Protocol):
    """Decides before each pass and learns after it."""

    def trim(self, draft: Draft) -> Draft:
        """The part of ``draft`` to check in the next pass, possibly none."""

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        """After the pass: ``written_ids`` are the tokens it produced. ``timed`` is False when the pass did more than
        check (it read a prompt), so that its time says nothing.
        """


class FixedPolicy:
    """Believes the drafter: checks guesses while the chance that all of them are right is at least KEEP_PROBABILITY."""

    def trim(self, draft: Draft) -> Draft:
        """See Policy.trim."""
        chances = accumulate(draft.probabilities, operator.mul)
        return draft.cut(
            next((i for i, chance in enumerate(chances) if chance < KEEP_PROBABILITY), len(draft.token_ids))
        )

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        """See Policy.observe."""


class MeasuredPolicy:
    """Maximises expected tokens per millisecond. Lives as long as the model: what it learns serves later answers."""

    def __init__(self, costs: PassCosts, refresh_costs: bool = True) -> None:
        self.costs = costs
        self._refresh_costs = refresh_costs
        self._counts: dict[tuple[str, int, int], tuple[float, float]] = {}
        self.decisions: list[Decision] = []

    def trim(self, draft: Draft) -> Draft:
        """See Policy.trim."""
        length, _ = self._best(draft)
        return draft.cut(length) if length else NO_DRAFT

    def rate(self, draft: Draft) -> float:
        """Expected tokens per millisecond with the best part of ``draft``: what a drafter ranks several by."""
        return self._best(draft)[1]

    def _best(self, draft: Draft) -> tuple[int, float]:
        """The length to check, and its expected rate."""
        best_length, best_rate = 0, MIN_GAIN / self.costs.pass_ms(1)
        expected, chance = 1.0, 1.0
        for depth in range(min(len(draft.token_ids), self.costs.max_tokens - 1)):
            chance *= self.acceptance(draft, depth)
            expected += chance
            rate = expected / self.costs.pass_ms(depth + 2)
            if rate > best_rate:
                best_length, best_rate = depth + 1, rate
        return best_length, best_rate

    def acceptance(self, draft: Draft, depth: int) -> float:
        """Chance that guess ``depth`` is right if those before it are: counts, with the drafter's estimate as a
        prior.
        """
        right, tried = self._count(draft, depth)
        return right / tried

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        """See Policy.observe. Guesses that were not checked count too, as far as the model has written."""
        accepted = min(len(checked.token_ids), len(written_ids) - 1)
        chances = accumulate((self.acceptance(checked, i) for i in range(len(checked.token_ids))), operator.mul)
        self.decisions.append(
            Decision(
                proposed.source, proposed.origin, proposed.match, len(proposed.token_ids), len(checked.token_ids),
                sum(chances), accepted, pass_ms,
            )
        )  # fmt: skip
        for depth, (guess, token_id) in enumerate(zip(proposed.token_ids, written_ids, strict=False)):
            right, tried = self._count(proposed, depth)
            self._counts[_kind(proposed, depth)] = (FADE * right + (guess == token_id), FADE * tried + 1.0)
            if guess != token_id:
                break
        if timed and self._refresh_costs:
            self.costs.observe(len(checked.token_ids) + 1, pass_ms)

    def _count(self, draft: Draft, depth: int) -> tuple[float, float]:
        """(right, tried) so far; before anything was seen what the drafter estimates, which then fades too."""
        first = (PRIOR_WEIGHT * draft.probabilities[depth], PRIOR_WEIGHT)
        return self._counts.get(_kind(draft, depth), first)

    def take_decisions(self) -> list[Decision]:
        """What was decided since the last call, pass by pass."""
        decisions, self.decisions = self.decisions, []
        return decisions


def _kind(draft: Draft, depth: int) -> tuple[str, int, int]:
    """Guesses that are counted together: origin, match length and depth, both coarser the larger they are."""
    return (
        draft.origin or draft.source,
        draft.match.bit_length() if draft.match > 3 else -draft.match,
        depth.bit_length(),
    )
