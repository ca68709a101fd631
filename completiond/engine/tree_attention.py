"""Attention for a tree of guesses: each sees the cache, the tokens before the tree, its ancestors and itself.

The exact form computes one path from the root to a leaf at a time: its keys are put where they would lie in the cache
if the path were the text, so that every row is computed exactly as in a chain, with the same bits. Rows that two paths
share are computed once. The products with weights, which take most of a pass, are made for the whole tree at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from completiond.engine.attention import AttentionPlan, TiledPlan
from completiond.spec.tree import ancestors_of, leaf_paths

__all__ = ["DenseTreePlan", "TiledTreePlan"]


class TiledTreePlan(AttentionPlan):
    """The exact one, for CPUs. The first ``num_chain`` rows of the pass are a chain, the others hang below it."""

    def __init__(
        self, start: int, num_chain: int, parents: Sequence[int], num_kv_heads: int, group_size: int, head_dim: int
    ) -> None:
        self.base = start + num_chain
        self.num_chain = num_chain
        self._chain = TiledPlan(start, num_chain, num_kv_heads, group_size, head_dim)
        self._paths: list[tuple[Tensor, Tensor, TiledPlan]] = []
        computed: set[int] = set()
        for path in leaf_paths(parents):
            shared = next((i for i, node in enumerate(path) if node not in computed), len(path))
            computed.update(path)
            plan = TiledPlan(self.base + shared, len(path) - shared, num_kv_heads, group_size, head_dim)
            rows = num_chain + torch.tensor(path)
            self._paths.append((rows[:shared], rows[shared:], plan))

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See AttentionPlan.attend. Of the tree, the cache holds the last path afterwards."""
        head = slice(0, self.num_chain)
        output = queries.new_empty(queries.shape[0], queries.shape[1] * queries.shape[2])
        output[head] = self._chain.attend(queries[head], new_keys[head], new_values[head], keys, values)
        for shared, rows, plan in self._paths:
            keys[:, self.base : plan.start] = new_keys[shared].transpose(0, 1)
            values[:, self.base : plan.start] = new_values[shared].transpose(0, 1)
            output[rows] = plan.attend(queries[rows], new_keys[rows], new_values[rows], keys, values)
        return output


class DenseTreePlan(AttentionPlan):
    """One call for the whole pass with a mask of ancestors: for GPUs, and for the float32 reference."""

    def __init__(self, start: int, num_chain: int, parents: Sequence[int], device: torch.device) -> None:
        self.start = start
        num_tokens = num_chain + len(parents)
        mask = torch.zeros(num_tokens, start + num_tokens, dtype=torch.bool)
        mask[:, : start + 1] = True
        mask[:num_chain, start : start + num_chain] = torch.ones(num_chain, num_chain, dtype=torch.bool).tril()
        mask[num_chain:, start : start + num_chain] = True
        for node in range(len(parents)):
            for seen in (*ancestors_of(node, parents), node):
                mask[num_chain + node, start + num_chain + seen] = True
        self.mask = mask.to(device)

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See AttentionPlan.attend. The tree's rows lie behind the chain's in the order of its nodes."""
        num_keys = self.mask.shape[1]
        keys[:, self.start : num_keys] = new_keys.transpose(0, 1)
        values[:, self.start : num_keys] = new_values.transpose(0, 1)
        output = scaled_dot_product_attention(
            queries.transpose(0, 1)[None],
            keys[None, :, :num_keys],
            values[None, :, :num_keys],
            attn_mask=self.mask,
            enable_gqa=True,
        )
        return output[0].transpose(0, 1).reshape(queries.shape[0], -1)
