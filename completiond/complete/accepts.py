"""Counts of answers that clients say were taken."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AcceptCounts"]


@dataclass(slots=True)
class AcceptCounts:
    """Since the start: answers that were taken, of those the ones that were taken to their end, and characters taken.

    An answer of which more and more is taken, word by word, is one.
    """

    answers: int = 0
    whole: int = 0
    characters: int = 0

    def count(self, length: int, taken_before: int, taken_now: int) -> None:
        """``taken_now`` characters of an answer of ``length`` are in the text; ``taken_before`` were counted before."""
        if taken_now <= taken_before:
            return
        self.answers += not taken_before
        self.whole += taken_now == length
        self.characters += taken_now - taken_before
