"""A sampler that may choose some tokens only, place by place: the others have no probability."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams

__all__ = ["ConstrainedSampler", "Constraint"]


class Constraint(Protocol):
    """What may stand at a position of the sequence, given what was chosen at those before it."""

    def allowed(self, position: int) -> Tensor | None:
        """Ids that may stand there, int64, ascending and at least one; None: any."""

    def chose(self, position: int, token_id: int) -> None:
        """``token_id`` stands there now. Choosing again at a position takes back all behind it."""


class ConstrainedSampler(Sampler):
    """``Sampler`` over the allowed tokens: their likeliest, or a draw from their distribution, renormalised.

    A draft is checked against these choices, so it is accepted if it is what plain decoding would have written under
    the same constraint: drafts change nothing here either.
    """

    def __init__(self, params: SamplingParams, constraint: Constraint) -> None:
        super().__init__(params)
        self._constraint = constraint

    def sample(self, logits: Tensor, position: int) -> int:
        """See Sampler.sample."""
        allowed = self._constraint.allowed(position)
        if allowed is None:
            token_id = super().sample(logits, position)
        else:
            allowed = allowed.to(logits.device)
            token_id = int(allowed[super().sample(logits[allowed], position)])
        self._constraint.chose(position, token_id)
        return token_id
