"""What an edit replaced with what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from completiond.spec.alignment import Alignment
from completiond.spec.parts import PartSwap, split_parts
from completiond.spec.spelling import WordSwap

__all__ = ["Replacement", "analogies", "between", "replaced_words"]

_PART = re.compile(r"\w+|\W")
_NAME = re.compile(r"[^\W\d]\w*")
MAX_PARTS = 150
"""Longer stretches are rewrites, not renames, and comparing them would take too long at each key."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """``old`` became ``new``, at ``start_chars`` of both texts."""

    old: str
    new: str
    start_chars: int


def between(before: str, after: str) -> Replacement:
    """The one stretch in which two texts differ."""
    start = _num_common(before, after)
    end = _num_common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    return Replacement(old, new, start)


def replaced_words(before: str, after: str) -> list[WordSwap]:
    """Names that became other names, one for one, the first place first."""
    old, new = _PART.findall(before), _PART.findall(after)
    start = _num_alike(old, new)
    end = _num_alike(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > MAX_PARTS:
        return []
    swaps: list[WordSwap] = []
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and old_end - old_start == new_end - new_start == 1:
            pair = (old[old_start], new[new_start])
            if pair not in swaps and all(_NAME.fullmatch(word) for word in pair):
                swaps.append(pair)
    return swaps


def analogies(model: str, line: str) -> list[PartSwap]:
    """What ``line`` has in the places of ``model``, a line like it: whole names first, then parts of names."""
    alignment = Alignment(model)
    alignment.write(line)
    names = [(split_parts(old), split_parts(new)) for old, new in replaced_words(model, line)]
    return [*names, *alignment.swaps()]


def _num_alike(one: list[str], other: list[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (part, other_part) in pairs if part != other_part), min(len(one), len(other)))


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
