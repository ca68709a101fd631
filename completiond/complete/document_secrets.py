"""Which lines of one document hold a secret, or what is left of one: nothing of them is drafted from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from completiond.exclude.mask import MASK
from completiond.exclude.secret_text import find_secrets, secret_lines

__all__ = ["DocumentSecrets"]

PIECE_CHARS = 8
"""A line that an edit leaves with so much of a secret still gives it away, though it looks like none any more."""
MAX_PIECES = 50_000
"""Of longer secrets only the first so many are known in pieces; their lines are known all the same."""


class DocumentSecrets:
    """Lines are known by their text: where they are changes with each edit above them."""

    def __init__(self) -> None:
        self._lines: set[str] = set()
        self._pieces: set[str] = set()
        self._short_values: set[str] = set()

    def __bool__(self) -> bool:
        """Whether any were noted."""
        return bool(self._pieces or self._short_values)

    def note(self, lines: Sequence[str]) -> None:
        """Look for secrets in lines that stand together."""
        text = "\n".join(lines)
        spans = find_secrets(text)
        if not spans:
            return
        self._lines.update(lines[number] for number in secret_lines(lines, spans))
        for span in spans:
            for value in text[span.start_chars : span.end_chars].split("\n"):
                self._note_value(value)

    def _note_value(self, value: str) -> None:
        if "PRIVATE KEY" in value and len(value) < 80:
            return  # the line that says that a key begins or ends
        if len(value) < PIECE_CHARS:
            if value and not value.isalpha():  # a word is in many lines that give nothing away
                self._short_values.add(value)
        elif len(self._pieces) < MAX_PIECES:
            self._pieces.update(_pieces(value))

    def note_edited(self, lines: Iterable[str]) -> None:
        """Look in lines that an edit left for what remains of secrets that were noted before."""
        if self:
            self._lines.update(line for line in lines if self._gives_away(line))

    def _gives_away(self, line: str) -> bool:
        return not self._pieces.isdisjoint(_pieces(line)) or any(value in line for value in self._short_values)

    def masked(self, line: str) -> str:
        """The line with ``MASK`` for each character of what remains of secrets that were noted before."""
        if not self._gives_away(line):
            return line
        hidden: set[int] = set()
        for start, piece in enumerate(_pieces(line)):
            if piece in self._pieces:
                hidden.update(range(start, start + PIECE_CHARS))
        for value in self._short_values:
            start = line.find(value)
            while start >= 0:
                hidden.update(range(start, start + len(value)))
                start = line.find(value, start + 1)
        return "".join(MASK if place in hidden else char for place, char in enumerate(line))

    def any_in(self, lines: Iterable[str]) -> bool:
        """Whether one of the lines may not be drafted from."""
        return not self._lines.isdisjoint(lines)

    def without(self, lines: Sequence[str]) -> Sequence[str]:
        """The lines that may be drafted from."""
        return [line for line in lines if line not in self._lines] if self._lines else lines

    def forget_all_but(self, lines: Iterable[str]) -> None:
        """Other lines are not in the document any more."""
        self._lines.intersection_update(lines)


def _pieces(text: str) -> Iterable[str]:
    return (text[start : start + PIECE_CHARS] for start in range(len(text) - PIECE_CHARS + 1))
