"""Some lines of a document that are told to the model, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["IDENTIFIER", "MAX_PIECE_CHARS", "MAX_PIECE_LINES", "Piece", "PieceKind", "piece_of_lines", "whole_lines"]

PieceKind = Literal["definition", "deleted", "edit", "similar", "view"]
"""
``definition``  the head of what is used near the cursor: its signature, and those of its methods
``deleted``     text that was just deleted, or replaced
``edit``        lines that were edited lately
``similar``     lines with many of the words around the cursor
``view``        lines around the last cursor in a document that was used lately
"""

MAX_PIECE_LINES: Final = 40
MAX_PIECE_CHARS: Final = 2000
"""Longer ones would leave no room for others; what does not fit is left out from the end."""

IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
"""A word of any language's alphabet that can be a name."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines ``[first_line, end_line)`` of ``document``, a client's name for it; ``text`` of them ends with ``\\n``.

    ``text`` of a definition has less than all of these lines, and that of what was deleted is not in them any more.
    ``score``, 0.0 to 1.0, compares pieces of one kind.
    """

    document: str
    first_line: int
    end_line: int
    text: str
    kind: PieceKind
    score: float

    def overlaps(self, other: Piece) -> bool:
        """Whether both are the same lines in part, or say the same."""
        if self.text == other.text:
            return True
        if self.document != other.document or "deleted" in (self.kind, other.kind):
            return False
        return self.first_line < other.end_line and other.first_line < self.end_line


def piece_of_lines(
    document: str, lines: Sequence[str], first_line: int, end_line: int, kind: PieceKind, score: float
) -> Piece | None:
    """Those of ``lines`` without the blank ones at both ends; None where nothing is left."""
    first_line, end_line = max(0, first_line), min(len(lines), end_line)
    while first_line < end_line and not lines[first_line].strip():
        first_line += 1
    while first_line < end_line and not lines[end_line - 1].strip():
        end_line -= 1
    text = whole_lines("".join(f"{line}\n" for line in lines[first_line:end_line]))
    if not text.strip():
        return None
    return Piece(document, first_line, first_line + text.count("\n"), text, kind, score)


def whole_lines(text: str) -> str:
    """As many of a text's first lines as a piece may have, each with its end; "" where the first is too long."""
    lines = text.splitlines(keepends=True)[:MAX_PIECE_LINES]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    kept, num_chars = [], 0
    for line in lines:
        num_chars += len(line)
        if num_chars > MAX_PIECE_CHARS:
            break
        kept.append(line)
    return "".join(kept)
