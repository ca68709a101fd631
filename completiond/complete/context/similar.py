"""Lines of other documents that use the words around the cursor: whoever wrote them did much the same there.

Windows of a fixed number of lines are compared by the Jaccard index of the sets of their names, and of each document
the best one counts, as code completion with snippets of neighbouring tabs does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from completiond.complete.context.piece import IDENTIFIER, Piece, piece_of_lines
from completiond.complete.context.source import WINDOW_LINES, Source

__all__ = ["jaccard", "similar"]

MIN_SCORE: Final = 0.2
MIN_NAMES: Final = 4
"""Of fewer names no likeness can be told."""
LINES_AFTER: Final = 5
MAX_LINE_CHARS: Final = 2000


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """How much of both sets is in both, 0.0 to 1.0."""
    both = len(a & b)
    return both / (len(a) + len(b) - both) if both else 0.0


def similar(before: Sequence[str], after: Sequence[str], others: Sequence[Source]) -> list[Piece]:
    """One piece at most of each document, in no order. ``before`` and ``after``: lines around the cursor."""
    around = [line[:MAX_LINE_CHARS] for line in (*before[LINES_AFTER - WINDOW_LINES :], *after[:LINES_AFTER])]
    names = frozenset(IDENTIFIER.findall("\n".join(around)))
    if len(names) < MIN_NAMES:
        return []
    found = []
    for source in others:
        best = max(source.windows, key=lambda window: jaccard(window.names, names), default=None)
        if best is None or (score := jaccard(best.names, names)) < MIN_SCORE:
            continue
        first, end = best.first_line, best.first_line + WINDOW_LINES
        if (piece := piece_of_lines(source.document, source.lines, first, end, "similar", score)) is not None:
            found.append(piece)
    return found
