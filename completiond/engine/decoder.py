"""The fast decoder: Llama, Mistral, Qwen2/2.5 and Qwen3 attention models, one sequence, static cache.

Token ids in, logits out; it knows no tokenizer and no text. The same code runs int8 on a CPU, float32 on a CPU and
bfloat16 on a GPU: the Kernels decide (linear.py), and on a CPU attention is computed in fixed shapes (attention.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding, silu

from completiond.cache.kv import KVCache, TreeRows
from completiond.engine.attention import KEY_BLOCK, AttentionPlan, DensePlan, TiledPlan
from completiond.engine.batch import BatchKV, BatchPlan
from completiond.engine.linear import Kernels, Weight
from completiond.engine.shape import DecoderShape
from completiond.engine.target import NORMED, Pass
from completiond.engine.tree_attention import DenseTreePlan, TiledTreePlan
from completiond.spec.tree import depths_of

__all__ = ["Decoder", "DecoderWeights", "LayerWeights", "rotary_table", "rotate"]


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer. q, k and v are one product, gate and up another: inputs are quantised once and passes are shorter."""

    input_norm: Tensor
    qkv: Weight
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Weight
    mlp_norm: Tensor
    gate_up: Weight
    down: Weight


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """All weights. ``embedding`` [vocab_size, hidden_size] may be float16 in a memory-mapped file."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    norm: Tensor
    lm_head: Weight


class Decoder:
    """A TargetModel; exact for int8 on a CPU, where products are integer sums and attention has fixed shapes."""

    def __init__(
        self, shape: DecoderShape, weights: DecoderWeights, kernels: Kernels, device: torch.device, dtype_name: str
    ) -> None:
        self.shape = shape
        self.weights = weights
        self.kernels = kernels
        self.device = device
        self.dtype_name = dtype_name
        self.vocab_size = shape.vocab_size
        self.max_positions = shape.max_positions
        self.trees = True
        self.exact = device.type == "cpu" and dtype_name == "int8"
        self._rotary = torch.empty(2, 0, 1, shape.head_dim)

    def new_cache(self, capacity_tokens: int) -> KVCache:
        """See TargetModel.new_cache."""
        shape = self.shape
        return KVCache(
            shape.num_layers, shape.num_kv_heads, shape.head_dim, capacity_tokens, self.kernels.dtype, self.device,
            row_multiple=KEY_BLOCK, rope_theta=shape.rope_theta,
        )  # fmt: skip

    @torch.inference_mode()
    def forward(
        self,
        token_ids: Sequence[int],
        kv: KVCache,
        num_logits: int,
        feature_layers: Sequence[int] = (),
        parents: Sequence[int] = (),
    ) -> Pass:
        """See TargetModel.forward."""
        start, num_tokens = kv.num_tokens, len(token_ids)
        num_chain = num_tokens - len(parents)
        if not 0 < num_chain <= num_tokens <= kv.capacity_tokens - start:
            raise ValueError(f"{num_tokens} tokens cannot go behind {start} of {kv.capacity_tokens}")
        plan = self._tree_plan(start, num_chain, parents) if parents else self._plan(start, num_tokens)
        kv.tree = TreeRows(num_chain) if parents else None
        cos, sin = self._rotary_rows(start, num_tokens, kv.capacity_tokens, parents)
        ids = torch.tensor(list(token_ids), device=self.device)
        x = embedding(ids, self.weights.embedding).to(self.kernels.dtype)

        x, features = self._layers(x, cos, sin, kv, plan, feature_layers)
        kv.extend(token_ids[:num_chain])
        return Pass(self._logits(x[num_tokens - num_logits :]), features)

    @torch.inference_mode()
    def forward_each(self, token_ids: Sequence[int], kv: BatchKV, feature_layers: Sequence[int] = ()) -> Pass:
        """Run one token behind each of the cache's sequences; ``logits`` and features have a row for each.

        Batches are for training: the rows are those of ``forward`` to rounding, but not to the bit. Raises ValueError
        when the sequences have no room for another token, or are not as many as ``token_ids``.
        """
        place = kv.num_tokens
        if place >= kv.capacity_tokens or len(token_ids) != kv.num_sequences:
            raise ValueError(f"{len(token_ids)} tokens cannot go behind {place} of {kv.capacity_tokens}")
        cos, sin = self._rotary_rows(place, 1, kv.capacity_tokens, ())
        ids = torch.tensor(list(token_ids), device=self.device)
        x = embedding(ids, self.weights.embedding).to(self.kernels.dtype)
        x, features = self._layers(x, cos, sin, kv, BatchPlan(place), feature_layers)
        kv.num_tokens += 1
        return Pass(self._logits(x), features)

    def _layers(
        self, x: Tensor, cos: Tensor, sin: Tensor, kv: KVCache | BatchKV, plan: AttentionPlan, taken_at: Sequence[int]
    ) -> tuple[Tensor, Tensor | None]:
        taken: dict[int, Tensor] = {}
        for index, layer in enumerate(self.weights.layers):
            if index in taken_at:
                taken[index] = x.float().clone()  # the residual sums are made in place
            x = self._attention(x, layer, cos, sin, kv, index, plan)
            x = self._mlp(x, layer)
        taken[len(self.weights.layers)] = x
        return x, self._features(taken, taken_at) if taken_at else None

    def _logits(self, x: Tensor) -> Tensor:
        if x.shape[0] == 0:
            return x.new_empty(0, self.vocab_size)
        rows = self.kernels.normed_rows(x, self.weights.norm, self.shape.rms_eps)
        return self.kernels.linear(rows, self.weights.lm_head).float()

    def _features(self, taken: dict[int, Tensor], feature_layers: Sequence[int]) -> Tensor:
        """The hidden states of ``feature_layers`` side by side, float32 [M, layers * hidden_size]."""
        if NORMED in feature_layers:
            x = taken[len(self.weights.layers)].float()
            scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.shape.rms_eps)
            taken[NORMED] = x * scale * self.weights.norm.float()
        return torch.cat([taken[index].float() for index in feature_layers], -1)

    def _attention(
        self,
        x: Tensor,
        layer: LayerWeights,
        cos: Tensor,
        sin: Tensor,
        kv: KVCache | BatchKV,
        index: int,
        plan: AttentionPlan,
    ) -> Tensor:
        shape, kernels = self.shape, self.kernels
        num_tokens = x.shape[0]
        qkv = kernels.linear(kernels.normed_rows(x, layer.input_norm, shape.rms_eps), layer.qkv)
        qkv = qkv.view(num_tokens, shape.num_heads + 2 * shape.num_kv_heads, shape.head_dim)
        qk, v = qkv[:, : shape.num_heads + shape.num_kv_heads], qkv[:, shape.num_heads + shape.num_kv_heads :]
        if layer.q_norm is not None and layer.k_norm is not None:
            qk = self._head_norm(qk, layer.q_norm, layer.k_norm)
        qk = rotate(qk, cos, sin)
        k = qk[:, shape.num_heads :]
        output = plan.attend(qk[:, : shape.num_heads], k, v, kv.keys[index], kv.values[index])
        if isinstance(kv, KVCache) and kv.tree is not None:
            kv.tree.add(k, v)
        return kernels.linear_add(kernels.rows(output), layer.out, x)

    def _mlp(self, x: Tensor, layer: LayerWeights) -> Tensor:
        kernels = self.kernels
        gate_up = kernels.linear(kernels.normed_rows(x, layer.mlp_norm, self.shape.rms_eps), layer.gate_up)
        width = self.shape.intermediate_size
        hidden = silu(gate_up[:, :width]).mul_(gate_up[:, width:])
        return kernels.linear_add(kernels.rows(hidden), layer.down, x)

    def _head_norm(self, qk: Tensor, q_norm: Tensor, k_norm: Tensor) -> Tensor:
        """Qwen3 normalises each head's query and key before the rotation."""
        wide = qk.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.shape.rms_eps)
        heads = self.shape.num_heads
        weight = torch.cat((q_norm.expand(heads, -1), k_norm.expand(self.shape.num_kv_heads, -1)))
        return wide.to(qk.dtype) * weight

    def _plan(self, start: int, num_tokens: int) -> AttentionPlan:
        shape = self.shape
        if self.exact:
            return TiledPlan(start, num_tokens, shape.num_kv_heads, shape.group_size, shape.head_dim)
        return DensePlan(start, num_tokens, self.device)

    def _tree_plan(self, start: int, num_chain: int, parents: Sequence[int]) -> AttentionPlan:
        shape = self.shape
        if self.exact:
            return TiledTreePlan(start, num_chain, parents, shape.num_kv_heads, shape.group_size, shape.head_dim)
        return DenseTreePlan(start, num_chain, parents, self.device)

    def _rotary_rows(
        self, start: int, num_tokens: int, capacity_tokens: int, parents: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines [M, 1, head_dim] of the pass's positions, from a table made once per capacity."""
        if self._rotary.shape[1] < capacity_tokens:
            table = rotary_table(self.shape.head_dim, self.shape.rope_theta, capacity_tokens)
            self._rotary = table.to(self.device, self.kernels.dtype)
        rows = self._rotary[:, start : start + num_tokens - len(parents)]
        if parents:
            places = start + num_tokens - len(parents) + torch.tensor(depths_of(parents), device=self.device)
            rows = torch.cat((rows, self._rotary[:, places]), 1)
        return rows[0], rows[1]


def rotary_table(head_dim: int, rope_theta: float, num_positions: int) -> Tensor:
    """Rotary angles (RoFormer, arXiv 2104.09864; half-split as in Llama checkpoints): [2, positions, 1, head_dim]."""
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    angles = torch.arange(num_positions, dtype=torch.float32)[:, None] * (1.0 / rope_theta**exponents)
    cos, sin = angles.cos(), angles.sin()
    # The sign of the rotation sits in the table, so that rotating is a swap of halves, not a negation.
    return torch.stack((torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)))[:, :, None]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the two halves of each head of ``x`` [..., M, heads, head_dim] by the rows' angles [M, 1, head_dim]."""
    swapped = torch.roll(x, x.shape[-1] // 2, dims=-1)
    return (x * cos).add_(swapped.mul_(sin))
