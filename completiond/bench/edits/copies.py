"""Test functions that were made by copying one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from completiond.bench.edits.tokens import split_lines

__all__ = ["is_test_copy"]

_ALIKE: Final = 0.6
_TEST: Final = re.compile(r"[ \t]*(async +)?def test_")
_WORD: Final = re.compile(r"\w+|[^\w\s]")


def is_test_copy(typed: str, prefix: str) -> bool:
    """Say whether ``typed`` has a test function and is much like one in ``prefix``, by difflib's ratio of words."""
    if not any(map(_TEST.match, split_lines(typed))):
        return False
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(_WORD.findall(typed))
    for block in _test_functions(prefix):
        matcher.set_seq1(_WORD.findall(block))
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= _ALIKE and matcher.ratio() >= _ALIKE:
            return True
    return False


def _test_functions(text: str) -> Iterator[str]:
    """Each test function of ``text``, from its def up to the next line that is not indented more."""
    lines = split_lines(text)
    for start, line in enumerate(lines):
        if _TEST.match(line):
            end = start + 1
            while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(line)):
                end += 1
            yield "".join(lines[start:end])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
