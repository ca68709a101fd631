"""The contract of a target model: what the decode loop needs of a network, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from completiond.cache.kv import KVCache

__all__ = ["Pass", "TargetModel"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Result of one forward pass. ``logits``: float32 [rows, vocab_size], for the last ``rows`` tokens of the input."""

    logits: Tensor


class TargetModel(Protocol):
    """A decoder whose row i depends only on the tokens up to it and on the cache before ``start``."""

    vocab_size: int
    max_positions: int
    device: torch.device
    dtype_name: str

    def new_cache(self, capacity_tokens: int) -> KVCache:
        """An empty cache of this model's shape."""

    def forward(self, token_ids: list[int], kv: KVCache, num_logits: int) -> Pass:
        """Run M tokens behind the cache's valid ones and make them valid too.

        Returns logits for the last ``num_logits`` of them (1 <= num_logits <= M). Raises ValueError when the cache has no
        room for M more tokens.
        """
