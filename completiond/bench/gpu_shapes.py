"""Decoders with random weights in the shapes of real models: speed and exactness on a GPU need no download."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from completiond.engine.decoder import Decoder, DecoderWeights, LayerWeights
from completiond.engine.linear import FloatKernels, Rows, Weight
from completiond.engine.shape import DecoderShape

__all__ = ["SHAPES", "free_bytes", "make_decoder", "make_reference", "num_weights", "weight_bytes_per_pass"]


def _qwen(
    num_layers: int, hidden_size: int, intermediate_size: int, num_heads: int, num_kv_heads: int, vocab_size: int,
    tied_embeddings: bool,
) -> DecoderShape:  # fmt: skip
    return DecoderShape(
        model_type="qwen2", num_layers=num_layers, hidden_size=hidden_size, intermediate_size=intermediate_size,
        num_heads=num_heads, num_kv_heads=num_kv_heads, head_dim=hidden_size // num_heads, vocab_size=vocab_size,
        max_positions=32768, rms_eps=1e-6, rope_theta=1e6, qkv_bias=True, qk_norm=False,
        tied_embeddings=tied_embeddings,
    )  # fmt: skip


SHAPES: dict[str, DecoderShape] = {
    "tiny": _qwen(2, 64, 96, 4, 2, 320, True),
    "0.5b": _qwen(24, 896, 4864, 14, 2, 151936, True),
    "1.5b": _qwen(28, 1536, 8960, 12, 2, 151936, True),
    "7b": _qwen(28, 3584, 18944, 28, 4, 152064, False),
}
"""``config.json`` of Qwen2.5-Coder 0.5B, 1.5B and 7B; "tiny" is for trying the script on a CPU."""


def num_weights(shape: DecoderShape) -> int:
    """Numbers in all weight matrices; norms and biases are left out."""
    per_layer = shape.hidden_size * (2 * shape.q_width + 2 * shape.kv_width + 3 * shape.intermediate_size)
    return shape.num_layers * per_layer + (1 if shape.tied_embeddings else 2) * shape.vocab_size * shape.hidden_size


def make_decoder(shape: DecoderShape, device: torch.device, dtype_name: str, seed: int = 0) -> Decoder:
    """A decoder of ``shape`` with random weights, made on ``device`` in ``dtype_name`` (float32 or bfloat16).

    Products keep the scale of their input, and the last norm has random signs: without those, tied embeddings would
    make every token its own most likely successor, and greedy text a single token again and again.
    """
    dtype: torch.dtype = getattr(torch, dtype_name)
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*size: int, scale: float) -> Tensor:
        return torch.empty(size, dtype=dtype, device=device).normal_(0.0, scale, generator=generator)

    def product(rows: int, columns: int, bias: bool = False) -> Weight:
        return Weight(normal(rows, columns, scale=columns**-0.5), bias=normal(rows, scale=0.1) if bias else None)

    def norm() -> Tensor:
        return normal(shape.hidden_size, scale=0.1).add_(1.0)

    hidden = shape.hidden_size
    layers = tuple(
        LayerWeights(
            input_norm=norm(), qkv=product(shape.q_width + 2 * shape.kv_width, hidden, bias=True), q_norm=None,
            k_norm=None, out=product(hidden, shape.q_width), mlp_norm=norm(),
            gate_up=product(2 * shape.intermediate_size, hidden), down=product(hidden, shape.intermediate_size),
        )
        for _ in range(shape.num_layers)
    )  # fmt: skip
    embedding = normal(shape.vocab_size, hidden, scale=hidden**-0.5)
    head = Weight(embedding) if shape.tied_embeddings else product(shape.vocab_size, hidden)
    last_norm = norm() * normal(hidden, scale=1.0).sign()
    weights = DecoderWeights(embedding, layers, last_norm, head)
    return Decoder(shape, weights, FloatKernels(dtype), device, dtype_name)


class _WideKernels(FloatKernels):
    """Float32 arithmetic on weights of any float type, each widened when it is used and not kept."""

    def __init__(self) -> None:
        super().__init__(torch.float32)

    def linear(self, rows: Rows, weight: Weight) -> Tensor:
        """See Kernels.linear."""
        return super().linear(rows, _widened(weight))

    def linear_add(self, rows: Rows, weight: Weight, residual: Tensor) -> Tensor:
        """See Kernels.linear_add."""
        return super().linear_add(rows, _widened(weight), residual)


def _widened(weight: Weight) -> Weight:
    return Weight(weight.data.float(), bias=None if weight.bias is None else weight.bias.float())


def make_reference(decoder: Decoder) -> Decoder:
    """The same weights in float32 arithmetic: what bfloat16 passes are compared with. Slow, and needs the memory of one
    float32 matrix besides.
    """
    return Decoder(decoder.shape, decoder.weights, _WideKernels(), decoder.device, "float32")


def weight_bytes_per_pass(decoder: Decoder) -> int:
    """Bytes of weights that every pass reads, however few its tokens: all but the embedding's other rows."""
    weights = decoder.weights
    products = [product for layer in weights.layers for product in (layer.qkv, layer.out, layer.gate_up, layer.down)]
    tensors = [weights.norm, *(norm for layer in weights.layers for norm in (layer.input_norm, layer.mlp_norm))]
    for product in (*products, weights.lm_head):
        tensors += [product.data] if product.bias is None else [product.data, product.bias]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def free_bytes(device: torch.device) -> int:
    """Memory that is free on ``device``; of a CPU, what the system says is unused."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
