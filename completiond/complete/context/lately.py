"""What was edited, deleted and looked at lately, as far as it is not around the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from completiond.complete.context.piece import Piece, piece_of_lines, whole_lines
from completiond.complete.context.place import ContextPlace
from completiond.complete.context.recent import Use
from completiond.complete.context.source import Source

__all__ = ["lately"]

EDIT_SCORES: Final = (0.8, 0.6, 0.5, 0.4)
"""Of the newest places, the newest first; older ones are not told."""
LINES_AROUND_EDIT: Final = 3
MAX_VIEWS: Final = 2
VIEW_SCORE: Final = 0.3
LINES_AROUND_VIEW: Final = 8
DELETED_SCORE: Final = 0.6
MIN_DELETED_CHARS: Final = 20
"""Less is a slip of the finger, or a word."""


def lately(
    uses: dict[str, Use], place: ContextPlace, sources: Sequence[Source], deleted_in: Callable[[str], str]
) -> Iterator[Piece]:
    """Pieces of ``sources``, which may be told of, by when they were used; the least recently used of ``uses`` first.

    ``deleted_in``: what the last edits of a document deleted. It is told of the document that was edited last.
    """
    by_document = {source.document: source for source in sources}
    edited = [(one, it) for it in by_document for one in uses[it].edited]
    edited.sort(key=lambda both: -both[0].at)
    if edited:
        newest, first = edited[0][1], edited[0][0].first_line
        deleted = whole_lines(deleted_in(newest))
        if len(deleted.strip()) >= MIN_DELETED_CHARS:
            yield Piece(newest, first, first, deleted, "deleted", DELETED_SCORE)
    places = [(one, it) for one, it in edited if it != place.document or not place.shows(one)]
    for (one, it), score in zip(places, EDIT_SCORES, strict=False):
        first, end = one.first_line - LINES_AROUND_EDIT, one.end_line + LINES_AROUND_EDIT
        piece = piece_of_lines(it, by_document[it].lines, first, end, "edit", score)
        if piece is not None and (it != place.document or not place.shows(piece)):
            yield piece
    viewed = [(it, line) for it in reversed(uses) if it != place.document and (line := uses[it].line) is not None]
    for it, line in [(it, line) for it, line in viewed if it in by_document][:MAX_VIEWS]:
        first, end = line - LINES_AROUND_VIEW, line + LINES_AROUND_VIEW
        if (piece := piece_of_lines(it, by_document[it].lines, first, end, "view", VIEW_SCORE)) is not None:
            yield piece
