"""Accept drafted tokens that are exactly what the target would have produced."""

from __future__ import annotations

from torch import Tensor

from completiond.engine.sampling import Sampler
from completiond.spec.drafter import Draft

__all__ = ["verify"]


def verify(logits: Tensor, draft: Draft, sampler: Sampler, position: int) -> tuple[list[int], list[int]]:
    """Sample-and-match: draw the target's own token at each place and go on while the draft has a guess that is it.

    ``logits`` float32 [1 + tokens of the draft, vocab_size]: row 0 follows what is known, row i + 1 guess i.
    ``position`` is the place of the first new token in the sequence. Returns the tokens, one more than were accepted
    and never fewer than one (the last is the target's correction, or its bonus token), and the accepted guesses.
    Lossless for any deterministic draft at any temperature, because each token is drawn from the target with the random
    number of its position: the probability of a guess to be accepted is the target's own, whatever else was guessed.
    """
    tokens: list[int] = []
    path: list[int] = []
    at: int | None = -1
    while at is not None:
        tokens.append(token_id := sampler.sample(logits[at + 1], position + len(path)))
        if (at := draft.child(at, token_id)) is not None:
            path.append(at)
    return tokens, path
