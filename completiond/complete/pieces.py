"""A text that comes in any portions, as pieces that do not depend on them: words, runs of blanks, single signs.

The stop rules look at each new piece as they look at each token of a model of our own. Half a word may look like
another word (``except`` in ``exceptions``), and where an answer ends must not depend on how a network cut it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Pieces"]

_PIECE = re.compile(r"\w+|[ \t]+|.", re.DOTALL)
_MAY_GROW = re.compile(r"\w+|[ \t]+")


class Pieces:
    """``is_over``: one of ``ends`` came, which is no part of the text, nor is anything behind it."""

    def __init__(self, ends: Iterable[str] = ()) -> None:
        self._ends = tuple(ends)
        self._end = re.compile("|".join(map(re.escape, self._ends)) or r"(?!)")
        self._held = ""
        self.is_over = False

    def push(self, text: str) -> list[str]:
        """The pieces that are whole now. Nothing more comes once it ``is_over``."""
        if self.is_over:
            return []
        self._held += text
        if (found := self._end.search(self._held)) is not None:
            self._held = self._held[: found.start()]
            self.is_over = True
            return self.flush()
        pieces: list[str] = _PIECE.findall(self._held[: self._num_certain()])
        if pieces and _MAY_GROW.fullmatch(pieces[-1]):
            pieces.pop()
        self._held = self._held[sum(map(len, pieces)) :]
        return pieces

    def flush(self) -> list[str]:
        """The last pieces: the text has ended."""
        held, self._held = self._held, ""
        return _PIECE.findall(held)

    def _num_certain(self) -> int:
        """Characters before what may be the beginning of an end."""
        held = self._held
        longest = max(map(len, self._ends), default=0)
        for start in range(max(0, len(held) - longest + 1), len(held)):
            if any(end.startswith(held[start:]) for end in self._ends):
                return start
        return len(held)
