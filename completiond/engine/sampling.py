"""Choose tokens from logits, with random numbers that depend on (seed, position) only.

Because the number drawn for a position does not depend on how many tokens were drawn before it or in which pass, a
token sampled while verifying a draft is the token plain decoding would have sampled: speculation is lossless at any
temperature.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from completiond.engine.sampling_params import SamplingParams

__all__ = ["Sampler", "log_probabilities", "uniform"]

_MASK64 = (1 << 64) - 1


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1), the same for the same arguments: SplitMix64 (Steele et al., OOPSLA 2014) of both."""
    value = _mix(_mix(seed) + position)
    return (value >> 11) * 2.0**-53


def _mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK64
    return value ^ (value >> 31)


class Sampler:
    """Greedy at temperature 0; else temperature, then top-k, then top-p, then inverse transform sampling."""

    def __init__(self, params: SamplingParams) -> None:
        self.params = params

    def sample(self, logits: Tensor, position: int) -> int:
        """The token at ``position`` of the sequence, from its float32 ``logits`` [vocab_size].

        One row at a time, so that a row's token cannot depend on the rows it shares a pass with.
        """
        params = self.params
        if params.temperature == 0.0:
            return int(logits.argmax())
        # float64: a cumulative sum over 150,000 float32 probabilities drifts by more than the gap between tokens.
        probabilities = torch.softmax(logits.double() / params.temperature, -1)
        draw = uniform(params.seed, position)
        if params.top_k or params.top_p < 1.0:
            count = params.top_k or probabilities.numel()
            kept, token_ids = torch.topk(probabilities, min(count, probabilities.numel()))
            kept = kept / kept.sum()
            before = kept.cumsum(-1) - kept
            kept = kept[: max(1, int((before < params.top_p).sum()))]
            return int(token_ids[_invert(kept, draw)])
        return _invert(probabilities, draw)


def log_probabilities(logits: Tensor, rows: Sequence[int], token_ids: Sequence[int]) -> list[float]:
    """Natural logarithm of the probability that row ``rows[i]`` of float32 ``logits`` [rows, vocab_size] gives token
    ``token_ids[i]``: the model's own, whatever the temperature.
    """
    chosen = logits[list(rows)]
    scores = chosen.gather(1, torch.tensor(token_ids, device=logits.device)[:, None])[:, 0]
    values: list[float] = (scores - chosen.logsumexp(-1)).tolist()
    return values


def _invert(weights: Tensor, draw: float) -> int:
    """Index of the first entry whose cumulative weight exceeds ``draw`` times the total."""
    cumulative = weights.cumsum(-1)
    index = int(torch.searchsorted(cumulative, draw * float(cumulative[-1]), right=True))
    return min(index, weights.numel() - 1)
