"""A hunk as a person types it: what goes, where the cursor is then, and what is typed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from completiond.bench.edits.hunks import Hunk

__all__ = ["Edit", "edit_of"]

_PART: Final = re.compile(r"\w+|\W")


@dataclass(frozen=True, slots=True)
class Edit:
    """``before + deleted + after`` becomes ``before + expected + after``; the cursor is behind ``before``.

    For an insertion ``deleted`` is empty, and ``before`` and ``after`` are what is there once the line has been opened:
    blank lines and indentation.
    """

    before: str
    deleted: str
    expected: str
    after: str
    is_insertion: bool


def edit_of(hunk: Hunk, whole_lines: bool = False) -> Edit:
    """Cut off what a person does not type.

    A replacement loses the words and signs that old and new text begin and end with, but no word is divided: whoever
    changes a name types the whole new one. An insertion loses the blank lines around it, its first indentation and its
    last line end. With ``whole_lines`` a replacement is typed anew from the first line's indentation on, as after
    deleting the lines, or as a model does that rewrites them.
    """
    deleted, added = "".join(hunk.old_lines), "".join(hunk.new_lines)
    if not deleted:
        body = added.strip()
        start = added.index(body) if body else len(added)
        return Edit(added[:start], "", body, added[start + len(body) :], is_insertion=True)
    if whole_lines:
        indent = _common_indent(deleted, added)
        line_end = "\n" if deleted.endswith("\n") and added.endswith("\n") else ""
        old, new = (text[len(indent) : len(text) - len(line_end)] for text in (deleted, added))
        return Edit(indent, old, new, line_end, is_insertion=False)
    olds, news = _PART.findall(deleted), _PART.findall(added)
    head = 0
    while head < min(len(olds), len(news)) and olds[head] == news[head]:
        head += 1
    tail = 0
    while tail < min(len(olds), len(news)) - head and olds[-1 - tail] == news[-1 - tail]:
        tail += 1
    before, after = "".join(olds[:head]), "".join(olds[len(olds) - tail :])
    old, new = "".join(olds[head : len(olds) - tail]), "".join(news[head : len(news) - tail])
    return Edit(before, old, new, after, is_insertion=False)


def _common_indent(one: str, other: str) -> str:
    """The blanks that both texts begin with."""
    indent = one[: len(one) - len(one.lstrip(" \t"))]
    return indent if other.startswith(indent) else ""
