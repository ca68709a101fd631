"""Where in the copied text the model is: in step with it, or off it and perhaps coming back.

The model leaves a copy where the new text differs: by a name, an argument more, a line less. From the place it left
the trail looks for what was written since then, and proposes to go on behind it. When that turns out right, what was
skipped and what was written for it are a replacement, which is made at the next place too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from completiond.spec.swaps import MAX_SWAP_TOKENS, Swap
from completiond.spec.token_index import Run, TokenIndex

__all__ = ["STRONG_MATCH", "Copy", "Trail"]

STRONG_MATCH = 4
"""From here on a match anywhere is trusted more than the neighbourhood of the place that was copied last."""

BEHIND, AHEAD = 4, 24
"""How far around the place that was left the trail looks for where the text comes back, in tokens."""
AGREEING = 3
"""Tokens before a place at most that speak for coming back there."""
MAX_SWAPS = 8


@dataclass(frozen=True, slots=True)
class Copy:
    """A place to copy from."""

    index: TokenIndex
    run: Run
    place: int
    match: int
    origin: str


class Trail:
    """``left``: the next token of the copied text, or where the model left it. ``resume``: where to copy on, if known.

    ``swaps``: replacements learned, newest first.
    """

    def __init__(self, start: Copy | None = None) -> None:
        self.left = self.resume = start
        self.swaps: list[Swap] = []
        self._written: list[int] = []  # since the copied text was left
        self._assumed: Swap | None = None  # if ``resume`` is right

    def swaps_for(self, copy: Copy) -> list[Swap]:
        """Replacements to make in ``copy``, newest first."""
        return [self._assumed, *self.swaps] if self._assumed is not None and self._is_resumed(copy) else self.swaps

    def wrote(self, token_ids: Sequence[int]) -> None:
        """Tokens came without a guess."""
        self._written += token_ids
        self._look_back()

    def followed(self, copy: Copy, guessed: Sequence[int], places: Sequence[int], token_ids: Sequence[int]) -> None:
        """``token_ids`` were written where ``guessed`` was; each guess (and maybe more behind them, that were
        cut off) is from ``places`` behind the copy's place.
        """
        agreed = _agreement(guessed, token_ids)
        behind = places[agreed] if agreed < len(places) else places[-1] + 1
        inside = 0 < agreed < len(places) and places[agreed] == places[agreed - 1]
        place, rest = copy.place + behind, token_ids[agreed:]
        # The copied text itself may say how it went on, where a replacement was guessed or behind the last guess.
        plain = 0 if inside else _agreement(copy.index.tokens(copy.run, place, len(rest)), rest)
        if plain and agreed < len(guessed):
            self._unlearn(copy.index.tokens(copy.run, place, MAX_SWAP_TOKENS))
        agreed, place, rest = agreed + plain, place + plain, rest[plain:]
        was_resumed = self._is_resumed(copy)
        if agreed == 0 and self.left is not None and (was_resumed or copy.match < STRONG_MATCH):
            self.wrote(rest)  # wrong about coming back here: still off where it was left
            return
        if agreed and was_resumed and self._assumed is not None:
            self._learn(self._assumed)
        self.left = Copy(copy.index, copy.run, place, copy.match + agreed, copy.origin.partition(",")[0])
        self._written = list(rest)
        if rest:
            self._look_back()
        else:
            self._assumed = None
            self.resume = None if inside or place >= copy.run.end else self.left

    def _look_back(self) -> None:
        """Find where the text around the place that was left goes on with what was written last."""
        self.resume = self._assumed = None
        left, written = self.left, self._written
        if left is None or not left.run.alive or not written:
            return
        begin = max(left.run.start, left.place - BEHIND)
        window = left.index.tokens(left.run, begin, left.place - begin + AHEAD)
        found = [
            (begin + end, _agreement(window[:end][::-1], written[::-1][:AGREEING]))
            for end in range(1, len(window) + 1)
            if window[end - 1] == written[-1] and begin + end < left.run.end
        ]
        if found:
            # Behind the place that was left (an insertion), or as far behind it as was written (a replacement).
            expected = (left.place + 1, left.place + len(written))
            place, match = min(found, key=lambda one: (-one[1], min(abs(one[0] - other) for other in expected)))
        elif len(written) == 1 and left.place + 1 < left.run.end:
            place, match = left.place + 1, 0
        else:
            return
        self.resume = Copy(left.index, left.run, place, match, "realigned")
        old = left.index.tokens(left.run, left.place, max(0, place - match - left.place))
        new = tuple(written[: len(written) - match])
        if 0 < len(old) <= MAX_SWAP_TOKENS and 0 < len(new) <= MAX_SWAP_TOKENS:
            self._assumed = (old, new)

    def _is_resumed(self, copy: Copy) -> bool:
        return self.resume is not None and copy.run is self.resume.run and copy.place == self.resume.place

    def _unlearn(self, copied: Sequence[int]) -> None:
        """``copied`` was written as it is."""
        self.swaps = [swap for swap in self.swaps if copied[: len(swap[0])] != swap[0]]
        if self._assumed is not None and copied[: len(self._assumed[0])] == self._assumed[0]:
            self._assumed = None

    def _learn(self, swap: Swap) -> None:
        self.swaps = [swap, *(other for other in self.swaps if other[0] != swap[0])][:MAX_SWAPS]


def _agreement(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
