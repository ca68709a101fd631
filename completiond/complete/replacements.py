"""What an edit replaced with what, as text and as tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from completiond.complete.tokens import TextTokenizer
from completiond.spec.swaps import MAX_SWAP_TOKENS, Swap

__all__ = ["Replacement", "between", "swaps_of"]

_WORD_END = re.compile(r"\w*\Z")
_WORD_START = re.compile(r"\w*")
_MAX_WORD_CHARS = 100


@dataclass(frozen=True, slots=True)
class Replacement:
    """``old`` became ``new``, at ``start_chars`` of both texts; ``left`` and ``right`` are the parts of words that both
    share at its sides.
    """

    old: str
    new: str
    left: str
    right: str
    start_chars: int


def between(before: str, after: str) -> Replacement:
    """The one stretch in which two texts differ."""
    start = _num_common(before, after)
    end = _num_common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    left = _WORD_END.search(before[max(0, start - _MAX_WORD_CHARS) : start])
    right = _WORD_START.match(before, len(before) - end, len(before) - end + _MAX_WORD_CHARS)
    assert left is not None, "matches the empty string"
    assert right is not None, "matches the empty string"
    return Replacement(old, new, left[0], right[0], start)


def swaps_of(replacement: Replacement, tokenizer: TextTokenizer) -> list[Swap]:
    """A replaced word as tokens, as they are inside a line and behind a blank. Empty unless whole words on one line
    changed.
    """
    old = replacement.left + replacement.old + replacement.right
    new = replacement.left + replacement.new + replacement.right
    if not (old.strip() and new.strip()) or old == new or "\n" in old + new or not re.search(r"\w", old):
        return []
    swaps = []
    for lead in ("", " "):
        pair = tuple(tokenizer.encode(lead + old)), tuple(tokenizer.encode(lead + new))
        if all(pair) and max(map(len, pair)) <= MAX_SWAP_TOKENS:
            swaps.append(pair)
    return swaps


def _num_common(one: str, other: str) -> int:
    """Length of the common beginning, by bisection: comparing slices is far faster than comparing characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
