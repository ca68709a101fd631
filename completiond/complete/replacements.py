"""What an edit replaced with what, as text and as tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from completiond.complete.tokens import TextTokenizer
from completiond.spec.swaps import MAX_SWAP_TOKENS, Swap

__all__ = ["Replacement", "between", "swaps_of"]

_WORD_END = re.compile(r"\w*\Z")
_WORD_START = re.compile(r"\w*")


@dataclass(frozen=True, slots=True)
class Replacement:
    """``old`` became ``new``; ``left`` and ``right`` are the parts of words that both share at their sides."""

    old: str
    new: str
    left: str
    right: str


def between(before: str, after: str) -> Replacement:
    """The one stretch in which two texts differ."""
    limit = min(len(before), len(after))
    start = next((i for i in range(limit) if before[i] != after[i]), limit)
    limit -= start
    end = next((i for i in range(limit) if before[-1 - i] != after[-1 - i]), limit)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    left, right = _WORD_END.search(before[:start]), _WORD_START.match(before, len(before) - end)
    assert left is not None, "matches the empty string"
    assert right is not None, "matches the empty string"
    return Replacement(old, new, left[0], right[0])


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
        if max(map(len, pair)) <= MAX_SWAP_TOKENS:
            swaps.append(pair)
    return swaps
