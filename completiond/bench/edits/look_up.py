"""The plain prompt look-up that the drafter is measured against: the longest of 1 to 4 tokens, 10 tokens on."""

from __future__ import annotations

from collections.abc import Sequence

from completiond.spec.drafter import NO_DRAFT, Draft, TextDrafter, Verified

__all__ = ["LookUp"]

MAX_NGRAM = 4
DRAFT_TOKENS = 10


class LookUp(TextDrafter):
    """A Drafter: no index, no ranking, no policy. Of equal matches the newest; the text before the cursor wins."""

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset."""
        self._ids: list[int] = []
        self._places: dict[tuple[int, ...], int] = {}
        for ids in (*other_ids, context_ids):
            self._ids.append(-1)
            self._read(ids)

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose."""
        for length in range(MAX_NGRAM, 0, -1):
            place = self._places.get(tuple(self._ids[-length:]))
            if place is not None and (token_ids := self._from(place, min(budget, DRAFT_TOKENS))):
                return Draft(token_ids, (1.0,) * len(token_ids), "look-up", "", length)
        return NO_DRAFT

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe."""
        self._read(token_ids)

    def _from(self, place: int, count: int) -> tuple[int, ...]:
        ids = self._ids[place : place + count]
        return tuple(ids[: ids.index(-1)] if -1 in ids else ids)

    def _read(self, token_ids: Sequence[int]) -> None:
        """Note where each run of tokens goes on; the last one is noted when something follows it."""
        for token_id in token_ids:
            end = len(self._ids)
            for length in range(1, MAX_NGRAM + 1):
                self._places[tuple(self._ids[end - length : end])] = end
            self._ids.append(token_id)
