"""Names that give way to others at several places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from completiond.bench.edits.hunks import FileDiff, Hunk
from completiond.bench.edits.tokens import words

__all__ = ["Renames"]

_MIN_PLACES: Final = 3
_MAX_PAIRS: Final = 2

_Pair = tuple[str, str]


class Renames:
    """Knows all hunks of two releases, and, while they are made, which renames have begun."""

    def __init__(self, diffs: Iterable[FileDiff]) -> None:
        self._num_places = Counter(pair for diff in diffs for hunk in diff.hunks for pair in _pairs(diff, hunk, True))
        self._begun: set[_Pair] = set()

    def note(self, diff: FileDiff, hunk: Hunk) -> bool:
        """Take note of a hunk that is being made. Say whether all it does is to rename what was renamed before, and is
        at three places or more (those in strings and comments do not count).
        """
        pairs = _pairs(diff, hunk, False)
        is_repeated = bool(pairs) and all(self._num_places[pair] >= _MIN_PLACES for pair in pairs)
        is_repeated = is_repeated and pairs <= self._begun
        self._begun |= pairs
        return is_repeated


def _pairs(diff: FileDiff, hunk: Hunk, code_only: bool) -> frozenset[_Pair]:
    """The old and new names, at most two, that are all a hunk changes; none for other hunks."""
    old, new = list(words(diff.old_tokens(hunk))), list(words(diff.new_tokens(hunk)))
    if len(old) != len(new):
        return frozenset()
    different = [(was, now) for was, now in zip(old, new, strict=True) if was != now]
    pairs = frozenset((was.text, now.text) for was, now in different)
    if len(pairs) > _MAX_PAIRS or not all(
        was.kind == now.kind
        and was.kind in ("name", "string", "text", "comment")
        and was.text.isidentifier()
        and now.text.isidentifier()
        for was, now in different
    ):
        return frozenset()
    return frozenset((was.text, now.text) for was, now in different if was.kind == "name" or not code_only)
