"""A target that writes what the person wrote: no weights, exact, so that what is measured is the drafter alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from completiond.cache.kv import SequenceCache
from completiond.engine.target import Pass

__all__ = ["OracleTarget"]


class OracleTarget:
    """A TargetModel that continues ``prompt_ids`` with ``answer_ids``, whatever it is shown."""

    exact = True
    trees = False
    dtype_name = "oracle"
    device = torch.device("cpu")

    def __init__(self, prompt_ids: Sequence[int], answer_ids: Sequence[int], vocab_size: int) -> None:
        self._ids = [*prompt_ids, *answer_ids]
        self._prompt_tokens = len(prompt_ids)
        self.vocab_size = vocab_size
        self.max_positions = len(self._ids)

    def new_cache(self, capacity_tokens: int) -> SequenceCache:
        """See TargetModel.new_cache."""
        return SequenceCache(capacity_tokens)

    def forward(
        self,
        token_ids: Sequence[int],
        kv: SequenceCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        """See TargetModel.forward: row i is certain of the token at its place. Knows no features and no trees."""
        kv.extend(token_ids)
        first = kv.num_tokens - num_logits + 1
        # From numpy: a parallel fill by torch for each pass is slow where cores are shared.
        logits = np.zeros((num_logits, self.vocab_size), dtype=np.float32)
        for row in range(num_logits):
            logits[row, self._ids[min(first + row, len(self._ids) - 1)]] = 1.0
        return Pass(torch.from_numpy(logits))
