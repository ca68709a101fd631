"""Several sequences of the same length at once: how training lets the target write, never how completions are made."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from completiond.cache.kv import KVCache
from completiond.engine.attention import AttentionPlan

__all__ = ["BatchKV", "BatchPlan"]


class BatchKV:
    """``keys`` and ``values``: float [layers, sequences, kv_heads, capacity, head_dim], of which the first
    ``num_tokens`` rows of every sequence are valid.
    """

    def __init__(self, first: KVCache, num_sequences: int, num_tokens: int, capacity_tokens: int) -> None:
        """Of ``first``'s shape, to be filled by ``put`` with ``num_tokens`` rows a sequence before it is used."""
        layers, kv_heads, _, head_dim = first.keys.shape
        shape = (layers, num_sequences, kv_heads, capacity_tokens, head_dim)
        self.keys, self.values = first.keys.new_zeros(shape), first.values.new_zeros(shape)
        self.num_sequences = num_sequences
        self.num_tokens = num_tokens
        self.capacity_tokens = capacity_tokens

    def put(self, sequence: int, kv: KVCache) -> None:
        """Copy the first rows of ``kv``, which holds ``num_tokens`` or more."""
        rows = slice(0, self.num_tokens)
        self.keys[:, sequence, :, rows] = kv.keys[:, :, rows]
        self.values[:, sequence, :, rows] = kv.values[:, :, rows]


class BatchPlan(AttentionPlan):
    """One new token of every sequence, each in its own cache: ``keys`` and ``values`` have a dimension in front."""

    def __init__(self, place: int) -> None:
        self.place = place

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See AttentionPlan.attend; row i of the pass belongs to sequence i."""
        keys[:, :, self.place] = new_keys
        values[:, :, self.place] = new_values
        sequences, kv_heads = new_keys.shape[:2]
        seen = slice(0, self.place + 1)
        # The queries that share a key head are rows of one call: no key is copied for its group.
        grouped = queries.reshape(sequences, kv_heads, -1, queries.shape[-1])
        output = scaled_dot_product_attention(grouped, keys[:, :, seen], values[:, :, seen])
        return output.reshape(sequences, -1)
