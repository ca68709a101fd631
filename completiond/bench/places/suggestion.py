"""A suggestion in its place, as the checks for defects look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from completiond.complete.place import Place

__all__ = ["Suggestion"]


@dataclass(frozen=True)
class Suggestion:
    """``text`` stands, or would, between ``prefix`` and ``suffix``, where a programmer wrote ``reference``.

    Lines are given without their ends and trailing blanks.
    """

    file: str
    prefix: str
    suffix: str
    text: str
    reference: str

    @property
    def extension(self) -> str:
        """What the file's name ends with, with the dot."""
        return PurePath(self.file).suffix

    @cached_property
    def place(self) -> Place:
        """The text around the cursor, line ends ``\\n``."""
        return Place.of(_with_line_feeds(self.prefix), _with_line_feeds(self.suffix))

    @property
    def head(self) -> str:
        """The cursor's line with the suggestion."""
        return self._lines[0]

    @property
    def lines(self) -> list[str]:
        """The lines it writes or adds to, whole: if it begins below the cursor's line, that line is not one of them."""
        return self._lines[1:] if self._begins_below else self._lines

    @property
    def new_lines(self) -> list[str]:
        """The lines whose margin is its own, or is all there was of them."""
        return self._lines[1:] if self.place.left.strip() else self._lines

    @property
    def reference_new_lines(self) -> list[str]:
        """The same of the reference."""
        lines = self._lines_with(self.reference)
        return lines[1:] if self.place.left.strip() else lines

    @property
    def above(self) -> str:
        """The last line above ``lines`` that is not blank."""
        return self.place.left.rstrip() if self._begins_below and self.place.left.strip() else self.place.above

    @property
    def _begins_below(self) -> bool:
        return not self.text.partition("\n")[0].strip()

    @cached_property
    def _lines(self) -> list[str]:
        return self._lines_with(self.text)

    def _lines_with(self, text: str) -> list[str]:
        return [line.rstrip() for line in (self.place.left + _with_line_feeds(text) + self.place.right).split("\n")]


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
