"""Which pieces are told, and in which order.

By relevance, as many as fit. Their order in the prompt is another: what was told before comes first and stays where it
was, since a prompt is read anew from its first token that is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from completiond.complete.context.piece import Piece, PieceKind
from completiond.complete.repo_context import ContextFile
from completiond.exclude.secret_text import find_secrets

__all__ = ["choose", "files_of"]

WEIGHTS: Final[dict[PieceKind, float]] = {"definition": 1.0, "deleted": 0.9, "similar": 0.9, "edit": 0.7, "view": 0.5}
"""Of a piece's score; chosen, not measured."""
MAX_CANDIDATES: Final = 40
"""What is less relevant than so many others is not even tokenised."""


def choose(
    candidates: Iterable[Piece],
    visible_text: str,
    num_tokens: Callable[[str], int],
    path_of: Callable[[str], str],
    max_tokens: int,
) -> list[Piece]:
    """The most relevant of ``candidates`` whose texts, with their files' names, fit into ``max_tokens``.

    Left out is what overlaps a better one, what ``visible_text``, the rest of the prompt, says already, and whatever
    looks like a secret: the lines of secrets are known, but not those that only look like one beside others.
    """
    chosen: list[Piece] = []
    documents: set[str] = set()
    room = max_tokens
    for piece in sorted(candidates, key=_order)[:MAX_CANDIDATES]:
        if any(piece.overlaps(other) for other in chosen) or piece.text.strip() in visible_text:
            continue
        cost = num_tokens(piece.text) + 1
        if piece.document not in documents:
            cost += num_tokens(path_of(piece.document) + "\n") + 2
        if cost > room or find_secrets(piece.text):
            continue
        chosen.append(piece)
        documents.add(piece.document)
        room -= cost
    return chosen


def _order(piece: Piece) -> tuple[float, str, int]:
    return -WEIGHTS[piece.kind] * piece.score, piece.document, piece.first_line


def files_of(
    pieces: Sequence[Piece], told_before: Sequence[str], path_of: Callable[[str], str]
) -> list[tuple[str, ContextFile]]:
    """A file for each document that has ``pieces``, with the document: those ``told_before`` in that order, then the
    others by their paths.
    """
    places = {document: number for number, document in enumerate(told_before)}
    by_document: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.first_line, piece.end_line, piece.text)):
        by_document.setdefault(piece.document, []).append(piece)
    documents = sorted(by_document, key=lambda one: (places.get(one, len(places)), path_of(one), one))
    return [(one, ContextFile(path_of(one), "\n".join(it.text for it in by_document[one]))) for one in documents]
