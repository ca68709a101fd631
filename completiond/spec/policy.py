"""How much of a draft is worth checking: expected tokens per millisecond, from measured costs and measured acceptance.

A draft of k guesses yields 1 + a1 + a1 a2 + ... tokens for a pass of k + 1 tokens. The cost of a pass by its number
of tokens is measured on this machine and refreshed from every pass; the chance that a guess is right is counted per
origin of the draft, length of its match and depth in the draft, with older counts fading. A draft that is not
expected to beat plain decoding is not checked at all; since its guesses are still compared with what the model
writes, its chances go on being counted, and it comes back when they rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.pass_costs import PassCosts
from completiond.spec.tree import depths_of

__all__ = ["Decision", "FixedPolicy", "MeasuredPolicy", "Policy"]

FADE = 0.98
"""Weight of earlier counts after each new one: the last fifty or so guesses of a kind decide."""
PRIOR_WEIGHT = 16.0
"""Counts that the drafter's own estimate stands for, before anything was seen."""
CONFIDENCE_BUCKETS = 10
HOPE = 0.6
"""Acceptance that a model drafter is credited with before it was seen to guess: it has to be tried to be known."""
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
        chances = _path_chances(draft, draft.probabilities)
        return draft.cut(next((i for i, chance in enumerate(chances) if chance < KEEP_PROBABILITY), len(chances)))

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        """See Policy.observe."""


class MeasuredPolicy:
    """Maximises expected tokens per millisecond. Lives as long as the model: what it learns serves later answers."""

    def __init__(self, costs: PassCosts, refresh_costs: bool = True) -> None:
        self.costs = costs
        self._refresh_costs = refresh_costs
        self._counts: dict[tuple[str, int, int], tuple[float, float]] = {}
        self._by_depth: dict[tuple[str, int], tuple[float, float]] = {}
        self.decisions: list[Decision] = []

    def trim(self, draft: Draft) -> Draft:
        """See Policy.trim."""
        length, _ = self._best(draft)
        return draft.cut(length) if length or draft.num_carried else NO_DRAFT

    def rate(self, draft: Draft) -> float:
        """Expected tokens per millisecond with the best part of ``draft``: what a drafter ranks several by."""
        return self._best(draft)[1]

    def goes_on(self, draft: Draft, step_ms: float) -> bool:
        """Whether a drafter that has ``draft`` should spend ``step_ms`` on one more guess behind its last.

        It should when the tokens that the guess is expected to bring are worth more than its step and the longer pass
        cost. The chance of a guess that is not made yet is that of earlier ones at its depth.
        """
        length = draft.num_guesses
        if length + 2 > self.costs.max_tokens:
            return False
        chances = _path_chances(draft, [self.acceptance(draft, node) for node in range(length)])
        gain = chances[-1] * self._mean_acceptance(draft.source, length)
        expected, spent_ms = 1.0 + sum(chances), self._cost_ms(draft, length) + length * step_ms
        longer_ms = self._cost_ms(draft, length + 1) + (length + 1) * step_ms
        # Rates, not the gain over the difference of times: a longer pass can be the shorter one.
        return (expected + gain) / longer_ms > expected / spent_ms

    def model_rate(self, source: str, step_ms: float, max_depth: int) -> float:
        """Expected tokens per millisecond with the best drafts of ``source``, the steps of its model included.

        What a step brings is known from earlier drafts only; before there were any it is taken to be good.
        """
        best, expected, chance = 0.0, 1.0, 1.0
        for depth in range(min(max_depth, self.costs.max_tokens - 1)):
            chance *= self._mean_acceptance(source, depth)
            expected += chance
            best = max(best, expected / (self.costs.pass_ms(depth + 2) + (depth + 1) * step_ms))
        return best

    def miss(self, source: str) -> None:
        """A model drafter was asked and had no guess."""
        right, tried = self._by_depth.get((source, 0), (PRIOR_WEIGHT * HOPE, PRIOR_WEIGHT))
        self._by_depth[source, 0] = (FADE * right, FADE * tried + 1.0)

    @property
    def plain_rate(self) -> float:
        """Tokens per millisecond without drafts."""
        return 1.0 / self.costs.pass_ms(1)

    def _mean_acceptance(self, source: str, depth: int) -> float:
        right, tried = self._by_depth.get((source, depth), (PRIOR_WEIGHT * HOPE, PRIOR_WEIGHT))
        return right / tried

    def _best(self, draft: Draft) -> tuple[int, float]:
        """The number of guesses to check, and its expected rate."""
        best_length, best_rate = 0, MIN_GAIN / self._cost_ms(draft, 0)
        expected = 1.0
        chances: list[float] = []
        for node in range(min(draft.num_guesses, self.costs.max_tokens - 1 - draft.num_carried)):
            parent = draft.parent(node)
            chances.append((chances[parent] if parent >= 0 else 1.0) * self.acceptance(draft, node))
            expected += chances[-1]
            rate = expected / self._cost_ms(draft, node + 1)
            if rate > best_rate:
                best_length, best_rate = node + 1, rate
        return best_length, best_rate

    def _cost_ms(self, draft: Draft, num_guesses: int) -> float:
        """Expected time of the pass that checks so many guesses and what is carried."""
        return self.costs.pass_ms(num_guesses + draft.num_carried + 1)

    def acceptance(self, draft: Draft, node: int) -> float:
        """Chance that guess ``node`` is right if its ancestors are: counts, with the drafter's estimate as a prior."""
        right, tried = self._count(draft, node)
        return right / tried

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        """See Policy.observe. Guesses that were not checked count too, as far as the model has written."""
        chances = _path_chances(checked, [self.acceptance(checked, node) for node in range(checked.num_guesses)])
        self.decisions.append(
            Decision(
                proposed.source, proposed.origin, proposed.match, proposed.num_guesses, checked.num_guesses,
                sum(chances), len(checked.follow(written_ids)), pass_ms,
            )
        )  # fmt: skip
        right_path = proposed.follow(written_ids)
        for node in _tried(proposed, right_path, len(written_ids)):
            right, tried = self._count(proposed, node)
            self._counts[_kind(proposed, node)] = (FADE * right + (node in right_path), FADE * tried + 1.0)
        self._count_depths(proposed, right_path, len(written_ids))
        if timed and self._refresh_costs and not checked.parents:
            self.costs.observe(len(checked.token_ids) + 1, pass_ms)

    def _count_depths(self, draft: Draft, right_path: Sequence[int], num_written: int) -> None:
        """How far the drafts of a source are right, whatever made them."""
        tried = _tried(draft, right_path, num_written)
        depths = depths_of(draft.parents) if draft.parents else range(draft.num_guesses)
        for depth in {depths[node] for node in tried}:
            right, all_ = self._by_depth.get((draft.source, depth), (PRIOR_WEIGHT * HOPE, PRIOR_WEIGHT))
            self._by_depth[draft.source, depth] = (FADE * right + (depth < len(right_path)), FADE * all_ + 1.0)

    def _count(self, draft: Draft, node: int) -> tuple[float, float]:
        """(right, tried) so far; before anything was seen what the drafter estimates, which then fades too."""
        first = (PRIOR_WEIGHT * draft.probabilities[node], PRIOR_WEIGHT)
        return self._counts.get(_kind(draft, node), first)

    def take_decisions(self) -> list[Decision]:
        """What was decided since the last call, pass by pass."""
        decisions, self.decisions = self.decisions, []
        return decisions


def _path_chances(draft: Draft, chances: Sequence[float]) -> list[float]:
    """For each guess the chance that it and its ancestors are right, from the chances of each given its ancestors."""
    products: list[float] = []
    for node in range(draft.num_guesses):
        parent = draft.parent(node)
        products.append(chances[node] * (products[parent] if parent >= 0 else 1.0))
    return products


def _tried(draft: Draft, right_path: Sequence[int], num_written: int) -> list[int]:
    """The guesses that were put to the test: those below what is known or below a right one, as far as was written."""
    if not draft.parents:
        return list(range(min(len(right_path) + 1, draft.num_guesses, num_written)))
    parents = (-1, *right_path)[:num_written]
    return [node for node in range(draft.num_guesses) if draft.parents[node] in parents]


def _kind(draft: Draft, node: int) -> tuple[str, int, int]:
    """Guesses that are counted together: origin, match length and depth, both coarser the larger they are.

    Where a model gives each guess a probability of its own, that takes the place of the match.
    """
    if draft.confident:
        depth = node if not draft.parents else depths_of(draft.parents[: node + 1])[node]
        return draft.origin or draft.source, -int(draft.probabilities[node] * CONFIDENCE_BUCKETS), depth.bit_length()
    return (
        draft.origin or draft.source,
        draft.match.bit_length() if draft.match > 3 else -draft.match,
        node.bit_length(),
    )
