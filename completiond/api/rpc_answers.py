"""The last answers of one connection, by number, so that the client can say which it took."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from completiond.complete.accepts import AcceptCounts
from completiond.errors import UsageError

__all__ = ["MAX_ANSWERS", "RpcAnswers"]

MAX_ANSWERS: Final = 100
"""Answers that are remembered; chosen: nobody takes one that was given so long ago."""


class RpcAnswers:
    """Numbers answers from 1 and counts what is taken of them."""

    def __init__(self, counts: AcceptCounts) -> None:
        self._counts = counts
        self._num_answers = 0
        self._known: OrderedDict[int, tuple[str, int]] = OrderedDict()

    def add(self, text: str) -> int:
        """Remember an answer and return its number."""
        self._num_answers += 1
        self._known[self._num_answers] = (text, 0)
        if len(self._known) > MAX_ANSWERS:
            self._known.popitem(last=False)
        return self._num_answers

    def accept(self, number: int, taken: str | None) -> None:
        """The user has ``taken``, the whole answer or its beginning, in the text; None: all of it.

        Raises UsageError for an answer that is not known, and for a text that is not its beginning.
        """
        if number not in self._known:
            raise UsageError(f"There is no answer {number}.", f"The last {MAX_ANSWERS} can be accepted.")
        text, taken_before = self._known[number]
        if taken is not None and not text.startswith(taken):
            raise UsageError("What was taken is not the beginning of the answer.", "Leave text out to take all of it.")
        taken_now = len(text if taken is None else taken)
        self._counts.count(len(text), taken_before, taken_now)
        self._known[number] = (text, max(taken_before, taken_now))
