"""What the model writes, in the form of the place it goes to: margins and repetitions that the user has typed already.

It works on pieces as they come, and what was given out stands: characters are left out, or a line end is put first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from completiond.complete.layout import indent_columns, is_telling, opens
from completiond.complete.place import Place

__all__ = ["Shape"]

_WORD = re.compile(r"\b\w")


class Shape:
    """The text of one answer; inside, lines end with ``\\n`` only."""

    def __init__(self, place: Place) -> None:
        self._drops_margin = place.drops_margin
        self._is_blank_left = not place.left.strip()
        self._needs_line_end = _needs_line_end(place)
        self._block_margin = _block_margin(place)
        self._repetitions = [] if self._is_blank_left else list(_repetitions(place.left))
        self._margin = place.left
        self._dropped = ""
        self._surplus = ""
        """The first line's margin beyond what is left of the cursor: the other lines have as much too many."""
        self._first_margin: str | None = None
        self._held = ""
        self._is_first = True
        self._line = ""
        """The first line, as it was given out."""
        self._blanks: str | None = None
        """A line's margin as far as it came, or None behind it."""

    def push(self, piece: str) -> str:
        """What ``piece`` adds to the answer, possibly nothing yet."""
        piece = piece.replace("\r", "")
        if self._is_first:
            piece = self._begin(piece)
        return "".join(map(self._move, piece)) if self._surplus or self._blanks else piece

    def flush(self) -> str:
        """What was held back because more could have followed it."""
        held, self._held, self._blanks = self._held + (self._blanks or ""), "", None
        return held

    def _begin(self, piece: str) -> str:
        if self._drops_margin and not self._held:
            text = piece.lstrip(" \t")
            self._dropped += piece[: len(piece) - len(text)]
            piece = text
        piece = self._held + piece
        self._held = ""
        if not piece:
            return ""
        if any(len(piece) < len(one) and one.startswith(piece) for one in self._repetitions):
            self._held = piece
            return ""
        self._is_first = False
        # As many blanks as are left of the cursor are those once more, not one step deeper.
        if self._is_blank_left and len(self._dropped) < len(self._margin):
            self._surplus = self._dropped
        repeated = max((len(one) for one in self._repetitions if piece.startswith(one)), default=0)
        piece = piece[repeated:]
        if self._needs_line_end and (blanks := re.match(r"[ ]{2,}|[ ]*\t+", piece)):
            margin = max(blanks[0], self._block_margin, key=indent_columns)
            piece = "\n" + margin + piece[blanks.end() :]
        return piece

    def _move(self, char: str) -> str:
        """``char``, or nothing while it may be part of a margin that is too deep."""
        if self._blanks is not None and char in " \t":
            self._blanks += char
            return ""
        margin, self._blanks = self._blanks or "", "" if char == "\n" else None
        if self._line.endswith("\n"):
            return self._moved(margin) + char if char != "\n" else margin + char
        self._line += char
        return margin + char

    def _moved(self, margin: str) -> str:
        deep = self._margin + self._surplus
        if self._first_margin is None:
            # One step deeper than the first line is what that opens; two, or one without, is one too many.
            self._first_margin = margin
            if not margin.startswith(deep + self._surplus if opens(self._line) else deep):
                self._surplus = ""
                return margin
        return self._margin + margin[len(deep) :] if margin.startswith(deep) else margin


def _needs_line_end(place: Place) -> bool:
    """Whether blanks at the beginning are those of a new line: the cursor is behind the head of a block."""
    is_head = place.left.rstrip().endswith((":", "{")) and not place.right.strip()
    return is_head and place.indent_below <= indent_columns(place.left)


def _block_margin(place: Place) -> str:
    """The margin of lines inside what the cursor's line opens: its own, and a step as the lines around have it."""
    own = place.left[: len(place.left) - len(place.left.lstrip())]
    margins = [own, *(line[: len(line) - len(line.lstrip())] for line in place.enclosing)]
    steps = [deep[len(less) :] for deep, less in pairwise(margins) if deep.startswith(less) and deep != less]
    return own + min(steps or ["    "], key=len)


def _repetitions(left: str) -> Iterator[str]:
    """Ends of ``left``, from the beginning of a word, that say enough to be recognised when they come once more."""
    for word in _WORD.finditer(left):
        end = left[word.start() :]
        if is_telling(end) and (end[-1] in " \t" or not end.isalnum()):
            yield end
