"""The EAGLE-3 head as a trainable network, with the training-time test of the paper (arXiv 2503.01840, section 3).

A draft step sees the head's own output in place of the target's features, so training does too: step 0 reads true
features, step j reads what step j - 1 gave for the position before. Keys of step 0 are shared by all later steps, and
each later step adds one key of its own column, which keeps the attention of every position what it will be when
drafting.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, silu

from completiond.engine.decoder import rotary_table, rotate
from completiond.spec.eagle_shape import EagleShape
from completiond.train.unrolled import Inputs, Unrolled

__all__ = ["EagleNet"]


class _Norm(nn.RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float())  # half precision would lose what a norm is for


class _Attention(nn.Module):
    def __init__(self, shape: EagleShape) -> None:
        super().__init__()
        width, head = 2 * shape.hidden_size, shape.head_dim
        self.q_proj = nn.Linear(width, shape.num_heads * head, bias=False)
        self.k_proj = nn.Linear(width, shape.num_kv_heads * head, bias=False)
        self.v_proj = nn.Linear(width, shape.num_kv_heads * head, bias=False)
        self.o_proj = nn.Linear(shape.num_heads * head, shape.hidden_size, bias=False)


class _Mlp(nn.Module):
    def __init__(self, shape: EagleShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)


class _Layer(nn.Module):
    def __init__(self, shape: EagleShape) -> None:
        super().__init__()
        self.self_attn = _Attention(shape)
        self.mlp = _Mlp(shape)
        self.hidden_norm = _Norm(shape.hidden_size, shape.rms_eps)
        self.input_layernorm = _Norm(shape.hidden_size, shape.rms_eps)
        self.post_attention_layernorm = _Norm(shape.hidden_size, shape.rms_eps)


class EagleNet(nn.Module):
    """Parameters are named as in the public checkpoints. The embedding is the target's and stays as it is."""

    def __init__(self, shape: EagleShape, embedding_weight: Tensor) -> None:
        """``embedding_weight``: the target's, [vocab_size, hidden_size], of any floating-point type."""
        super().__init__()
        self.shape = shape
        self.fc = nn.Linear(shape.feature_width, shape.hidden_size, bias=False)
        self.midlayer = _Layer(shape)
        self.norm = _Norm(shape.hidden_size, shape.rms_eps)
        self.lm_head = nn.Linear(shape.hidden_size, shape.draft_vocab_size, bias=False)
        self._embedding_weight = embedding_weight

    def unroll(self, inputs: Inputs, num_steps: int) -> Iterator[Unrolled]:
        """See HeadNet.unroll."""
        shape, layer, ids = self.shape, self.midlayer, inputs.ids
        batch, length = ids.shape
        places = length - num_steps
        table = rotary_table(shape.head_dim, shape.rope_theta, length)[:, None]
        hidden = self.fc(inputs.features[:, :places])
        causal = torch.ones(places, places, dtype=torch.bool).tril()
        own_keys: list[Tensor] = []
        own_values: list[Tensor] = []
        for step in range(num_steps):
            tokens = embedding(ids[:, 1 + step : 1 + step + places], self._embedding_weight).float()
            both = torch.cat((layer.input_layernorm(tokens), layer.hidden_norm(hidden)), -1)
            cos, sin = table[:, :, step : step + places]
            heads, kv_heads, dim = shape.num_heads, shape.num_kv_heads, shape.head_dim
            q = rotate(layer.self_attn.q_proj(both).view(batch, places, heads, dim), cos, sin)
            k = rotate(layer.self_attn.k_proj(both).view(batch, places, kv_heads, dim), cos, sin)
            v = layer.self_attn.v_proj(both).view(batch, places, kv_heads, dim)
            q = q.view(batch, places, kv_heads, heads // kv_heads, dim)
            own_keys.append(k)
            own_values.append(v)
            attended = _attend(q, own_keys, own_values, causal)
            hidden = hidden + layer.self_attn.o_proj(attended.reshape(batch, places, heads * dim))
            inner = layer.post_attention_layernorm(hidden)
            hidden = hidden + layer.mlp.down_proj(silu(layer.mlp.gate_proj(inner)) * layer.mlp.up_proj(inner))
            yield Unrolled(step, self.lm_head(self.norm(hidden)))


def _attend(q: Tensor, keys: list[Tensor], values: list[Tensor], causal: Tensor) -> Tensor:
    """``q`` [B, P, kv_heads, group, dim] over the first step's keys [B, P, kv_heads, dim] up to each place, and over
    the place's own keys of the later steps.
    """
    scale = q.shape[-1] ** -0.5
    scores = torch.einsum("bpkgd,bqkd->bkgpq", q, keys[0]) * scale
    scores = scores.masked_fill(~causal, float("-inf"))
    own = [torch.einsum("bpkgd,bpkd->bkgp", q, key)[..., None] * scale for key in keys[1:]]
    weights = torch.cat([scores, *own], -1).softmax(-1)
    places = causal.shape[0]
    output = torch.einsum("bkgpq,bqkd->bpkgd", weights[..., :places], values[0])
    for index, value in enumerate(values[1:]):
        output = output + torch.einsum("bkgp,bpkd->bpkgd", weights[..., places + index], value)
    return output
