"""Functions that are called in another way than before, and the calls that follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from completiond.bench.edits.hunks import FileDiff, Hunk
from completiond.bench.edits.tokens import Token

__all__ = ["ChangedCalls"]

_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


class ChangedCalls:
    """Knows, while hunks are made, the names of the functions whose arguments have been changed."""

    def __init__(self) -> None:
        self._resigned: set[str] = set()

    def note(self, diff: FileDiff, hunk: Hunk) -> None:
        """Take note of a hunk that is being made."""
        self._resigned.update(diff.resigned_by(hunk))

    def is_changed_call(self, diff: FileDiff, hunk: Hunk) -> bool:
        """Say whether a hunk gives other arguments to a function that got others before, by another hunk."""
        candidates = self._resigned - set(diff.resigned_by(hunk))
        old, new = _calls(diff.old_tokens(hunk)), _calls(diff.new_tokens(hunk))
        return any(old[name] != new[name] for name in candidates & old.keys() & new.keys())


def _calls(tokens: Sequence[Token]) -> dict[str, list[str]]:
    """The arguments with which each name is called, as one text per call."""
    calls: dict[str, list[str]] = {}
    for number, (token, follower) in enumerate(pairwise(tokens)):
        if token.kind == "name" and follower.text == "(" and tokens[number - 1].text not in ("def", "class"):
            depth, arguments = 0, list[str]()
            for inner in tokens[number + 1 :]:
                depth += (inner.text in _OPENING) - (inner.text in _CLOSING)
                if depth == 0:
                    break
                arguments.append(inner.text)
            calls.setdefault(token.text, []).append(" ".join(arguments))
    return calls
