"""What a trainable head reads and gives, whatever kind it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

__all__ = ["HeadNet", "Inputs", "Unrolled"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Of the same places of some samples: ``ids`` int64 [B, T]; ``features`` float32 [B, T, width], each channel
    divided by its usual size; ``last`` float32 [B, T, hidden_size], the state behind the target's final norm; ``ends``
    int64 [B], how many places of each sample count.
    """

    ids: Tensor
    features: Tensor
    last: Tensor
    ends: Tensor


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A step's logits over the draft vocabulary, float32 [B, P, draft_vocab]: row p guesses token p + 2 + ``step``."""

    step: int
    logits: Tensor


class HeadNet(Protocol):
    """A network whose step j guesses the token j + 2 places on."""

    lm_head: nn.Linear
    """[draft_vocab, hidden_size], the target's own rows; not trained."""

    def unroll(self, inputs: Inputs, num_steps: int) -> Iterator[Unrolled]:
        """``num_steps`` steps at the first P = T - ``num_steps`` places."""
