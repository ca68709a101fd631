"""What other documents define of what is used near the cursor.

Names are looked up as they are written: no types are inferred. So a name counts for less where nothing says that it is
the one meant: the document is not among the imports, it is a method and its class is not mentioned, it is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Final

from completiond.complete.context.grammars import grammar_of
from completiond.complete.context.outline import Definition, Outline
from completiond.complete.context.piece import IDENTIFIER, Piece, whole_lines
from completiond.complete.context.source import Source

__all__ = ["definitions", "names_near", "qualifier_of"]

LINES_BEFORE: Final = 30
LINES_AFTER: Final = 10
"""Around the cursor: names in these are looked up."""
HALF_AFTER_LINES: Final = 10
"""So far from the cursor a name counts half."""
MIN_NAME_CHARS: Final = 3
MIN_SCORE: Final = 0.2
IMPORTED, SAME_FOLDER, ELSEWHERE = 1.0, 0.6, 0.35
MEMBER_OF_UNMENTIONED: Final = 0.5
VALUE: Final = 0.7
MAX_LINE_CHARS: Final = 2000
MODULE_SCORE: Final = 0.9
_QUALIFIER: Final = re.compile(r"([^\W\d]\w{0,99})(\.|::)\w{0,99}$")
_ABOVE: Final = re.compile(r"#|//|@|$")
"""What stands above a definition, or nothing."""


def names_near(before: Sequence[str], after: Sequence[str]) -> dict[str, float]:
    """How near each name stands to the cursor, 1.0 in its line, by the lines ``before`` it and ``after`` it; the line
    with the cursor is the last of the one and the first of the other.
    """
    near: dict[str, float] = {}
    placed = [*enumerate(reversed(before[-LINES_BEFORE:])), *enumerate(after[:LINES_AFTER])]
    for distance, line in placed:
        weight = 1.0 / (1.0 + distance / HALF_AFTER_LINES)
        for name in IDENTIFIER.findall(line[:MAX_LINE_CHARS]):
            if len(name) >= MIN_NAME_CHARS:
                near[name] = max(weight, near.get(name, 0.0))
    return near


def qualifier_of(line: str, path: str) -> str:
    """What a line, up to the cursor, asks a member of, if it can be a module: ``json`` in ``x = json.du``; else ""."""
    found = _QUALIFIER.search(line[-MAX_LINE_CHARS:])
    separator = "::" if grammar_of(path) in ("rust", "cpp") else "."
    return found[1] if found is not None and found[2] == separator else ""


def definitions(near: Mapping[str, float], qualifier: str, current: Source, others: Sequence[Source]) -> list[Piece]:
    """Pieces for the names ``near`` the cursor of ``current`` that ``others`` define, in no order; and of a module
    whose member is asked for (``qualifier``, see ``qualifier_of``) what it has.
    """
    own, found = current.outline, dict[tuple[str, int], Piece]()
    defined_here = {one.name for one in own.definitions if not one.owner}
    for source in others:
        relation = _relation(source, current, own)
        is_asked = {qualifier} == source.module_words or source.module_words <= own.aliases.get(qualifier, frozenset())
        if relation == IMPORTED and is_asked and (piece := _of_module(source)) is not None:
            found[source.document, -1] = piece
        for one in source.outline.definitions:
            if (weight := near.get(one.name)) is None or (not one.owner and one.name in defined_here):
                continue
            score = weight * relation
            if one.owner and one.owner not in near:
                score *= MEMBER_OF_UNMENTIONED
            if one.is_value:
                score *= VALUE
            if score < MIN_SCORE:
                continue
            piece = _piece(source, one, score)
            place = (source.document, piece.first_line)
            if place not in found or found[place].score < score:
                found[place] = piece
    return list(found.values())


def _relation(source: Source, current: Source, own: Outline) -> float:
    if source.module_words and source.module_words <= own.imported:
        return IMPORTED
    return SAME_FOLDER if source.folder == current.folder else ELSEWHERE


def _of_module(source: Source) -> Piece | None:
    """The first line of each of a module's definitions. They are in no lines of their own: others may be told too."""
    heads = (one.head for one in source.outline.definitions if not one.owner and not one.name.startswith("_"))
    lines = (next((line for line in head.split("\n") if not _ABOVE.match(line)), "") for head in heads)
    text = whole_lines("".join(f"{line}\n" for line in lines if line))
    return Piece(source.document, 0, 0, text, "definition", MODULE_SCORE) if text else None


def _piece(source: Source, one: Definition, score: float) -> Piece:
    outline = source.outline
    owner = next((it for it in outline.definitions if it.name == one.owner and not it.owner), None)
    of_type = owner if owner is not None else one
    head = _with_members(of_type, outline, source.path)
    if of_type is not one and one.head.split("\n", 1)[0].strip() not in head:  # it did not fit
        head = of_type.head.split("\n", 1)[0] + "\n" + indent(one.head, "    ")
        return Piece(source.document, one.first_line, one.end_line, whole_lines(head), "definition", score)
    return Piece(source.document, of_type.first_line, of_type.end_line, head, "definition", score)


def _with_members(one: Definition, outline: Outline, path: str) -> str:
    """Go and Rust have a type's functions outside of it."""
    outside = [
        it.head
        for it in outline.definitions
        if it.owner == one.name and not one.first_line <= it.first_line < one.end_line
    ]
    if not outside or one.owner:
        return one.head
    members = "".join(outside)
    if path.endswith(".rs"):
        members = f"impl {one.name} {{\n{indent(members, '    ')}}}\n"
    return whole_lines(one.head + members)
