"""What became of the guesses of one drafter at one temperature: plain counts by depth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from completiond.spec.drafter import Draft

__all__ = ["MIN_TRIED", "AcceptanceCounts"]

MIN_TRIED = 50
"""Guesses that must have been checked before the share of hits is believed: its standard error is then 0.07 at most."""


@dataclass(frozen=True, slots=True)
class AcceptanceCounts:
    """``tried[i]``: how often guess i + 1 was checked with all before it accepted, and ``accepted[i]``: how often it
    was right. Guesses that were not checked are in neither, so this is the acceptance of those that seemed worth it.

    ``source`` is the drafter's, ``temperature`` that of the target's choice, 0.0 for greedy. Raises ValueError for
    numbers that no counting gives.
    """

    source: str
    temperature: float
    tried: tuple[int, ...] = ()
    accepted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        pairs = zip(self.accepted, self.tried, strict=True)
        if not 0.0 <= self.temperature < math.inf or not all(0 <= hits <= all_ < math.inf for hits, all_ in pairs):
            raise ValueError(f"not counts of guesses: {self}")

    def after_pass(self, checked: Draft, written_ids: Sequence[int]) -> AcceptanceCounts:
        """With one more pass that checked ``checked`` and gave ``written_ids``: the right guesses and one token more.

        Of a tree, a depth counts as right when any of its guesses there was.
        """
        path = checked.follow(written_ids)
        last = path[-1] if path else -1
        num_tried = len(path) + any(checked.parent(node) == last for node in range(last + 1, checked.num_guesses))
        hits = tuple(int(depth < len(path)) for depth in range(num_tried))
        return self.plus(replace(self, tried=(1,) * num_tried, accepted=hits))

    def plus(self, other: AcceptanceCounts) -> AcceptanceCounts:
        """Both together, by depth."""
        return replace(
            self,
            tried=tuple(a + b for a, b in itertools.zip_longest(self.tried, other.tried, fillvalue=0)),
            accepted=tuple(a + b for a, b in itertools.zip_longest(self.accepted, other.accepted, fillvalue=0)),
        )

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
