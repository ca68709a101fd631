"""Where a person would divide a long change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

__all__ = ["MAX_ADDED_LINES", "cut_replacement", "cut_tests", "long_cuts"]

MAX_ADDED_LINES: Final = 40
_ALIKE: Final = 0.6
_MAX_EXACT_CHARS: Final = 300
_DEFINITION: Final = re.compile(r"\s*(async\s+def|def|class)\b|\s*@")
_TEST: Final = re.compile(r"\s*(async\s+)?def test_")
_BEFORE_TEST: Final = re.compile(r"\s*[@#]")


def cut_replacement(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, Sequence[str]]]:
    """Divide a replacement into steps: how many old lines go, and the new lines that come.

    When there are as many lines before as after and all are alike, each is a step: people change such lines one by
    one. When one side has more, and its first or last lines are like all of the other side, the surplus is a step of
    its own: an insertion or a deletion beside changed lines. Else all is one step.
    """
    num_old, num_new = len(old), len(new)
    if not num_old or not num_new:
        return [(num_old, new)]
    both = min(num_old, num_new)
    if all(_alike(*pair) for pair in zip(old, new, strict=False)):
        steps = [(1, new[index : index + 1]) for index in range(both)]
        surplus = (num_old - both, new[both:])
        return steps if num_old == num_new else [*steps, surplus]
    if num_old != num_new and all(_alike(*pair) for pair in zip(old[-both:], new[-both:], strict=True)):
        surplus = (num_old - both, new[: num_new - both])
        return [surplus, *((1, new[index : index + 1]) for index in range(num_new - both, num_new))]
    return [(num_old, new)]


def cut_tests(lines: Sequence[str]) -> list[Sequence[str]]:
    """Divide inserted lines so that each test function, with its decorators, is a piece."""
    starts = [0]
    for number, line in enumerate(lines):
        if _TEST.match(line):
            start = number
            while start and _BEFORE_TEST.match(lines[start - 1]):
                start -= 1
            has_text_before = any(other.strip() for other in lines[starts[-1] : start])
            if has_text_before and not lines[start - 1].strip():
                starts.append(start)
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def long_cuts(lines: Sequence[str]) -> list[int]:
    """Lengths of the pieces, of at most ``MAX_ADDED_LINES``, into which ``lines`` are cut: before a definition if
    possible, else after a blank line, else anywhere. One length when no cut is needed.
    """
    sizes, start = [], 0
    while len(lines) - start > MAX_ADDED_LINES:
        size = max(range(1, MAX_ADDED_LINES + 1), key=lambda size: (_cut_quality(lines, start + size), size))
        sizes.append(size)
        start += size
    return [*sizes, len(lines) - start]


def _cut_quality(lines: Sequence[str], at: int) -> int:
    if lines[at - 1].strip() or not lines[at].strip():
        return 0
    return 2 if _DEFINITION.match(lines[at]) else 1


def _alike(old: str, new: str) -> bool:
    if not old.strip() or not new.strip():
        return old.strip() == new.strip()
    matcher = SequenceMatcher(None, old.strip(), new.strip(), autojunk=False)
    if matcher.quick_ratio() < _ALIKE:
        return False
    # of long lines with few different characters the exact ratio would take minutes
    return max(len(old), len(new)) > _MAX_EXACT_CHARS or matcher.ratio() >= _ALIKE
