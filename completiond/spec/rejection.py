"""Exact rejection sampling, for drafts that were themselves sampled: what is accepted or drawn follows the target.

Chains as in Leviathan et al., "Fast inference from transformers via speculative decoding", arXiv 2211.17192, and
siblings drawn without replacement as in Jeon et al., "Recursive speculative decoding", arXiv 2402.14160. A draft that
is not random (the likeliest tokens, a copy of a text) is not for these rules, whatever probabilities it comes with:
spec/verify.py takes it.

Distributions are [vocab_size] and sum to one, but for rounding; whatever they come as, they are reckoned with in
float64. ``uniforms`` are numbers in [0, 1) that nothing else was drawn with, the draft's tokens included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distribution", "accept_sampled_chain", "accept_sampled_children"]

Distribution = NDArray[np.float64]


def accept_sampled_chain(
    target_probabilities: Distribution,
    draft_probabilities: Distribution,
    draft_ids: Sequence[int],
    uniforms: NDArray[np.float64],
) -> list[int]:
    """The tokens of a pass: accepted guesses, then the target's correction, or its bonus token.

    ``target_probabilities`` [K + 1, vocab_size]: row i follows the first i of the K guesses; ``draft_probabilities``
    [K, vocab_size]: what each guess was drawn from; ``uniforms`` [K + 1, 2]: row i belongs to place i, the first number
    decides whether the guess is accepted and the second draws (the last row's first is not used). Raises ValueError
    when the shapes do not fit, and for a guess that was not drawn from its distribution.
    """
    target_probabilities = np.asarray(target_probabilities, np.float64)
    draft_probabilities = np.asarray(draft_probabilities, np.float64)
    num_guesses = len(draft_ids)
    if (
        target_probabilities.ndim != 2
        or draft_probabilities.shape != (num_guesses, target_probabilities.shape[1])
        or target_probabilities.shape[0] != num_guesses + 1
        or uniforms.shape != (num_guesses + 1, 2)
    ):
        raise ValueError(
            f"{num_guesses} guesses, target {target_probabilities.shape}, draft {draft_probabilities.shape}, "
            f"uniforms {uniforms.shape}: shapes do not fit"
        )
    tokens: list[int] = []
    for place, draft_id in enumerate(draft_ids):
        target, draft = target_probabilities[place], draft_probabilities[place]
        if not _accepts(target, draft, draft_id, uniforms[place, 0]):
            return [*tokens, _invert(_residual(target, draft), uniforms[place, 1])]
        tokens.append(draft_id)
    return [*tokens, _invert(target_probabilities[-1], uniforms[-1, 1])]


def accept_sampled_children(
    target: Distribution, draft: Distribution, children: Sequence[int], uniforms: Sequence[float] | NDArray[np.float64]
) -> tuple[int, int | None]:
    """The token at a place of a tree, and which of its ``children`` it is; None where the target drew it itself.

    ``children`` were drawn from ``draft`` one after the other without replacement. Each is accepted as in a chain; one
    that is refused leaves the target what the draft did not cover, and is taken out of the draft's distribution, from
    which the next was drawn. ``uniforms``: one number for each child, then one to draw with. Raises ValueError
    for another number of them, other shapes, and a child that could not be drawn (a second time, for example).
    """
    target, draft = np.asarray(target, np.float64), np.asarray(draft, np.float64)
    if target.ndim != 1 or target.shape != draft.shape or len(uniforms) != len(children) + 1:
        raise ValueError(
            f"{len(children)} children, target {target.shape}, draft {draft.shape}, {len(uniforms)} uniforms: "
            "shapes do not fit"
        )
    for index, child in enumerate(children):
        if _accepts(target, draft, child, uniforms[index]):
            return child, index
        target = _residual(target, draft)
        draft = draft.copy()
        draft[child] = 0.0
        total = draft.sum()
        if total > 0.0:  # else there is nothing left to draw, and a further child is an error
            draft /= total
    return _invert(target, uniforms[-1]), None


def _accepts(target: Distribution, draft: Distribution, token_id: int, number: float) -> bool:
    """With the chance min(1, target / draft) of the token."""
    chance = draft[token_id] if 0 <= token_id < len(draft) else 0.0
    if not chance > 0.0:
        raise ValueError(f"token {token_id} has no probability in the draft it is said to be drawn from")
    return bool(number * chance < target[token_id])


def _residual(target: Distribution, draft: Distribution) -> Distribution:
    """What of ``target`` a guess from ``draft`` does not cover, normalised."""
    left = np.maximum(target - draft, 0.0)
    total = left.sum()
    # Nothing is left only where both are the same: then a refusal is rounding, and the target itself is right.
    return left / total if total > 0.0 else target


def _invert(weights: Distribution, number: float) -> int:
    """Index of the first entry whose cumulative weight exceeds ``number`` times the total; never one of weight 0."""
    cumulative = weights.cumsum()
    index = int(cumulative.searchsorted(number * cumulative[-1], side="right"))
    return min(index, int(cumulative.searchsorted(cumulative[-1])))
