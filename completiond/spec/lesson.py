"""The plainest n-gram dictionary, as a reference: one token -> the run of N tokens that first followed it.

It is what prompt-lookup drafters grew from. Each key is a single token, so that a draft follows almost every known
token, right or wrong; ``ngram.py`` asks for a longer match and takes the newest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from completiond.spec.drafter import NO_DRAFT, Draft, TextDrafter, Verified

__all__ = ["LessonDrafter"]

RUN_TOKENS = 4
"""N, the tokens stored behind each key."""

ACCEPTANCE_GUESS = 0.35
"""The dictionary knows no chances; one agreeing token is weak evidence."""


class LessonDrafter(TextDrafter):
    """A Drafter with one dictionary, filled in reading order.

    Only full runs are stored: a token with fewer than ``run_tokens`` behind it, at the end of its text, is no key yet,
    and becomes one when the answer brings the missing tokens. The first run of a key stays. Texts are read one after
    another (before the cursor, the others, then the answer) and no run crosses from one into the next, except that the
    answer continues the text before the cursor.
    """

    source = "lesson"

    def __init__(self, run_tokens: int = RUN_TOKENS) -> None:
        if run_tokens < 1:
            raise ValueError(f"runs of {run_tokens} tokens")
        self._run_tokens = run_tokens
        self._ids: list[int] = []
        self._runs: dict[int, tuple[int, ...]] = {}

    @property
    def runs(self) -> Mapping[int, tuple[int, ...]]:
        """The dictionary, to look at."""
        return MappingProxyType(self._runs)

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset."""
        self._ids = list(context_ids)
        self._runs = {}
        for ids in (self._ids, *other_ids):
            for end in range(self._run_tokens + 1, len(ids) + 1):
                self._store(ids[end - self._run_tokens - 1 : end])

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: the run of the newest token."""
        run = self._runs.get(self._ids[-1], ())[: max(0, budget)] if self._ids else ()
        return Draft(run, (ACCEPTANCE_GUESS,) * len(run), self.source) if run else NO_DRAFT

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe."""
        for token_id in token_ids:
            self._ids.append(token_id)
            if len(self._ids) > self._run_tokens:
                self._store(self._ids[-self._run_tokens - 1 :])

    def _store(self, ids: Sequence[int]) -> None:
        """Keep a key and its run, unless the key is known."""
        self._runs.setdefault(ids[0], tuple(ids[1:]))
