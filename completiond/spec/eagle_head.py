"""The network of an EAGLE head: one decoder layer that guesses the token after next from the target's hidden states.

Entry p pairs the feature of position p with the embedding of token p + 1, which is known by then, stands at rotary
position p and guesses token p + 2. Behind the text, an entry's feature is what the layer gave for the entry before.

EAGLE-3 (arXiv 2503.01840): features are several hidden states, fused by one product; token and feature are normalised
and put side by side. EAGLE-1 and -2 (arXiv 2401.15077, 2406.16858): the feature is the state behind the target's final
norm, fused with the token by one product, and the target's own vocabulary product reads the layer's output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear, scaled_dot_product_attention, silu

from completiond.engine.decoder import rotary_table, rotate
from completiond.engine.linear import Kernels, Rows, Weight
from completiond.spec.eagle_shape import EagleShape
from completiond.spec.head_cache import HeadCache

__all__ = ["EagleHead", "EagleWeights"]


@dataclass(frozen=True, slots=True)
class EagleWeights:
    """``fc`` stays floating point: the target's raw states have outliers that one int8 scale a row does not survive.

    Norms that a version does not have are None. ``token_ids`` int64 [draft_vocab]: the target's id of each draft id, or
    None when they are the same. ``embedding`` [vocab_size, hidden_size] may be of another type.
    """

    embedding: Tensor
    fc: Tensor
    fc_bias: Tensor | None
    fc_norms: tuple[Tensor, ...]
    input_norm: Tensor | None
    hidden_norm: Tensor | None
    qkv: Weight
    out: Weight
    mlp_norm: Tensor
    gate_up: Weight
    down: Weight
    norm: Tensor | None
    lm_head: Weight
    token_ids: Tensor | None


class EagleHead:
    """Stateless; a drafter keeps the cache. All tensors are float32 or the kernels' type, on ``device``."""

    def __init__(self, shape: EagleShape, weights: EagleWeights, kernels: Kernels, device: torch.device) -> None:
        self.shape = shape
        self.weights = weights
        self.kernels = kernels
        self.device = device
        self._rotary = torch.empty(2, 0, 1, shape.head_dim)

    def new_cache(self, capacity_tokens: int) -> HeadCache:
        """An empty cache of this head's shape."""
        shape = self.shape
        return HeadCache(shape.num_kv_heads, shape.head_dim, capacity_tokens, self.kernels.dtype, self.device)

    @torch.inference_mode()
    def fuse(self, features: Tensor) -> Tensor:
        """What the layer reads of the target's ``features`` float32 [M, feature_width]: [M, hidden_size].

        EAGLE-1 fuses with the token, in ``step``: there the features pass through.
        """
        shape, weights = self.shape, self.weights
        if shape.version == 1:
            return features.to(self.kernels.dtype)
        if shape.norm_before_fc:
            features = self._norm(features, weights.fc_norms[0])
        elif shape.fc_norms:
            parts = features.chunk(len(shape.feature_layers), -1)
            features = torch.cat(
                [self._norm(part, weight) for part, weight in zip(parts, weights.fc_norms, strict=True)], -1
            )
        return linear(features.to(weights.fc.dtype), weights.fc, weights.fc_bias).to(self.kernels.dtype)

    @torch.inference_mode()
    def enter(
        self, token_ids: Sequence[int], states: Tensor, cache: HeadCache, row: int, positions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """M entries: tokens and their features, or the states before them, [M, hidden_size].

        Their keys and values, which depend on nothing else, go to ``row`` and behind. Returns the residual [M,
        hidden_size] and the queries [M, heads, head_dim].
        """
        shape, weights, kernels = self.shape, self.weights, self.kernels
        last_id = weights.embedding.shape[0] - 1  # a head's own may lack the newest of the target's tokens
        ids = torch.tensor([min(token_id, last_id) for token_id in token_ids], device=self.device)
        tokens = embedding(ids, weights.embedding).to(kernels.dtype)
        if shape.version == 3:
            assert weights.input_norm is not None, "EAGLE-3 has one"
            assert weights.hidden_norm is not None, "and the other"
            normed = self._norm(states, weights.hidden_norm)
            residual = normed if shape.norm_before_residual else states
            inputs = torch.cat((self._norm(tokens, weights.input_norm), normed), -1)
        else:
            both = torch.cat((tokens, states), -1)
            inputs = residual = linear(both.to(weights.fc.dtype), weights.fc, weights.fc_bias).to(kernels.dtype)
        qkv = kernels.linear(kernels.rows(inputs), weights.qkv)
        qkv = qkv.view(len(token_ids), shape.num_heads + 2 * shape.num_kv_heads, shape.head_dim)
        num_rotated = shape.num_heads + shape.num_kv_heads
        cos, sin = self._rotary_rows(positions, cache.capacity_tokens)
        qk = rotate(qkv[:, :num_rotated], cos, sin)
        cache.write(row, qk[:, shape.num_heads :], qkv[:, num_rotated:])
        return residual, qk[:, : shape.num_heads]

    @torch.inference_mode()
    def step(
        self, token_ids: Sequence[int], states: Tensor, cache: HeadCache, row: int, positions: Sequence[int],
        mask: Tensor | None, first_key: int,
    ) -> Tensor:  # fmt: skip
        """M entries as in ``enter``, which attend to rows from ``first_key`` on, where ``mask`` bool [M, keys] allows
        it (None: all). Returns what the next entries take for their feature, [M, hidden_size].
        """
        shape, weights, kernels = self.shape, self.weights, self.kernels
        residual, queries = self.enter(token_ids, states, cache, row, positions)
        end = row + len(token_ids)
        attended = scaled_dot_product_attention(
            queries.transpose(0, 1)[None],
            cache.keys[None, :, first_key:end],
            cache.values[None, :, first_key:end],
            attn_mask=mask,
            enable_gqa=True,
        )
        attended = attended[0].transpose(0, 1).reshape(len(token_ids), -1)
        hidden = residual + kernels.linear(kernels.rows(attended), weights.out)
        gate_up = kernels.linear(self._normed_rows(hidden, weights.mlp_norm), weights.gate_up)
        width = shape.intermediate_size
        inner = silu(gate_up[:, :width]) * gate_up[:, width:]
        hidden = hidden + kernels.linear(kernels.rows(inner), weights.down)
        return self._norm(hidden, weights.norm) if shape.norm_output and weights.norm is not None else hidden

    @torch.inference_mode()
    def logits(self, states: Tensor) -> Tensor:
        """Over the draft vocabulary, float32 [M, draft_vocab], from what ``step`` returned."""
        norm = self.weights.norm
        plain = norm is None or self.shape.norm_output
        rows = self.kernels.rows(states) if plain else self._normed_rows(states, norm)
        return self.kernels.linear(rows, self.weights.lm_head).float()

    def target_id(self, draft_id: int) -> int:
        """The target's id of a draft id."""
        return draft_id if self.weights.token_ids is None else int(self.weights.token_ids[draft_id])

    def _rotary_rows(self, positions: Sequence[int], capacity_tokens: int) -> tuple[Tensor, Tensor]:
        if self._rotary.shape[1] < capacity_tokens:
            table = rotary_table(self.shape.head_dim, self.shape.rope_theta, capacity_tokens)
            self._rotary = table.to(self.device, self.kernels.dtype)
        rows = self._rotary[:, torch.tensor(list(positions), device=self.device)]
        return rows[0], rows[1]

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.shape.rms_eps)).to(x.dtype) * weight

    def _normed_rows(self, x: Tensor, weight: Tensor | None) -> Rows:
        assert weight is not None, "a norm of this version"
        return self.kernels.normed_rows(x, weight, self.shape.rms_eps)
