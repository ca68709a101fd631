"""What a head is trained for and measured by, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from completiond.train.unrolled import HeadNet, Inputs

__all__ = ["AcceptanceTally", "Batch", "unrolled_loss"]

STEP_DECAY = 0.8
"""A later guess counts less: it is only reached when the earlier ones were right (EAGLE-3, section 3)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """``teacher`` [B, T, draft_vocab]: logarithms of the target's probabilities within the draft vocabulary;
    ``inside`` bool [B, T]: which tokens of the text are in it.
    """

    inputs: Inputs
    teacher: Tensor
    inside: Tensor


def unrolled_loss(net: HeadNet, batch: Batch, num_steps: int) -> Tensor:
    """Cross-entropy with the target's distribution, over ``num_steps`` steps with falling weights.

    Places whose next token lies outside of the draft vocabulary teach nothing: what the target thinks there is mostly
    outside too.
    """
    places = batch.inputs.ids.shape[1] - num_steps
    loss = batch.teacher.new_zeros(())
    for unrolled in net.unroll(batch.inputs, num_steps):
        first = 1 + unrolled.step
        teacher = batch.teacher[:, first : first + places]
        # The token guessed at the last place of the last step lies behind the sample: its place is left out.
        inside = torch.nn.functional.pad(batch.inside, (0, 1))[:, first + 1 : first + 1 + places]
        counted = (inside & _read(batch.inputs, first, places)).float()
        cross_entropy = -(teacher.exp() * unrolled.logits.float().log_softmax(-1)).sum(-1)
        loss = loss + STEP_DECAY**unrolled.step * (cross_entropy * counted).sum() / counted.sum().clamp_min(1.0)
    return loss


def _read(inputs: Inputs, first: int, places: int) -> Tensor:
    """Whether each of ``places`` places from ``first`` lies before its sample's end, bool [B, places]."""
    return first + torch.arange(places) < inputs.ends[:, None]


class AcceptanceTally:
    """How often each step's likeliest guess is the target's choice, when the guesses before it were.

    Only places are counted where the text is what the target would have written, as when it writes itself.
    """

    def __init__(self, num_steps: int) -> None:
        self.tried = [0] * num_steps
        self.right = [0] * num_steps

    def add(self, net: HeadNet, inputs: Inputs, choices: Tensor, token_ids: Tensor) -> None:
        """Count a batch. ``choices`` int64 [B, T]: the target's likeliest next token of all; ``token_ids``: the
        target's ids of the draft vocabulary.
        """
        num_steps, ids = len(self.tried), inputs.ids
        places = ids.shape[1] - num_steps
        counted = torch.ones(ids.shape[0], places, dtype=torch.bool)
        for unrolled in net.unroll(inputs, num_steps):
            first = 1 + unrolled.step
            counted &= _read(inputs, first, places)
            counted &= ids[:, first : first + places] == choices[:, first - 1 : first - 1 + places]
            right = token_ids[unrolled.logits.argmax(-1)] == choices[:, first : first + places]
            self.tried[unrolled.step] += int(counted.sum())
            self.right[unrolled.step] += int((counted & right).sum())
            counted &= right

    @property
    def acceptances(self) -> list[float]:
        """By step; 0.0 where nothing was tried."""
        return [right / tried if tried else 0.0 for right, tried in zip(self.right, self.tried, strict=True)]
