"""Text as the parts that edits replace: words of identifiers, signs, blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

__all__ = ["PartKind", "PartSwap", "kind_of", "split_parts"]

PartSwap = tuple[Sequence[str], Sequence[str]]
"""(old, new) runs of parts."""

_PART = re.compile(r"\n[ \t]*|[ \t]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|_+|\w|[^\w\s]|\s")


class PartKind(IntEnum):
    """What may take each other's place."""

    WORD = 0
    SIGN = 1
    BLANK = 2


def split_parts(text: str) -> list[str]:
    """All of ``text``, in order: ``get_HTTPBody(1)`` is ``get _ HTTP Body ( 1 )``."""
    return _PART.findall(text)


def kind_of(part: str) -> PartKind:
    """Kind of a part that ``split_parts`` gave. An underscore is a sign: it divides words."""
    if part.isspace():
        return PartKind.BLANK
    return PartKind.WORD if part.isalnum() else PartKind.SIGN
