"""A closing bracket that nothing has opened, in the line the cursor is in."""

from __future__ import annotations

import re
from typing import Final

from completiond.complete.layout import CLOSERS, OPENING, without_comment
from completiond.complete.place import MAX_CHARS, Place

__all__ = ["surplus_end"]

QUOTES: Final = "\"'`"

_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_PART: Final = re.compile(rf"{_STRING.pattern}|\\.|.")
_NO_CODE: Final = re.compile(r"(?:^|\s)(?:#|//|--|;|\*)|/\*|<!--|[(=,:\[]\s*/(?!/)")
"""A comment, or a regular expression as JavaScript writes it."""


def surplus_end(line: str, place: Place) -> int | None:
    """Where ``line``, the answer's part of the cursor's line, closes a bracket that is open neither in that line nor
    above it; None if it does not. What follows in ``line`` changes nothing.

    Brackets in strings and comments do not count, and a line without a pair of the same kind before the bracket is not
    taken for code: ``a) first``, or a pattern of a shell's ``case``.
    """
    whole, num_left = place.left + line, len(place.left)
    if len(whole) > MAX_CHARS or not any(closer in line for closer in CLOSERS):
        return None
    code, depth, pairs, closed = "", 0, "", ""
    for match in _PART.finditer(whole):
        part = match[0]
        if part in QUOTES:
            return None
        if part in CLOSERS and depth:
            depth -= 1
            pairs += part
        elif part in CLOSERS:
            if _NO_CODE.search(code):
                return None
            closed += part
            if match.start() >= num_left and part in pairs and not _are_open_above(closed, place):
                return match.start() - num_left
        depth += part in OPENING
        code += part if len(part) == 1 else ""
    return None


def _are_open_above(closers: str, place: Place) -> bool:
    """Whether the lines above leave open what ``closers`` close, or may do so."""
    if place.above.endswith(",") and len(closers) == 1:
        return True
    missing, surplus = list(closers), 0
    for line in reversed(place.before.split("\n")):
        for char in reversed(_STRING.sub("", without_comment(line))):
            if char in CLOSERS:
                surplus += 1
            elif char in OPENING and surplus:
                surplus -= 1
            elif char in OPENING:
                if OPENING.index(char) != CLOSERS.index(missing.pop(0)):
                    return False
                if not missing:
                    return True
    return False
