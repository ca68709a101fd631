"""Counts guesses by drafter and temperature, pass by pass, for as long as a model is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from completiond.spec.acceptance import AcceptanceCounts
from completiond.spec.drafter import Draft
from completiond.spec.policy import Policy

__all__ = ["AcceptanceCounter", "CountingPolicy"]


class AcceptanceCounter:
    """One thread counts; any thread may read ``counts``, which is replaced as a whole and never changed."""

    def __init__(self) -> None:
        self._counts: Mapping[tuple[str, float], AcceptanceCounts] = {}

    @property
    def counts(self) -> tuple[AcceptanceCounts, ...]:
        """What was counted so far, one for each drafter and temperature that had a guess checked."""
        return tuple(self._counts.values())

    def observe(self, checked: Draft, written_ids: Sequence[int], temperature: float) -> None:
        """Count one pass that checked ``checked``, possibly nothing, and gave ``written_ids``."""
        if checked.num_guesses:
            key = (checked.source, temperature_class(temperature))
            before = self._counts.get(key) or AcceptanceCounts(*key)
            self._counts = {**self._counts, key: before.after_pass(checked, written_ids)}


class CountingPolicy:
    """Decides like another Policy, and counts what its passes checked: of one answer, at one temperature."""

    def __init__(self, policy: Policy, counter: AcceptanceCounter, temperature: float) -> None:
        self._policy = policy
        self._counter = counter
        self._temperature = temperature

    def trim(self, draft: Draft) -> Draft:
        """See Policy.trim."""
        return self._policy.trim(draft)

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        """See Policy.observe."""
        self._policy.observe(proposed, checked, written_ids, pass_ms, timed)
        self._counter.observe(checked, written_ids, self._temperature)


def temperature_class(temperature: float) -> float:
    """0.0 for greedy only; else rounded to a tenth, and 0.1 at least: there are few classes to count."""
    return max(0.1, round(temperature, 1)) if temperature > 0.0 else 0.0
