"""The numbers that describe an EAGLE head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["EagleShape"]


@dataclass(frozen=True, slots=True)
class EagleShape:
    """Sizes and switches of a head; widths in elements.

    ``version`` 3 fuses several hidden states and normalises its inputs (arXiv 2503.01840); 1 stands for EAGLE-1 and -2,
    which share their checkpoints and read the state behind the target's final norm (arXiv 2401.15077).
    ``feature_layers`` says which hidden states, in the convention of TargetModel.forward. ``max_positions``: the
    longest text it was trained on, in tokens. ``norm_before_residual``: the residual is the normed feature.
    ``norm_output``: a step hands on its state behind the norm. ``norm_before_fc``: one norm over all features;
    ``fc_norms``: one for each.
    """

    version: Literal[1, 3]
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    draft_vocab_size: int
    target_hidden_size: int
    feature_layers: tuple[int, ...]
    max_positions: int
    rms_eps: float
    rope_theta: float
    norm_before_residual: bool = False
    norm_output: bool = False
    norm_before_fc: bool = False
    fc_norms: bool = False

    @property
    def feature_width(self) -> int:
        """Width of what it reads of the target for one token."""
        return self.target_hidden_size * len(self.feature_layers)

    @property
    def input_width(self) -> int:
        """Width of the layer's input: version 3 puts the token's embedding and the feature side by side."""
        return 2 * self.hidden_size if self.version == 3 else self.hidden_size
