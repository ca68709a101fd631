"""Where a client's documents were edited lately, and where its cursors were: numbers of lines, no text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from completiond.complete.request import LineEdit

__all__ = ["Edited", "Recent", "Use"]

MAX_RANGES: Final = 8
"""Places of one document that were edited last."""
JOIN_LINES: Final = 2
"""Edits so near each other are at one place."""


@dataclass(slots=True)
class Edited:
    """Lines ``[first_line, end_line)`` as they are now; ``at`` counts the client's changes."""

    first_line: int
    end_line: int
    at: int


@dataclass(slots=True)
class Use:
    """Of one document: when it was used last, where its cursor was then (None: nowhere yet), and what was edited, the
    newest place last.
    """

    path: str
    at: int
    line: int | None = None
    edited: list[Edited] = field(default_factory=list)


class Recent:
    """All documents of one client, by the client's names for them."""

    def __init__(self) -> None:
        self.uses: dict[str, Use] = {}
        """Least recently used first."""
        self._now = 0

    @property
    def now(self) -> int:
        """The number of changes, and uses, so far."""
        return self._now

    def open(self, document: str, path: str) -> None:
        """A document was opened, or all of its text replaced."""
        self._now += 1
        self.uses.pop(document, None)
        self.uses[document] = Use(path, self._now)

    def close(self, document: str) -> None:
        """Forget it."""
        self.uses.pop(document, None)

    def view(self, document: str, line: int) -> None:
        """A completion was asked for in ``line``."""
        if (use := self._use(document)) is not None:
            use.line = line

    def edit(self, document: str, edits: Sequence[LineEdit]) -> None:
        """Follow changes of a document, in order; one that is not here is left out."""
        if (use := self._use(document)) is None:
            return
        for one in edits:
            use.edited = _follow(use.edited, one, self._now)

    def _use(self, document: str) -> Use | None:
        if (use := self.uses.pop(document, None)) is not None:
            self._now += 1
            use.at = self._now
            self.uses[document] = use
        return use


def _follow(ranges: list[Edited], edit: LineEdit, now: int) -> list[Edited]:
    """``ranges`` after an edit: those behind it have moved, those at its place are one with it."""
    first, old_end = edit.first_line, edit.first_line + edit.num_old_lines
    by = len(edit.new_lines) - edit.num_old_lines
    new = Edited(first, first + len(edit.new_lines), now)
    others = []
    for one in ranges:
        if one.end_line + JOIN_LINES <= first:
            others.append(one)
        elif one.first_line >= old_end + JOIN_LINES:
            others.append(Edited(one.first_line + by, one.end_line + by, one.at))
        else:
            new.first_line = min(new.first_line, one.first_line)
            new.end_line = max(new.end_line, one.end_line + by)
    return [*others[1 - MAX_RANGES :], new]
