"""The texts of a project between two releases: any of its hunks may be made, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from completiond.bench.edits.hunks import FileDiff

__all__ = ["Workspace"]


class Workspace:
    """Starts as the old release. Each hunk of a file has a place that holds its old text until it is changed."""

    def __init__(self, old_texts: Mapping[str, str], diffs: Iterable[FileDiff]) -> None:
        self._texts = dict(old_texts)
        self._segments = {diff.path: _segments(diff) for diff in diffs}

    def __getitem__(self, path: str) -> str:
        """The text of a file now."""
        return self._texts[path]

    def offset_chars(self, path: str, number: int) -> int:
        """Where the place of hunk ``number`` of a file begins now."""
        return sum(map(len, self._segments[path][: 2 * number + 1]))

    def put(self, path: str, number: int, text: str) -> None:
        """Let ``text`` be what is at the place of hunk ``number`` of a file."""
        segments = self._segments[path]
        segments[2 * number + 1] = text
        self._texts[path] = "".join(segments)


def _segments(diff: FileDiff) -> list[str]:
    """What is before the first hunk, the first hunk, what is before the second, ..., what is after the last."""
    segments, line = [], 0
    for hunk in diff.hunks:
        segments += ["".join(diff.old.lines[line : hunk.old_start]), "".join(hunk.old_lines)]
        line = hunk.old_end
    return [*segments, "".join(diff.old.lines[line:])]
