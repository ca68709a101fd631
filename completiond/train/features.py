"""What the target saw in each sample, computed once and kept on disk: the input and the teacher of every head.

One shard is a safetensors file: ``ids`` int32 [samples, T], ``middles`` and ``ends`` int32 [samples], ``features``
bfloat16 [samples, T, layers * hidden_size] and ``last`` bfloat16 [samples, T, hidden_size], the hidden state behind the
final norm, from which a teacher's logits for any part of the vocabulary follow by one product. What lies behind
``ends`` does not count.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from completiond.engine.target import NORMED, TargetModel
from completiond.errors import UsageError
from completiond.train.files import write_whole
from completiond.train.on_policy import OnPolicyWriter, Written
from completiond.train.samples import Sample

__all__ = ["FeatureSettings", "FeatureStore", "Shard"]

SAMPLES_PER_SHARD = 16


@dataclass(frozen=True, slots=True)
class FeatureSettings:
    """What a store was made with; one made with other settings cannot be used again."""

    model: str
    feature_layers: tuple[int, ...]
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Shard:
    """See the module."""

    ids: Tensor
    middles: Tensor
    ends: Tensor
    features: Tensor
    last: Tensor


class FeatureStore:
    """A folder of shards that grows by whole shards, so that an interrupted run goes on where it stopped."""

    def __init__(self, folder: Path, settings: FeatureSettings) -> None:
        """Raises UsageError when ``folder`` holds features of another model or shape."""
        self.folder = folder
        self.settings = settings
        folder.mkdir(parents=True, exist_ok=True)
        about = folder / "settings.json"
        ours = json.loads(json.dumps(asdict(settings)))
        if not about.exists():
            write_whole(about, json.dumps(ours))
        elif json.loads(about.read_text()) != ours:
            raise UsageError(f"{folder} holds features of another run.", "Give another folder, or remove this one.")

    @property
    def num_shards(self) -> int:
        """Shards that are complete."""
        return len(list(self.folder.glob("*.safetensors")))

    @property
    def shard_bytes(self) -> int:
        """Size of each on disk, in bytes, when there is one."""
        return next((file.stat().st_size for file in self.folder.glob("*.safetensors")), 0)

    def load(self, index: int) -> Shard:
        """Shard ``index``, from 0."""
        return Shard(**load_file(self._file(index)))

    def grow(
        self, target: TargetModel[Any], samples: Iterator[Sample], writer: OnPolicyWriter | None = None
    ) -> Iterator[int]:
        """Compute shard after shard until ``samples`` end; yields the number of shards after each.

        With ``writer``, every second shard is one that it went on with.
        """
        number = self.num_shards
        kv = target.new_cache(self.settings.num_tokens)
        while len(batch := list(itertools.islice(samples, SAMPLES_PER_SHARD))) == SAMPLES_PER_SHARD:
            if writer is not None and number % 2 == 1:
                written = writer.write(batch, (*self.settings.feature_layers, NORMED), number)
            else:
                written = self._read(target, kv, batch)
            self._save(number, written, batch)
            number += 1
            yield number

    def _read(self, target: TargetModel[Any], kv: Any, samples: Sequence[Sample]) -> Written:
        ids = torch.tensor([sample.token_ids for sample in samples], dtype=torch.int32)
        ends = torch.full((len(samples),), ids.shape[1], dtype=torch.int32)
        return Written(ids, ends, torch.stack([self._one(target, kv, sample) for sample in samples]))

    def _one(self, target: TargetModel[Any], kv: Any, sample: Sample) -> Tensor:
        kv.rollback(0)
        layers = (*self.settings.feature_layers, NORMED)
        features = target.forward(sample.token_ids, kv, 0, layers).features
        assert features is not None, "features were asked for"
        return features.to("cpu", torch.bfloat16)

    def _save(self, number: int, written: Written, samples: Sequence[Sample]) -> None:
        width = written.features.shape[-1] // (len(self.settings.feature_layers) + 1)
        tensors = {
            "ids": written.ids,
            "middles": torch.tensor([sample.middle for sample in samples], dtype=torch.int32),
            "ends": written.ends,
            "features": written.features[:, :, :-width].contiguous(),
            "last": written.features[:, :, -width:].contiguous(),
        }
        write_whole(self._file(number), save(tensors))

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:06d}.safetensors"
