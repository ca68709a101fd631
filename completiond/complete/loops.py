"""One phrase over and over in a line, as small models write when they do not know how to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Loop", "find_loop"]

MIN_PHRASE: Final = 6
MAX_PHRASE: Final = 256
MIN_TIMES: Final = 3
MIN_CHARS: Final = 48
"""Chosen: seven times ``None, `` or ``0xFF, `` is a row of a table."""

BETWEEN: Final = " \t,.;:!?"
"""What no phrase begins with, though the text before the first may end with it, too."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A phrase that is written a third time: ``end`` is where the second one ends, ``is_over`` says that it was written
    often enough to end the answer there.
    """

    end: int
    is_over: bool


def find_loop(text: str) -> Loop | None:
    """What the last line of ``text`` ends with, if that is a phrase for the third time, or the beginning of a third.

    A phrase that consists of a shorter one, such as ``0, 0, ``, is none.
    """
    begin = text.rfind("\n") + 1
    loops: list[Loop] = []
    for size in range(MIN_PHRASE, min(MAX_PHRASE, (len(text) - begin) // 2) + 1):
        phrase = text[-size:]
        if text[-1] != text[-1 - size] or text[-2 * size : -size] != phrase or (phrase * 2).find(phrase, 1) < size:
            continue
        first = len(text) - 2 * size
        while first > begin and text[first - 1] == text[first - 1 + size]:
            first -= 1
        first += len(text[first:]) - len(text[first:].lstrip(BETWEEN))
        num_chars = len(text) - first
        if num_chars > 2 * size:
            loops.append(Loop(first + 2 * size, num_chars >= max(MIN_CHARS, MIN_TIMES * size)))
    return next((loop for loop in loops if loop.is_over), min(loops, key=lambda loop: loop.end, default=None))
