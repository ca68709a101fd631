"""The reduced vocabulary of a head: the tokens that code is mostly made of.

A draft step's product with the vocabulary is its largest; and a guess outside of what is common is rarely right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["DraftVocab", "count_tokens"]


def count_tokens(runs: Iterable[Sequence[int]]) -> Counter[int]:
    """How often each token occurs."""
    counts: Counter[int] = Counter()
    for run in runs:
        counts.update(run)
    return counts


@dataclass(frozen=True, slots=True)
class DraftVocab:
    """``token_ids``: the target's ids, ascending, int64 [draft_vocab]. ``coverage``: their share of the counted."""

    token_ids: Tensor
    coverage: float

    @classmethod
    def most_frequent(cls, counts: Counter[int], size: int, always: Iterable[int], vocab_size: int) -> DraftVocab:
        """The ``size`` commonest tokens with ``always`` among them; ids fill up in order where fewer were counted."""
        chosen = set(always)
        for token_id, _ in counts.most_common():
            if len(chosen) >= size:
                break
            chosen.add(token_id)
        for token_id in range(vocab_size):
            if len(chosen) >= size:
                break
            chosen.add(token_id)
        return cls.of(sorted(chosen), counts)

    @classmethod
    def of(cls, token_ids: Sequence[int], counts: Counter[int]) -> DraftVocab:
        """Those tokens, ascending, and what share of the counted they are."""
        covered = sum(counts[token_id] for token_id in token_ids)
        return cls(torch.tensor(token_ids), covered / max(1, counts.total()))

    @property
    def d2t(self) -> Tensor:
        """Public form: int64 [draft_vocab], what to add to a draft id to get the target's."""
        return self.token_ids - torch.arange(self.token_ids.numel())

    def t2d(self, vocab_size: int) -> Tensor:
        """Public form: bool [vocab_size], which of the target's tokens are in it."""
        inside = torch.zeros(vocab_size, dtype=torch.bool)
        inside[self.token_ids] = True
        return inside

    def from_target(self, vocab_size: int) -> Tensor:
        """int64 [vocab_size]: the draft id of each of the target's ids, -1 for those outside."""
        ids = torch.full((vocab_size,), -1, dtype=torch.int64)
        ids[self.token_ids] = torch.arange(self.token_ids.numel())
        return ids
