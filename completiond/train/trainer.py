"""Train a head on cached features for a given time; a run that is broken off goes on where it was saved."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from completiond.train.draft_vocab import DraftVocab
from completiond.train.features import FeatureStore, Shard
from completiond.train.files import checkpoint_bytes, write_whole
from completiond.train.loss import AcceptanceTally, Batch, unrolled_loss
from completiond.train.plan import SAMPLES_PER_BATCH
from completiond.train.unrolled import HeadNet, Inputs

__all__ = ["HeadTrainer", "Report", "TrainSettings", "feature_scale"]


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Numbers of a run; docs/log.md says how they were found. ``hours``: of training, without the features.

    Of every ``unroll_every`` batches one is unrolled to ``num_steps`` steps and the others learn the first, on which
    all later ones depend, with less than half of the products.
    """

    hours: float
    num_steps: int = 3
    unroll_every: int = 1
    samples_per_batch: int = SAMPLES_PER_BATCH
    matrix_rate: float = 4e-3
    vector_rate: float = 1e-3
    weight_decay: float = 0.1
    warm_up_batches: int = 20
    save_minutes: float = 5.0


@dataclass(frozen=True, slots=True)
class Report:
    """Where a run is. ``acceptances``: on held-out text, by step, when it was last measured."""

    seconds: float
    batches: int
    tokens: int
    loss: float
    acceptances: tuple[float, ...] = ()


def feature_scale(shard: Shard) -> Tensor:
    """The usual size of each channel of the features, float32 [width]: some are a hundred times larger than others."""
    return shard.features.float().flatten(0, 1).pow(2).mean(0).sqrt() + 1e-3


class HeadTrainer:
    """Owns the network, the optimisers and the place in the data.

    ``scale`` float32 [width]: what features are divided by. ``choose`` gives the target's choices int64 [N] for states
    float32 [N, hidden_size].
    """

    def __init__(
        self,
        net: HeadNet,
        vocab: DraftVocab,
        vocab_size: int,
        scale: Tensor,
        store: FeatureStore,
        held_out: FeatureStore,
        choose: Callable[[Tensor], Tensor],
        settings: TrainSettings,
    ) -> None:
        self.net = net
        self.vocab = vocab
        self.settings = settings
        self._scale = scale
        self._store = store
        self._held_out = held_out
        self._choose = choose
        self._from_target = vocab.from_target(vocab_size)
        assert isinstance(net, torch.nn.Module), "a network of torch's"
        self._module: torch.nn.Module = net
        net.lm_head.weight.requires_grad_(False)  # a good classifier already, and a third less work
        parameters = [parameter for parameter in self._module.parameters() if parameter.requires_grad]
        matrices = [parameter for parameter in parameters if parameter.ndim == 2]
        vectors = [parameter for parameter in parameters if parameter.ndim == 1]
        self._optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(
                matrices,
                lr=settings.matrix_rate,
                weight_decay=settings.weight_decay,
                momentum=0.95,
                adjust_lr_fn="match_rms_adamw",
            ),
            torch.optim.AdamW(vectors, lr=settings.vector_rate, betas=(0.9, 0.95), weight_decay=0.0),
        ]
        self._rates = (settings.matrix_rate, settings.vector_rate)
        self._half = faster_type()
        self.seconds, self.batches, self.tokens = 0.0, 0, 0
        self._queue: list[int] = []
        self._randomness = random.Random(0)

    def run(self, checkpoint: Path, on_report: Callable[[Report], None]) -> None:
        """Train until the time is over; ``on_report`` is called now and then, after a checkpoint was saved.

        One is saved too when it is broken off by Ctrl-C.
        """
        try:
            self._run(checkpoint, on_report)
        except KeyboardInterrupt:
            self.save(checkpoint)
            raise

    def _run(self, checkpoint: Path, on_report: Callable[[Report], None]) -> None:
        total_s = self.settings.hours * 3600
        losses: list[float] = []
        saved_s = self.seconds
        while self.seconds < total_s:
            if not self._queue:
                self._queue = list(range(self._store.num_shards))
                self._randomness.shuffle(self._queue)
            started = time.monotonic()
            try:
                losses += self._learn(self._store.load(self._queue.pop()), total_s - self.seconds)
            finally:
                self.seconds += time.monotonic() - started
            if self.seconds - saved_s >= self.settings.save_minutes * 60 or self.seconds >= total_s:
                saved_s = self.seconds
                self.save(checkpoint)
                mean = sum(losses) / max(1, len(losses))
                on_report(Report(self.seconds, self.batches, self.tokens, mean, tuple(self.measure())))
                losses.clear()

    def measure(self) -> list[float]:
        """Acceptance by step on the held-out features."""
        tally = AcceptanceTally(self.settings.num_steps)
        with torch.no_grad(), self._arithmetic():
            for index in range(self._held_out.num_shards):
                shard = self._held_out.load(index)
                for first in range(0, shard.ids.shape[0], 4):
                    inputs = self._inputs(shard, torch.arange(first, min(first + 4, shard.ids.shape[0])))
                    choices = self._choose(inputs.last.flatten(0, 1)).view(inputs.ids.shape)
                    tally.add(self.net, inputs, choices, self.vocab.token_ids)
        return tally.acceptances

    def save(self, checkpoint: Path) -> None:
        """Write all that a resumed run needs, whole or not at all."""
        state = {
            "net": self._module.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "progress": torch.tensor([self.seconds, self.batches, self.tokens], dtype=torch.float64),
        }
        write_whole(checkpoint, checkpoint_bytes(state))

    def resume(self, checkpoint: Path) -> None:
        """Go on from ``save``."""
        state = torch.load(checkpoint, weights_only=True)
        self._module.load_state_dict(state["net"])
        for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        seconds, batches, tokens = state["progress"].tolist()
        self.seconds, self.batches, self.tokens = seconds, int(batches), int(tokens)
        self._randomness.seed(self.batches)

    def _learn(self, shard: Shard, left_s: float) -> list[float]:
        """One pass over a shard, less if the time ends before."""
        losses = []
        order = torch.randperm(shard.ids.shape[0])
        started = time.monotonic()
        for some in order.split(self.settings.samples_per_batch):  # type: ignore[no-untyped-call]
            spent_s = time.monotonic() - started
            if spent_s >= left_s:
                break
            self._set_rates(self.seconds + spent_s)
            num_steps = 1 if self.batches % self.settings.unroll_every else self.settings.num_steps
            with self._arithmetic():
                loss = unrolled_loss(self.net, self._batch(shard, some), num_steps)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self._module.parameters(), 1.0)
            for optimiser in self._optimisers:
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
            if num_steps == self.settings.num_steps:  # others are of another size
                losses.append(loss.item())
            self.batches += 1
            self.tokens += shard.ids[some].numel()
        return losses

    def _batch(self, shard: Shard, some: Tensor) -> Batch:
        inputs = self._inputs(shard, some)
        with torch.no_grad():
            teacher = self.net.lm_head(inputs.last).float().log_softmax(-1)
        return Batch(inputs, teacher, self._from_target[inputs.ids] >= 0)

    def _inputs(self, shard: Shard, some: Tensor) -> Inputs:
        features = shard.features[some].float() / self._scale
        return Inputs(shard.ids[some].long(), features, shard.last[some].float(), shard.ends[some].long())

    def _set_rates(self, seconds: float) -> None:
        """Warm up, then fall in a straight line to nothing at the end of the time."""
        warm = min(1.0, (self.batches + 1) / self.settings.warm_up_batches)
        share = warm * max(0.02, 1.0 - seconds / (self.settings.hours * 3600))
        for optimiser, rate in zip(self._optimisers, self._rates, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = rate * share

    def _arithmetic(self) -> AbstractContextManager[Any]:
        return torch.autocast("cpu", self._half or torch.bfloat16, enabled=self._half is not None)


def faster_type() -> torch.dtype | None:
    """bfloat16 where this machine multiplies it clearly faster than float32, else None."""
    times: dict[torch.dtype, float] = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.ones(1024, 896, dtype=dtype), torch.ones(2432, 896, dtype=dtype)
        best = float("inf")
        for _ in range(4):
            started = time.perf_counter()
            linear(a, b)
            best = min(best, time.perf_counter() - started)
        times[dtype] = best
    return torch.bfloat16 if times[torch.bfloat16] < 0.8 * times[torch.float32] else None
