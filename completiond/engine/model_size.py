"""What a model takes of memory, reckoned from its shape before any of its weights is read."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from completiond.engine.attention import KEY_BLOCK
from completiond.engine.generate import PREFILL_CHUNK_TOKENS
from completiond.engine.shape import DecoderShape

__all__ = ["ModelSize"]

ELEMENT_BYTES = {"int8": 1, "bfloat16": 2, "float32": 4}
TOKENIZER_BYTES_PER_TOKEN = 600
"""Measured: 85 MB for a vocabulary of 151,936."""
LOGITS_ROWS = 32
"""As many tokens are checked in a pass, unless the settings say otherwise; their logits are there twice for a while."""
RUNTIME_BYTES = 32_000_000
"""What torch and the libraries around it take when they are first used. Measured: 20 MB."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """In bytes. ``weights``: as the engine keeps them on ``device``, with the embedding in its mapped file.
    ``preparing``: at most at any time while they are converted, in main memory; 0 if that was done before. ``work``:
    the tokenizer, and what a pass needs besides. ``per_number``: of a number in a hidden state or a key.

    ``cache_per_token`` is 0 for a model that runs through transformers, whose cache grows by itself.
    """

    device: torch.device
    dtype_name: str
    weights: int
    preparing: int
    work: int
    cache_per_token: int
    per_number: int
    hidden_size: int
    max_positions: int

    def cache(self, context_tokens: int) -> int:
        """Keys and values of so many tokens; see Decoder.new_cache."""
        return self.cache_per_token * -(-context_tokens // KEY_BLOCK) * KEY_BLOCK

    @classmethod
    def of_decoder(
        cls, shape: DecoderShape, dtype_name: str, device: torch.device, preparing_per_weight: int = 0
    ) -> ModelSize:
        """For the fast decoder; weights.py says what its weights are. ``preparing_per_weight``: bytes for each weight
        of the largest product while that is converted; 0 when the weights are prepared.
        """
        is_int8 = dtype_name == "int8"
        per_number = 4 if is_int8 else ELEMENT_BYTES[dtype_name]
        per_channel = 4 + 8 if is_int8 else 0  # a scale and a zero point
        hidden, middle, qkv = shape.hidden_size, shape.intermediate_size, shape.q_width + 2 * shape.kv_width
        products = [(qkv, hidden), (hidden, shape.q_width), (2 * middle, hidden), (hidden, middle)] * shape.num_layers
        if is_int8 or not shape.tied_embeddings:
            products.append((shape.vocab_size, hidden))
        vectors = shape.num_layers * (2 * hidden + qkv * shape.qkv_bias + 2 * shape.head_dim * shape.qk_norm) + hidden
        embedding = shape.vocab_size * hidden
        weights = sum(rows * (columns * ELEMENT_BYTES[dtype_name] + per_channel) for rows, columns in products)
        weights += vectors * per_number + embedding * (2 if is_int8 else per_number)
        largest = max(embedding, *(rows * columns for rows, columns in products))
        a_pass = PREFILL_CHUNK_TOKENS * (3 * middle + 4 * hidden + 2 * qkv) * per_number
        a_pass += LOGITS_ROWS * shape.vocab_size * 2 * 4
        return cls(
            device, dtype_name, weights,
            preparing=RUNTIME_BYTES + weights + preparing_per_weight * largest if preparing_per_weight else 0,
            work=RUNTIME_BYTES + a_pass + shape.vocab_size * TOKENIZER_BYTES_PER_TOKEN,
            cache_per_token=2 * shape.num_layers * shape.kv_width * per_number,
            per_number=per_number, hidden_size=hidden, max_positions=shape.max_positions,
        )  # fmt: skip

    @classmethod
    def of_other(cls, num_weights: int, dtype_name: str, device: torch.device) -> ModelSize:
        """For a model that runs through transformers, of which only the number of weights is known."""
        weights = num_weights * ELEMENT_BYTES[dtype_name]
        return cls(
            device, dtype_name, weights, preparing=RUNTIME_BYTES + weights, work=RUNTIME_BYTES, cache_per_token=0,
            per_number=ELEMENT_BYTES[dtype_name], hidden_size=0, max_positions=1 << 31,
        )  # fmt: skip
