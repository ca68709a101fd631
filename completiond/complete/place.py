"""Where an answer goes: the text around the cursor, as far as the stop rules look at it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from completiond.complete.indentation import indent_unit
from completiond.complete.layout import CLOSERS, OPENERS, indent_columns

__all__ = ["MAX_CHARS", "Place"]

MAX_NEXT_LINES = 4
MAX_CHARS = 4096
"""So far on each side of the cursor the rules look; longer texts are not read again with every key."""
OPEN_ENDS = (*OPENERS, ">", "=", "\\")
"""Ends of a line after which the next may be deeper; ``>`` ends an HTML tag."""

_JSON = re.compile(r"\s*(?:\{|\[(?=[ \t]*[\n\"{]))\s*[\]\"{\[]")


@dataclass(frozen=True, slots=True)
class Place:
    """What the rules need of the text around the cursor; line ends are ``\\n``."""

    left: str
    """The cursor's line up to the cursor."""
    right: str
    """The cursor's line from the cursor, without its end and trailing blanks."""
    above: str
    """The last non-blank line above the cursor's line, trailing blanks removed."""
    before: str
    """The lines above the cursor's line, so many as the rules look at."""
    next_lines: tuple[str, ...]
    """The first non-blank lines after the cursor's line, a few at most, trailing blanks removed."""
    enclosing: tuple[str, ...]
    """``above`` and, going up from it, each line that is less deep than all below it: heads of blocks, mostly."""
    indent_unit: str
    """What the file around the cursor indents its lines with, "" where that is not clear."""
    is_one_line: bool
    """Whether answers are wanted that have one line, wherever they stand."""
    has_fences: bool
    """The text itself is Markdown, or quotes it: a code fence is nothing unusual."""

    @classmethod
    def of(cls, prefix: str, suffix: str, may_have_lines: bool = True) -> Place:
        """Look at both sides of the cursor. Unless it ``may_have_lines``, an answer has one."""
        before, _, left = prefix.rpartition("\n")
        above = before.rstrip().rpartition("\n")[2]
        right, _, below = suffix.partition("\n")
        lines = (line.rstrip() for line in below[:MAX_CHARS].split("\n"))
        following = tuple(line for line in lines if line)[:MAX_NEXT_LINES]
        near = (before[-4 * MAX_CHARS :].partition("\n")[2] if len(before) > 4 * MAX_CHARS else before).split("\n")
        return cls(
            left=left,
            right=right.rstrip(),
            above=above,
            before="\n".join(near),
            next_lines=following,
            enclosing=_enclosing(near),
            indent_unit=indent_unit([*near, left, *below[:MAX_CHARS].split("\n")]),
            is_one_line=not may_have_lines,
            has_fences="```" in prefix or "```" in suffix,
        )

    @property
    def single_line(self) -> bool:
        """Text to the right means that the answer fills a gap in this line."""
        return bool(self.right.strip())

    @property
    def drops_margin(self) -> bool:
        """Whether blanks at the answer's beginning are too many: the user, or the editor, has typed them."""
        if self.left.strip():
            return self.left[-1] in " \t"
        left, above = indent_columns(self.left), indent_columns(self.above)
        return left > above or (not self.above.endswith(OPEN_ENDS) and (left > 0 or above == 0))

    @property
    def closes(self) -> bool:
        """Whether the text to the right begins by closing a bracket or a string: often the editor put that there."""
        closer = self.right.lstrip()[:1]
        return self.closes_bracket or (closer in tuple("\"'`") and self.left.count(closer) % 2 == 1)

    @property
    def closes_bracket(self) -> bool:
        """Whether ``closes`` is about a bracket."""
        return self.right.lstrip()[:1] in tuple(CLOSERS)

    @property
    def ends_json(self) -> bool:
        """Whether the next line closes a bracket of JSON, before which no comma may stand. Only what begins like JSON
        is taken for it, and only while the rules look as far up as its beginning.
        """
        is_end = re.fullmatch(r"\s*[\]}],?", self.next_lines[0] if self.next_lines else "") is not None
        return is_end and _JSON.match(self.before) is not None

    @property
    def indent_below(self) -> int:
        """Columns before the text of the next line, or -1 when there is none."""
        return indent_columns(self.next_lines[0]) if self.next_lines else -1


def _enclosing(lines: Sequence[str]) -> tuple[str, ...]:
    heads: list[str] = []
    for line in reversed(lines):
        if line.strip() and (not heads or indent_columns(line) < indent_columns(heads[-1])):
            heads.append(line.rstrip())
    return tuple(heads)
