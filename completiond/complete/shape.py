"""What the model writes, in the form of the place it goes to: margins and repetitions that the user has typed already.

It works on pieces as they come, and what was given out stands: characters are left out, or a line end is put first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from completiond.complete.indentation import DEFAULT_UNIT, as_indented, margin_of
from completiond.complete.layout import CLOSERS, indent_columns, is_telling, opens
from completiond.complete.place import Place

__all__ = ["Shape"]

MAX_REPEATED_CHARS = 256
"""Of a long line, so much is looked for at the beginning of an answer: all its ends would be quadratic."""

_WORD = re.compile(r"\b\w")


class Shape:
    """The text of one answer; inside, lines end with ``\n`` only."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._is_blank_left = not place.left.strip()
        self._needs_line_end = _needs_line_end(place)
        self._repetitions = [] if self._is_blank_left else list(_repetitions(place.left))
        self._held = ""
        self._is_first = True
        self._dropped = ""
        self._surplus = ""
        """The first line's margin beyond what is left of the cursor: the other lines may have as much too many."""
        self._line = ""
        """The first line, as it was given out, with its end."""
        self._margin: str | None = "" if self._is_blank_left else None
        """A line's margin as far as it came, or None behind it."""
        self._least_margin = _least_margin(place)
        self._own_margin: str | None = None
        """What the first line that begins anew is indented by, whatever the model wrote."""
        self._is_second = True

    def push(self, piece: str) -> str:
        """What ``piece`` adds to the answer, possibly nothing yet."""
        piece = piece.replace("\r", "")
        if self._is_first:
            piece = self._begin(piece)
        return "".join(map(self._add, piece))

    def flush(self) -> str:
        """What was held back because more could have followed it."""
        held, self._held, self._margin = self._held + (self._margin or ""), "", None
        return held

    def _begin(self, piece: str) -> str:
        """The first text, without what the user has typed already."""
        if self._place.drops_margin and not self._held:
            text = piece.lstrip(" \t")
            self._dropped += piece[: len(piece) - len(text)]
            piece = text
        piece = self._held + piece
        self._held = ""
        if not piece:
            return ""
        is_half = any(len(piece) < len(one) and one.startswith(piece) for one in self._repetitions)
        if is_half or (self._needs_line_end and piece == " "):
            self._held = piece
            return ""
        self._is_first = False
        # As many blanks as are left of the cursor are those once more, not one step deeper.
        if self._is_blank_left and len(self._dropped) < len(self._place.left):
            self._surplus = self._dropped
        piece = piece[max((len(one) for one in self._repetitions if piece.startswith(one)), default=0) :]
        if self._needs_line_end and re.match(r"[ ]{2}|[ ]*\t", piece):
            self._own_margin = _block_margin(self._place)
            piece = "\n" + piece
        return piece

    def _add(self, char: str) -> str:
        """``char``, or nothing while it may be part of a margin: that is given out with what follows it."""
        if self._margin is not None and char in " \t":
            self._margin += char
            return ""
        margin, self._margin = self._margin, "" if char == "\n" else None
        if margin is None or char == "\n":
            text = (margin or "") + char
        elif self._own_margin is not None:
            text, self._own_margin = self._own_margin + char, None
        elif not self._line and margin and char not in CLOSERS:
            text = max(as_indented(margin, self._place.indent_unit), self._least_margin, key=indent_columns) + char
        else:
            text = as_indented(self._without_surplus(margin), self._place.indent_unit) + char
        if not self._line.endswith("\n"):
            self._line += text
        return text

    def _without_surplus(self, margin: str) -> str:
        if not self._surplus or not self._line.endswith("\n"):
            return margin
        deep = self._place.left + self._surplus
        if self._is_second:
            # One step deeper than the first line is what that opens; two, or one without, is one too many.
            self._is_second = False
            if not margin.startswith(deep + self._surplus if opens(self._line) else deep):
                self._surplus = ""
        return self._place.left + margin[len(deep) :] if self._surplus and margin.startswith(deep) else margin


def _needs_line_end(place: Place) -> bool:
    """Whether blanks at the beginning are those of a new line: the cursor is behind the head of a block."""
    is_head = place.left.rstrip().endswith((":", "{")) and not place.right.strip()
    return is_head and place.indent_below <= indent_columns(place.left)


def _block_margin(place: Place) -> str:
    """The margin of lines inside what the cursor's line opens: its own, and one step."""
    return margin_of(place.left) + (place.indent_unit or DEFAULT_UNIT)


def _least_margin(place: Place) -> str:
    """Of the first line of a block, on a line where nothing stands yet: one step more than its head has."""
    if place.left or not place.above.endswith((":", "{")):
        return ""
    return margin_of(place.above) + (place.indent_unit or DEFAULT_UNIT)


def _repetitions(left: str) -> Iterator[str]:
    """Ends of ``left``, from the beginning of a word, that say enough to be recognised when they come once more."""
    for word in _WORD.finditer(left, max(0, len(left) - MAX_REPEATED_CHARS)):
        end = left[word.start() :]
        if is_telling(end) and (end[-1] in " \t" or not end.isalnum()):
            yield end
