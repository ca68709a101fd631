"""The contract of a target model: what the decode loop needs of a network, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from completiond.cache.kv import SequenceCache

__all__ = ["NORMED", "CacheT", "Pass", "TargetModel"]

CacheT = TypeVar("CacheT", bound=SequenceCache)


NORMED = -1
"""As a feature layer: the last hidden state behind the final norm, which the vocabulary product reads."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Result of one forward pass. ``logits``: float32 [rows, vocab_size], for the last ``rows`` tokens of the input.

    ``features``: float32 [M, layers * hidden_size], the hidden states that were asked for, side by side; None when none
    were.
    """

    logits: Tensor
    features: Tensor | None = None


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
    trees: bool
    """Whether ``parents`` are taken."""

    def new_cache(self, capacity_tokens: int) -> CacheT:
        """An empty cache of this model's shape."""

    def forward(
        self,
        token_ids: Sequence[int],
        kv: CacheT,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        """Run M tokens behind the cache's valid ones and make them valid too.

        Returns logits for the last ``num_logits`` of them (0 <= num_logits <= M; 0 skips the vocabulary product), and
        features of all: for layer i of ``feature_layers`` the hidden state that enters block i (the number of blocks:
        that leaves the last), or NORMED. ``parents`` makes the last tokens a tree (spec/tree.py) below the others: a
        token sees its ancestors only, and of the tree the cache holds what ``kv.accept`` is told afterwards. Raises
        ValueError when the cache has no room for M more tokens, or when none are left that are not the tree's.
        """
