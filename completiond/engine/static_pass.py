"""What a decode pass of a fixed shape is made of: attention up to a fixed number of keys, and fewer, larger kernels.

A CUDA graph repeats the same kernels on the same addresses, so nothing in a pass may depend on a number that the host
knows: where the pass starts is a tensor on the device, and keys behind it are masked, not cut off. How many tokens and
keys a pass computes is rounded up to a bucket, and each pair of buckets is a graph of its own (graphs.py).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from completiond.engine.attention import AttentionPlan
from completiond.engine.linear import FloatKernels, Rows, Weight

__all__ = ["SMALLEST_KEYS", "TOKEN_BUCKETS", "FusedKernels", "StaticPlan", "key_bucket", "token_bucket"]

TOKEN_BUCKETS = (1, 2, 4, 8, 16, 32)
"""Tokens of a pass; chosen so that at most half of a pass is padding."""

SMALLEST_KEYS = 512
"""The smallest bucket of keys; the others are its doubles. Chosen, not measured: fewer buckets are fewer captures, and
all keys of a bucket are read."""


def token_bucket(num_tokens: int) -> int | None:
    """The smallest of TOKEN_BUCKETS that holds ``num_tokens``; None when none does."""
    return next((bucket for bucket in TOKEN_BUCKETS if bucket >= num_tokens), None)


def key_bucket(num_keys: int, num_rows: int, smallest: int = SMALLEST_KEYS) -> int:
    """``smallest`` doubled until it holds ``num_keys``, and never more than the ``num_rows`` that a cache has.

    Raises ValueError when the cache has fewer rows than ``num_keys``.
    """
    if num_keys > num_rows:
        raise ValueError(f"{num_keys} keys of a cache with {num_rows} rows")
    bucket = smallest
    while bucket < num_keys:
        bucket *= 2
    return min(bucket, num_rows)


class StaticPlan(AttentionPlan):
    """Dense attention in which only tensor contents depend on where the pass starts.

    ``positions``: int64 [M] on the device, the rows of the pass in ascending order, all below ``num_keys``. A key at
    place p is seen by the rows at p and behind. Of keys behind a row, what is finite has no influence on it.
    """

    def __init__(self, positions: Tensor, num_keys: int) -> None:
        self.positions = positions
        self.num_keys = num_keys
        places = torch.arange(num_keys, device=positions.device)
        hidden = places > positions[:, None]
        mask = torch.zeros(hidden.shape, device=positions.device).masked_fill_(hidden, float("-inf"))
        self.mask = mask[None, :, None]  # [1, M, 1, num_keys]

    def attend(self, queries: Tensor, new_keys: Tensor, new_values: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See AttentionPlan.attend. Scores and probabilities are float32 until the values are multiplied.

        Written out rather than left to ``scaled_dot_product_attention``: with a mask and shared key heads that has, on
        a GPU, only its general form, which copies every key and value once per query head.
        """
        keys.index_copy_(1, self.positions, new_keys.transpose(0, 1))
        values.index_copy_(1, self.positions, new_values.transpose(0, 1))
        num_tokens, num_heads, head_dim = queries.shape
        kv_heads = keys.shape[0]
        # The query heads that share a key head are rows of one product: [kv_heads, M * group, head_dim].
        grouped = queries.view(num_tokens, kv_heads, -1, head_dim).transpose(0, 1).reshape(kv_heads, -1, head_dim)
        scores = _scores(grouped, keys[:, : self.num_keys]).view(kv_heads, num_tokens, -1, self.num_keys)
        scores = torch.add(self.mask, scores, alpha=head_dim**-0.5)
        shares = torch.softmax(scores, -1).to(values.dtype).view(kv_heads, -1, self.num_keys)
        output = torch.bmm(shares, values[:, : self.num_keys])
        output = output.view(kv_heads, num_tokens, -1, head_dim).transpose(0, 1)
        return output.reshape(num_tokens, num_heads * head_dim)


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Float32 products [kv_heads, rows, num_keys]; rounded to bfloat16, a large score would lose its second digit."""
    if queries.dtype is torch.float32:
        return torch.bmm(queries, keys.transpose(1, 2))
    if queries.is_cuda:
        return torch.bmm(queries, keys.transpose(1, 2), out_dtype=torch.float32)
    return torch.bmm(queries.float(), keys.float().transpose(1, 2))  # only a GPU has the mixed product


class FusedKernels(FloatKernels):
    """The floating-point arithmetic of linear.py in fewer kernels: a replay has a cost per kernel, and these do
    little work each. A norm rounds once, behind its weight, not twice.
    """

    def normed_rows(self, x: Tensor, weight: Tensor, eps: float) -> Rows:
        """See Kernels.normed_rows."""
        return Rows(functional.rms_norm(x, (x.shape[-1],), weight, eps))

    def linear_add(self, rows: Rows, weight: Weight, residual: Tensor) -> Tensor:
        """See Kernels.linear_add; the sum is made inside the product, before its one rounding."""
        return residual.addmm_(rows.values, weight.data.t())
