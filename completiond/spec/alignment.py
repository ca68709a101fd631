"""Where in a source a text that is being written has come to, when the text is the source with changes.

Needleman and Wunsch's alignment with affine gaps (Gotoh 1982), one row per written part and open at the end: the row's
minimum is the place in the source that the text has come to. What was replaced on the way can be read off it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from completiond.spec.parts import PartKind, PartSwap, kind_of, split_parts

__all__ = ["Alignment", "Arrival", "Move"]

Move = Literal["agrees", "replaces", "inserts"]
Floats = NDArray[np.float32]

SKIP_OPEN, SKIP_MORE = 0.6, 0.05
"""Leaving out parts of the source: lines are left out as easily as words."""
INSERT_OPEN, INSERT_MORE = 0.9, 0.3
REPLACE_WORD, REPLACE_SIGN, REPLACE_BLANK = 0.5, 0.9, 0.3
"""Parts are replaced by their like only; a changed name is commoner than one more or less."""
NEVER = 1e6
MAX_SWAP_PARTS = 8
MAX_SWAP_ROWS = 96
"""Written parts that are looked back over: a long answer shall not cost more with each pass."""
NEAR = 1.0
"""How much worse than the best a place may be to be named too."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A place in the source. ``agreeing``: parts before it that agree without a gap; ``move``: how the last one was
    taken.
    """

    offset_chars: int
    part: int
    inside_chars: int
    agreeing: int
    move: Move
    cost: float


class Alignment:
    """Of ``source`` with what is written, from the beginning of both."""

    def __init__(self, source: str) -> None:
        self.parts = split_parts(source)
        kinds = np.array([kind_of(part) for part in self.parts], dtype=np.int8)
        self._numbers: dict[str, int] = {}
        self._ids = np.array([self._numbers.setdefault(part, len(self._numbers)) for part in self.parts], np.int32)
        self._replace = {
            kind: np.where(kinds == kind, cost, NEVER).astype(np.float32)
            for kind, cost in zip(PartKind, (REPLACE_WORD, REPLACE_SIGN, REPLACE_BLANK), strict=True)
        }
        self._offsets = [0, *accumulate(map(len, self.parts))]
        self._steps: dict[str, Floats] = {}
        self._skips = SKIP_MORE * np.arange(len(self.parts) + 1, dtype=np.float32)
        self._skip_open = self._skips[1:] + np.float32(SKIP_OPEN)
        row = np.full(len(self.parts) + 1, NEVER, dtype=np.float32)
        row[0] = 0.0
        self._rows = [_Row("", row, self._skipped(row), np.full_like(row, NEVER), row)]
        self._last = ""  # the part that is being written: it may go on
        self._row = self._rows[0]  # the last row, with that part

    def write(self, text: str) -> None:
        """``text`` was written behind what was before."""
        *whole, self._last = split_parts(self._last + text) or [""]
        for part in whole:
            self._rows.append(self._step(part))
        self._row = self._step(self._last) if self._last else self._rows[-1]

    @property
    def cost(self) -> float:
        """How far the text is from the source (0.0: a copy), without the part that is being written."""
        return float(self._rows[-1].final.min())

    def arrivals(self) -> list[Arrival]:
        """The likeliest place, and the next one if it is near; none when all of the source is behind."""
        final = self._row.final
        best = float(final.min())
        places = np.argsort(final[:-1], kind="stable")[:4].tolist()
        found = [self._arrival(place) for place in places if final[place] <= best + NEAR]
        # Where something was put in, the text hardly ever comes back at once (1 in 100).
        found = [one for one in found if one.move != "inserts"][:2]
        return sorted([*self._begun(), *found], key=lambda one: one.cost)

    def swaps(self, with_last: bool = True) -> list[PartSwap]:
        """Replacements of a few parts, words among them, on the way to the likeliest place, the latest first.

        Without the part that is being written unless ``with_last``.
        """
        return [
            (old, new)
            for old, new in self._replaced(with_last)
            if len(old) <= MAX_SWAP_PARTS >= len(new) and any(kind_of(part) is PartKind.WORD for part in old)
        ]

    def _replaced(self, with_last: bool) -> list[tuple[list[str], list[str]]]:
        rows = [*self._rows[-MAX_SWAP_ROWS:], self._row] if self._last and with_last else self._rows[-MAX_SWAP_ROWS:]
        place = int(np.argmin(rows[-1].final))
        pairs: list[tuple[list[str], list[str]]] = []
        old: list[str] = []
        new: list[str] = []

        def close() -> None:
            while old[-1:] == new[-1:] == ["_"]:  # it belongs to what agrees
                old.pop()
                new.pop()
            if old:
                pairs.append((old[::-1], new[::-1]))
            old.clear()
            new.clear()

        for row in reversed(rows):
            if row is self._rows[0]:
                break
            if row.final[place] < row.base[place]:
                start = int(np.argmin(row.base[:place] - self._skips[:place]))
                old += self.parts[start:place][::-1]
                place = start
            if place and row.diagonal[place] <= row.insert[place]:
                part = self.parts[place - 1]
                may_become = self._last and row is self._row and part.startswith(row.part)
                if may_become or (row.part == part and not (part == "_" and old and new)):
                    close()
                else:
                    old.append(part)
                    new.append(row.part)
                place -= 1
            else:
                new.append(row.part)
        close()
        return pairs

    def _step(self, part: str) -> _Row:
        before = self._rows[-1]
        if (step := self._steps.get(part)) is None:
            step = self._steps[part] = self._costs_of(part)
        diagonal = np.empty_like(before.final)
        diagonal[0] = NEVER
        np.add(before.final[:-1], step, out=diagonal[1:])
        insert = np.minimum(before.final + np.float32(INSERT_OPEN), before.insert + np.float32(INSERT_MORE))
        base = np.minimum(diagonal, insert)
        return _Row(part, base, self._skipped(base), insert, diagonal)

    def _costs_of(self, part: str) -> Floats:
        """What each part of the source costs in the place of ``part``."""
        step = self._replace[kind_of(part)]
        number = self._numbers.get(part)
        return step if number is None else np.where(self._ids == number, np.float32(0.0), step)

    def _skipped(self, base: Floats) -> Floats:
        """The costs with parts of the source left out before each place."""
        open_at = np.minimum.accumulate(base - self._skips)
        final = base.copy()
        np.minimum(base[1:], open_at[:-1] + self._skip_open, out=final[1:])
        return final

    def _begun(self) -> list[Arrival]:
        """Places inside a part of the source that what is being written may become."""
        last = self._last
        if not last or kind_of(last) is PartKind.SIGN:
            return []
        before = self._rows[-1].final
        begun = [i for i, part in enumerate(self.parts) if len(part) > len(last) and part.startswith(last)]
        if not begun:
            return []
        place = min(begun, key=before.item)
        if before[place] > before.min() + NEAR:
            return []
        agreeing = 1 + self._agreeing(len(self._rows) - 1, place)
        offset_chars = self._offsets[place] + len(last)
        return [Arrival(offset_chars, place, len(last), agreeing, "agrees", float(before[place]))]

    def _arrival(self, place: int) -> Arrival:
        row = self._row
        move: Move = "inserts"
        agreeing = 0
        if row is self._rows[0]:
            move = "agrees"
        elif place and row.diagonal[place] <= row.insert[place]:
            move = "agrees" if self.parts[place - 1] == row.part else "replaces"
        if move == "agrees" and row is not self._rows[0]:
            written = len(self._rows) - (1 if row is self._rows[-1] else 0)
            agreeing = 1 + self._agreeing(written - 1, place - 1)
        return Arrival(self._offsets[place], place, 0, agreeing, move, float(row.final[place]))

    def _agreeing(self, index: int, place: int) -> int:
        """How many parts before ``place`` agree with those up to row ``index``."""
        count = 0
        while index > 0 and place > 0 and self._rows[index].part == self.parts[place - 1] and count < 16:
            count += not self.parts[place - 1].isspace()
            index, place = index - 1, place - 1
        return count


@dataclass(frozen=True, slots=True)
class _Row:
    """Costs after one written part, by place in the source: ``base`` without, ``final`` with parts left out last."""

    part: str
    base: Floats
    final: Floats
    insert: Floats
    diagonal: Floats
