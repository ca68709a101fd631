"""The numbers that describe an EAGLE-3 head."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EagleShape"]


@dataclass(frozen=True, slots=True)
class EagleShape:
    """Sizes of a head; widths in elements. ``feature_layers``: which hidden states of the target it reads, in the
    convention of TargetModel.forward. ``max_positions``: the longest text it was trained on, in tokens.
    """

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    draft_vocab_size: int
    feature_width: int
    feature_layers: tuple[int, ...]
    max_positions: int
    rms_eps: float
    rope_theta: float
