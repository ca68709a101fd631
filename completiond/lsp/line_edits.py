"""An edit of a document as whole lines, for the dictionary, which does not know positions or encodings."""

from __future__ import annotations

from collections.abc import Sequence

from completiond.complete.request import LineEdit
from completiond.lsp.documents import Change
from completiond.lsp.text import Position, Text

__all__ = ["all_lines", "line_edits"]


def line_edits(before: Text, changes: Sequence[Change]) -> list[LineEdit] | None:
    """The lines that ``changes`` replace in ``before``, change by change; None if all of the text was replaced."""
    edits = []
    text = before
    for change in changes:
        if change.start is None:
            return None
        start_chars = text.offset_at(change.start)
        end_chars = start_chars if change.end is None else text.offset_at(change.end)
        start_chars, end_chars = min(start_chars, end_chars), max(start_chars, end_chars)
        after = text.replace(start_chars, end_chars, change.text)
        # A line end that an edit splits or joins changes its neighbours too: take the line before and the line behind.
        first = max(0, text.position_at(start_chars).line - 1)
        last = min(text.num_lines - 1, text.position_at(end_chars).line + 1)
        num_new = last - first + 1 + after.num_lines - text.num_lines
        edits.append(LineEdit(first, last - first + 1, _lines(after, first, first + num_new)))
        text = after
    return edits


def all_lines(text: Text) -> tuple[str, ...]:
    """Every line, without line ends; the last is empty when the text ends with a line end."""
    return _lines(text, 0, text.num_lines)


def _lines(text: Text, first: int, end: int) -> tuple[str, ...]:
    start_chars = text.offset_at(Position(first, 0))
    end_chars = text.offset_at(Position(end, 0)) if end < text.num_lines else text.num_chars
    piece = text.slice(start_chars, end_chars).replace("\r\n", "\n").replace("\r", "\n")
    lines = piece.split("\n")
    return tuple(lines[: end - first])
