"""Samples that the target goes on with by itself: what a head reads when it drafts is the target's text, not people's.

A target repeats itself more than people do and takes its own turns; EAGLE's authors train on its answers for that
reason (arXiv 2503.01840, section 4). A whole shard is written at once, a token of every sample per pass, which takes
some 1.6 times as long as reading one (docs/log.md).
"""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from completiond.engine.batch import BatchKV
from completiond.engine.decoder import Decoder
from completiond.train.samples import Sample

__all__ = ["OnPolicyWriter", "Written"]

PLAIN_STARTS = (0.5, 0.85)
"""Where the target takes over in plain text, as shares of the sample; a fill is written from where it begins."""
TEMPERATURES = (0.0, 0.0, 0.7)
"""Mostly as a daemon with its defaults writes; some variety teaches what greedy text alone would not."""


@dataclass(frozen=True, slots=True)
class Written:
    """``ids`` int32 [samples, T]; ``ends`` int32 [samples]: how many of them count, those before the token that ends an
    answer; ``features`` bfloat16 [samples, T, width].
    """

    ids: Tensor
    ends: Tensor
    features: Tensor


class OnPolicyWriter:
    """Lets ``target`` write. ``stop_ids``: tokens that end an answer."""

    def __init__(self, target: Decoder, stop_ids: Container[int]) -> None:
        self._target = target
        self._stop_ids = stop_ids

    def write(self, samples: Sequence[Sample], feature_layers: Sequence[int], seed: int) -> Written:
        """Keep the beginning of each of ``samples``, all of the same length, and write the rest; the same for the same
        ``seed``.
        """
        randomness = random.Random(seed)
        torch_randomness = torch.Generator().manual_seed(seed)
        length = len(samples[0].token_ids)
        starts = [one.middle or int(length * randomness.uniform(*PLAIN_STARTS)) for one in samples]
        temperatures = [randomness.choice(TEMPERATURES) for _ in samples]
        ids = torch.tensor([one.token_ids for one in samples], dtype=torch.int32)
        ends = torch.full((len(samples),), length, dtype=torch.int32)
        kv, features, logits = self._read(samples, min(starts), length, feature_layers)
        for place in range(kv.num_tokens, length):
            for row, start in enumerate(starts):
                if place < start:
                    continue
                if ends[row] < length:
                    ids[row, place] = ids[row, place - 1]
                    continue
                ids[row, place] = _choice(logits[row], temperatures[row], torch_randomness)
                if int(ids[row, place]) in self._stop_ids:
                    ends[row] = place
            result = self._target.forward_each(ids[:, place].tolist(), kv, feature_layers)
            assert result.features is not None, "features were asked for"
            features[:, place] = result.features.to("cpu", torch.bfloat16)
            logits = result.logits.cpu()
        return Written(ids, ends, features)

    def _read(
        self, samples: Sequence[Sample], num_tokens: int, capacity_tokens: int, feature_layers: Sequence[int]
    ) -> tuple[BatchKV, Tensor, Tensor]:
        """The first ``num_tokens`` of each: a cache, features with room for all, and logits of what follows."""
        own = self._target.new_cache(num_tokens)
        kv = BatchKV(own, len(samples), num_tokens, capacity_tokens)
        width = len(feature_layers) * self._target.shape.hidden_size
        features = torch.zeros(len(samples), capacity_tokens, width, dtype=torch.bfloat16)
        logits = torch.empty(len(samples), self._target.vocab_size)
        for row, sample in enumerate(samples):
            own.rollback(0)
            result = self._target.forward(sample.token_ids[:num_tokens], own, 1, feature_layers)
            assert result.features is not None, "features were asked for"
            features[row, :num_tokens] = result.features.to("cpu", torch.bfloat16)
            logits[row] = result.logits[0].cpu()
            kv.put(row, own)
        return kv, features, logits


def _choice(logits: Tensor, temperature: float, randomness: torch.Generator) -> int:
    if temperature == 0.0:
        return int(logits.argmax())
    return int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=randomness))
