"""Lines that only changed places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from completiond.bench.edits.hunks import FileDiff, Hunk

__all__ = ["Moves"]

_MIN_MOVED_LINES: Final = 3


class Moves:
    """All lines deleted between two releases."""

    def __init__(self, diffs: Iterable[FileDiff]) -> None:
        deleted = [_joined(hunk.old_lines) for diff in diffs for hunk in diff.hunks if hunk.old_lines]
        self._whole = frozenset(
            _joined(hunk.old_lines) for diff in diffs for hunk in diff.hunks if hunk.old_lines and not hunk.new_lines
        )
        self._all = "\n\n".join(deleted)

    def is_move(self, hunk: Hunk) -> bool:
        """Say whether the hunk inserts, and nothing but, all of a hunk that was deleted elsewhere or at least three
        lines of one. Indentation and blank lines are not compared.
        """
        added = _joined(hunk.new_lines)
        if hunk.old_lines or not added:
            return False
        return added in self._whole or (added.count("\n") > _MIN_MOVED_LINES and added in self._all)


def _joined(lines: Iterable[str]) -> str:
    """Each line with a line end before and after, so that only whole lines are found in it."""
    stripped = [line.strip() for line in lines if line.strip()]
    return "\n" + "\n".join(stripped) + "\n" if stripped else ""
