"""What a pass costs by its number of tokens: T_verify(M), from the sizes that were measured."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping

__all__ = ["PassCosts"]

COST_STEP = 0.05
"""Weight of one pass in the running cost of all passes; the machine's speed drifts, and other programs run on it."""
SHAPE_STEP = 0.01
"""Weight of one pass in what its size costs more or less than the others."""


class PassCosts:
    """Milliseconds of a pass by its number of tokens: measured sizes, straight lines between, and a running
    correction.
    """

    def __init__(self, measured_ms: Mapping[int, float]) -> None:
        """``measured_ms`` maps tokens in a pass to its time, in any order.

        Raises ValueError unless the pass of one token, the smallest there is, is among them and all times are
        positive.
        """
        self._sizes = sorted(measured_ms)
        self._ms = [measured_ms[size] for size in self._sizes]
        if self._sizes[:1] != [1] or not all(0.0 < pass_ms < math.inf for pass_ms in self._ms):
            raise ValueError(
                f"passes of {self._sizes} tokens in {self._ms} ms: sizes start at one token, times above 0"
            )

    @property
    def max_tokens(self) -> int:
        """The largest measured pass."""
        return self._sizes[-1]

    def pass_ms(self, num_tokens: int) -> float:
        """Expected time of a pass of ``num_tokens``. Raises ValueError unless that is from 1 to ``max_tokens``."""
        if not 1 <= num_tokens <= self.max_tokens:
            raise ValueError(f"a pass of {num_tokens} tokens, but 1 to {self.max_tokens} were measured")
        above = bisect.bisect_left(self._sizes, num_tokens)
        high, high_ms = self._sizes[above], self._ms[above]
        if high == num_tokens:
            return high_ms
        low, low_ms = self._sizes[above - 1], self._ms[above - 1]
        return low_ms + (high_ms - low_ms) * (num_tokens - low) / (high - low)

    def observe(self, num_tokens: int, pass_ms: float) -> None:
        """Move all sizes towards a pass that was seen, and the nearest a little more; one far off (the machine was
        busy) counts less.

        All of them, because a size that is not in use would keep the cost of slower days and never be tried again.
        """
        nearest = min(range(len(self._sizes)), key=lambda i: abs(self._sizes[i] - num_tokens))
        off = min(2.0, max(0.5, pass_ms / self.pass_ms(min(num_tokens, self.max_tokens)))) - 1.0
        self._ms = [ms * (1.0 + COST_STEP * off) for ms in self._ms]
        self._ms[nearest] *= 1.0 + SHAPE_STEP * off

    def as_dict(self) -> dict[int, float]:
        """The current table, by size."""
        return dict(zip(self._sizes, self._ms, strict=True))
