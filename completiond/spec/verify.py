"""Accept drafted tokens that are exactly what the target would have produced."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from completiond.engine.sampling import Sampler

__all__ = ["verify"]


def verify(logits: Tensor, draft_ids: Sequence[int], sampler: Sampler, position: int) -> list[int]:
    """Sample-and-match: draw the target's own token at each place and go on while the draft has the same one.

    ``logits`` float32 [len(draft_ids) + 1, vocab_size]: row i follows i drafted tokens. ``position`` is the place of
    the first new token in the sequence. Returns one token more than were accepted, never fewer than one: the last is
    the target's correction, or its bonus token when all were accepted. Lossless for any deterministic draft at any
    temperature, because each token is drawn from the target with the random number of its position.
    """
    tokens: list[int] = []
    for index in range(len(draft_ids) + 1):
        token_id = sampler.sample(logits[index], position + index)
        tokens.append(token_id)
        if index == len(draft_ids) or token_id != draft_ids[index]:
            break
    return tokens
