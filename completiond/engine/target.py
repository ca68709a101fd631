"""The contract of a target model: what the decode loop needs of a network, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from completiond.cache.kv import SequenceCache

__all__ = ["CacheT", "Pass", "TargetModel"]

CacheT = TypeVar("CacheT", bound=SequenceCache)


@dataclass(frozen=True, slots=True)
class Pass:
    """Result of one forward pass. ``logits``: float32 [rows, vocab_size], for the last ``rows`` tokens of the input."""

    logits: Tensor


class TargetModel(Protocol, Generic[CacheT]):
    """A decoder whose row i depends only on the tokens up to it and on the cache before this pass.

    ``exact`` promises more: a row's logits are bit-identical however many rows share the pass and however the cache
    came to be.
    """

    vocab_size: int
    max_positions: int
    device: torch.device
    dtype_name: str
    exact: bool

    def new_cache(self, capacity_tokens: int) -> CacheT:
        """An empty cache of this model's shape."""

    def forward(self, token_ids: Sequence[int], kv: CacheT, num_logits: int) -> Pass:
        """Run M tokens behind the cache's valid ones and make them valid too.

        Returns logits for the last ``num_logits`` of them (0 <= num_logits <= M; 0 skips the vocabulary product).
        Raises ValueError when the cache has no room for M more tokens, or when M is 0.
        """
