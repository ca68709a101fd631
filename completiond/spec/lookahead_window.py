"""The window of Lookahead decoding: guesses at many places ahead, improved all at once by every pass.

Fu et al., "Break the sequential dependency of LLM inference using Lookahead decoding", arXiv 2402.02057, section 3.1.
Jacobi iteration over W columns, of which the last N - 1 iterates (*levels*) are kept. In a pass they are a tree: level
0 is a chain below the newest token, and level l of a column hangs below level l - 1 of it. So each column is a path
that the target continues, and with the token it adds, an n-gram it might write.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from completiond.spec.pass_costs import PassCosts

__all__ = ["JacobiWindow", "WindowPause"]

PAUSE_AFTER_PASSES = 32
"""Passes with a window after which it is judged."""
FIRST_PAUSE_PASSES = 64
LONGEST_PAUSE_PASSES = 1024


class JacobiWindow:
    """``num_columns`` columns of at most ``num_levels`` levels. Levels are filled one a pass, then they move up."""

    def __init__(self, num_columns: int, num_levels: int, source_ids: Sequence[int], numbers: random.Random) -> None:
        """Level 0 begins with tokens drawn from ``source_ids``; without any, or without columns, there is no window.

        Raises ValueError for a negative number of columns or no level.
        """
        if num_columns < 0 or num_levels < 1:
            raise ValueError(f"{num_columns} columns of {num_levels} levels are no window")
        self._num_levels = num_levels
        self._levels: list[list[int]] = []
        if source_ids and num_columns:
            self._levels.append(numbers.choices(source_ids, k=num_columns))

    @property
    def num_columns(self) -> int:
        """Columns; 0 where there is no window."""
        return len(self._levels[0]) if self._levels else 0

    @property
    def is_full(self) -> bool:
        """Whether all levels are there, so that the next pass gives n-grams."""
        return len(self._levels) == self._num_levels

    def token_ids(self) -> list[int]:
        """All that a pass carries, level by level: the last ``num_columns`` are those that ``advance`` needs."""
        return [token_id for level in self._levels for token_id in level]

    def parents(self, first_node: int = 0) -> list[int]:
        """Parents (spec/tree.py) of ``token_ids``, as nodes from ``first_node`` on."""
        chain = [-1, *range(first_node, first_node + self.num_columns - 1)]
        below = range(first_node, first_node + (len(self._levels) - 1) * self.num_columns)
        return [*chain[: self.num_columns], *below]

    def advance(self, successors: Sequence[int]) -> list[tuple[int, ...]]:
        """Take in what the target wrote below the last level, one token for each column.

        Returns the n-grams of ``num_levels`` + 1 tokens that the columns make with them, none while levels are still
        filled. Then every level takes the place of the one before it. Raises ValueError for another number of tokens.
        """
        if len(successors) != self.num_columns:
            raise ValueError(f"{len(successors)} tokens for {self.num_columns} columns")
        if not self.num_columns:
            return []
        ngrams: list[tuple[int, ...]] = []
        if self.is_full:
            ngrams = list(zip(*self._levels, successors, strict=True))
            del self._levels[0]
        self._levels.append(list(successors))
        return ngrams


class WindowPause:
    """When to leave the window out: its rows make a pass longer, and that has to come back in accepted guesses.

    Judged over PAUSE_AFTER_PASSES passes with a window, then FIRST_PAUSE_PASSES without one follow, twice as many each
    time it did not pay, LONGEST_PAUSE_PASSES at most.
    """

    def __init__(self, costs: PassCosts | None) -> None:
        """Without ``costs`` there is never a pause."""
        self._costs = costs
        self._balances: deque[float] = deque(maxlen=PAUSE_AFTER_PASSES)
        self._passes_left = 0
        self._next_pause = FIRST_PAUSE_PASSES

    @property
    def is_on(self) -> bool:
        """Whether the window is to be left out of the next pass."""
        return self._passes_left > 0

    def skipped(self) -> None:
        """A pass went by without a window."""
        self._passes_left = max(0, self._passes_left - 1)

    def carried(self, num_guesses: int, num_carried: int, num_accepted: int) -> None:
        """A pass with ``num_carried`` rows of window accepted ``num_accepted`` of ``num_guesses`` guesses.

        The rows' price in tokens is what they add to the pass, in passes of one token.
        """
        if self._costs is None:
            return
        with_window = self._costs.pass_ms(min(1 + num_guesses + num_carried, self._costs.max_tokens))
        without = self._costs.pass_ms(min(1 + num_guesses, self._costs.max_tokens))
        self._balances.append(num_accepted - (with_window - without) / self._costs.pass_ms(1))
        if len(self._balances) < PAUSE_AFTER_PASSES:
            return
        if sum(self._balances) >= 0.0:
            self._next_pause = FIRST_PAUSE_PASSES
            return
        self._balances.clear()
        self._passes_left = self._next_pause
        self._next_pause = min(2 * self._next_pause, LONGEST_PAUSE_PASSES)
