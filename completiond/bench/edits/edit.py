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


def edit_of(hunk: Hunk) -> Edit:
    """Cut off what a person does not type.

    A replacement loses the words and signs that old and new text begin and end with, but no word is divided: whoever
    changes a name types the whole new one. An insertion loses the blank lines around it, its first indentation and its
    last line end.
    """
    deleted, added = "".join(hunk.old_lines), "".join(hunk.new_lines)
    if not deleted:
        body = added.strip()
        start = added.index(body) if body else len(added)
        return Edit(added[:start], "", body, added[start + len(body) :], is_insertion=True)
    old, new = _PART.findall(deleted), _PART.findall(added)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    before, after = "".join(old[:head]), "".join(old[len(old) - tail :])
    return Edit(
        before, "".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail]), after, is_insertion=False
    )
