"""A closing bracket that nothing has opened, in the line the cursor is in."""

from __future__ import annotations

import re
from typing import Final

from completiond.complete.layout import CLOSERS, OPENING, without_comment
from completiond.complete.place import Place

__all__ = ["surplus_end"]

_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_ESCAPED: Final = re.compile(r"\\.")
_NO_CODE: Final = re.compile(r"[\"'`]|(?:^|\s)(?:#|//|--|;|\*)|/\*|<!--|[(=,:\[]\s*/(?!/)")
"""A string that is not at its end, a comment, or a regular expression as JavaScript writes it."""


def surplus_end(line: str, place: Place) -> int | None:
    """Where ``line``, the answer's part of the cursor's line, closes a bracket that is open neither in that line nor
    above it; None if it does not. What follows in ``line`` changes nothing.

    Brackets in strings and comments do not count, and a line without a pair of the same kind before the bracket is not
    taken for code: ``a) first``, or a pattern of a shell's ``case``.
    """
    if not any(closer in line for closer in CLOSERS):
        return None
    whole, num_left = place.left + line, len(place.left)
    closed = ""
    for index, char in enumerate(whole):
        if char not in CLOSERS:
            continue
        code = _ESCAPED.sub("", _STRING.sub("", whole[:index]))
        if _NO_CODE.search(code):
            return None
        is_pair, is_open = _counted(code, char)
        if is_open:
            continue
        closed += char
        if index >= num_left and is_pair and not _are_open_above(closed, place):
            return index - num_left
    return None


def _counted(code: str, closer: str) -> tuple[bool, bool]:
    """Whether ``code`` has a pair of brackets that ``closer`` ends, and whether it leaves any bracket open."""
    depth, is_pair = 0, False
    for char in code:
        is_pair = is_pair or (char == closer and depth > 0)
        depth = depth + 1 if char in OPENING else depth - (char in CLOSERS and depth > 0)
    return is_pair, depth > 0


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
