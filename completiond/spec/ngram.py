"""N-gram drafter: copy what followed the longest earlier occurrence of the text's end.

Prompt-lookup decoding (Saxena 2023) with an index instead of a scan: every pair of neighbouring tokens points at the
places it ended, newest first, and a look-up extends the match backwards from each. Code repeats itself, so the copied
run is often what the model is about to write, and checking a run costs little more than writing one token.
"""

from __future__ import annotations

from collections.abc import Sequence

from completiond.spec.drafter import NO_DRAFT, Draft

__all__ = ["NGramDrafter", "longest_match_naive"]

MIN_MATCH = 2
"""Tokens that must agree before a copy is tried; also the length of the index's keys."""

MAX_MATCH = 64
"""Longer agreement says nothing more."""

MAX_PLACES = 32
"""Places looked at per key, newest first, so that a look-up stays far below a millisecond in repetitive text."""

KEEP_PROBABILITY = 0.2
"""A guess is drafted while the chance that it and all before it are accepted is at least this."""


class NGramDrafter:
    """A Drafter over the prompt's text and the answer so far."""

    source = "ngram"

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._others: list[list[int]] = []
        self._ends: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset. Costs one pass over the tokens."""
        self._ids = []
        self._others = [list(ids) for ids in other_ids]
        self._ends = {}
        for run, ids in enumerate(self._others, start=1):
            for end in range(MIN_MATCH, len(ids)):
                self._ends.setdefault((ids[end - 2], ids[end - 1]), []).append((run, end))
        self.observe(context_ids)

    def observe(self, token_ids: Sequence[int]) -> None:
        """See Drafter.observe. An n-gram is indexed once its next token is known, so no place points past its text."""
        for token_id in token_ids:
            end = len(self._ids)
            self._ids.append(token_id)
            if end >= MIN_MATCH:
                self._ends.setdefault((self._ids[end - 2], self._ids[end - 1]), []).append((0, end))

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose."""
        if budget <= 0 or len(self._ids) < MIN_MATCH:
            return NO_DRAFT
        best_length, best_place = 0, (0, 0)
        places = self._ends.get((self._ids[-2], self._ids[-1]), [])
        for run, end in reversed(places[-MAX_PLACES:]):
            if (length := self._match_length(self._run(run), end)) > best_length:
                best_length, best_place = length, (run, end)
        if best_length < MIN_MATCH:
            return NO_DRAFT
        probability = acceptance_guess(best_length)
        count = min(budget, draft_length(probability))
        run, end = best_place
        copied = tuple(self._run(run)[end : end + count])
        return Draft(copied, (probability,) * len(copied), self.source)

    def _run(self, run: int) -> list[int]:
        return self._others[run - 1] if run else self._ids

    def _match_length(self, ids: list[int], end: int) -> int:
        """How many tokens before ``ids[end]`` agree with the end of the text."""
        own = self._ids
        limit = min(end, len(own), MAX_MATCH)
        length = MIN_MATCH
        while length < limit and ids[end - 1 - length] == own[-1 - length]:
            length += 1
        return length


def acceptance_guess(match_length: int) -> float:
    """Chance that one copied token is right after ``match_length`` agreeing tokens; the policy will measure it."""
    return min(0.9, 0.25 + 0.1 * match_length)


def draft_length(probability: float) -> int:
    """How many tokens stay above KEEP_PROBABILITY when each is accepted with ``probability``."""
    length, chance = 0, probability
    while chance >= KEEP_PROBABILITY:
        length, chance = length + 1, chance * probability
    return length


def longest_match_naive(context_ids: Sequence[int], runs: Sequence[Sequence[int]]) -> int:
    """The oracle: length of the longest end of ``context_ids`` (MIN_MATCH to MAX_MATCH, else 0) that occurs in one of
    ``runs``, or earlier in the context, with a token behind it.
    """
    for length in range(min(MAX_MATCH, len(context_ids)), MIN_MATCH - 1, -1):
        tail = list(context_ids[-length:])
        for run in (context_ids, *runs):
            if any(list(run[i : i + length]) == tail for i in range(len(run) - length)):
                return length
    return 0
