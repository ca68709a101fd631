"""The numbers that describe a decoder-only attention model, read from a Hugging Face ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from completiond.errors import ModelUnsupportedError

__all__ = ["FAST_ARCHITECTURES", "DecoderShape"]

FAST_ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")
"""``model_type`` values whose attention and MLP are exactly what decoder.py computes."""


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """Sizes and switches of a Llama-family decoder. All counts are per model, all widths in elements."""

    model_type: str
    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_positions: int
    rms_eps: float
    rope_theta: float
    qkv_bias: bool
    qk_norm: bool
    tied_embeddings: bool

    @property
    def group_size(self) -> int:
        """Query heads that share one key/value head."""
        return self.num_heads // self.num_kv_heads

    @property
    def q_width(self) -> int:
        """Width of all queries of one token."""
        return self.num_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all keys (or values) of one token."""
        return self.num_kv_heads * self.head_dim

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the prepared weights' metadata."""
        return asdict(self)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> DecoderShape:
        """Read a ``config.json``.

        Raises ModelUnsupportedError when the model is of another family, or uses something the fast decoder does not
        compute (scaled rotary positions, an active sliding window, attention output biases, other activations): such a
        model runs through transformers instead.
        """
        model_type = str(config.get("model_type", ""))
        rope = dict(config.get("rope_scaling") or config.get("rope_parameters") or {})
        rope_type = rope.get("rope_type", rope.get("type", "default"))
        reasons = [
            (model_type not in FAST_ARCHITECTURES, f"the model type is {model_type!r}"),
            (rope_type != "default", f"rotary positions are scaled ({rope_type})"),
            (bool(config.get("use_sliding_window")) or _slides(config), "it uses a sliding attention window"),
            (model_type == "llama" and bool(config.get("attention_bias")), "its attention has output biases"),
            (bool(config.get("mlp_bias")), "its MLP has biases"),
            (config.get("hidden_act", "silu") != "silu", f"the activation is {config.get('hidden_act')}"),
        ]
        if why := [reason for holds, reason in reasons if holds]:
            raise ModelUnsupportedError(f"The fast decoder cannot run this model: {'; '.join(why)}.")
        heads = int(config["num_attention_heads"])
        hidden = int(config["hidden_size"])
        return cls(
            model_type=model_type,
            num_layers=int(config["num_hidden_layers"]),
            hidden_size=hidden,
            intermediate_size=int(config["intermediate_size"]),
            num_heads=heads,
            num_kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden // heads),
            vocab_size=int(config["vocab_size"]),
            max_positions=int(config.get("max_position_embeddings", 2048)),
            rms_eps=float(config.get("rms_norm_eps", 1e-6)),
            rope_theta=float(config.get("rope_theta") or rope.get("rope_theta") or 10000.0),
            qkv_bias=model_type == "qwen2",
            qk_norm=model_type == "qwen3",
            tied_embeddings=bool(config.get("tie_word_embeddings", False)),
        )


def _slides(config: Mapping[str, Any]) -> bool:
    """Mistral-style windows are on whenever the key is set, Qwen-style ones only with ``use_sliding_window``."""
    return config.get("model_type") == "mistral" and config.get("sliding_window") is not None
