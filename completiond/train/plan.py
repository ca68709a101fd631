"""What a training run is asked to do, and whether this machine has room for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from completiond.engine.available_memory import available_bytes
from completiond.engine.shape import DecoderShape
from completiond.errors import DiskFullError, UsageError
from completiond.models.disk import folder_bytes, format_bytes, free_bytes

__all__ = ["SAMPLES_PER_BATCH", "HeadKind", "TrainPlan", "check_room"]

HeadKind = Literal["eagle", "medusa"]

FEATURE_SHARE = 0.5
"""Of the time. A head that reads the same text four times learns it by heart (docs/log.md, 2026-11-30); with this share
a CPU reads it about twice.
"""
SAMPLES_PER_BATCH, GOING_ON_SAMPLES_PER_BATCH = 4, 8
"""A head that has learnt already takes larger batches: the optimiser's step costs as much for them as for small ones.
"""
FEATURE_TOKENS_PER_SECOND = 4000
"""More than a CPU reads; what the room on the disk is reckoned by."""


@dataclass(frozen=True, slots=True)
class TrainPlan:
    """``hours``: all in all. ``folder``: where the head goes; what a run needs on the way is kept in ``work`` in it.

    ``draft_vocab_size`` and ``intermediate_size`` make an EAGLE head of the default model 38 MB. ``max_tokens`` of
    features are computed at most. ``start``: the folder of an EAGLE head that training goes on from; its sizes and its
    vocabulary are that head's.
    """

    kind: HeadKind
    folder: Path
    hours: float
    num_tokens: int = 512
    draft_vocab_size: int = 8192
    intermediate_size: int = 2432
    num_heads: int = 4
    num_held_out_shards: int = 6
    max_tokens: int = 4_000_000
    start: Path | None = None

    @property
    def samples_per_batch(self) -> int:
        """What a step of the optimiser is made from; the same when a run is resumed and its start not named again."""
        begun = self.work / "start"
        goes_on = self.start is not None or (begun.exists() and begun.read_text(encoding="utf-8") != "")
        return GOING_ON_SAMPLES_PER_BATCH if goes_on else SAMPLES_PER_BATCH

    @property
    def work(self) -> Path:
        """Features, vocabulary and checkpoint."""
        return self.folder / "work"


def check_room(plan: TrainPlan, shape: DecoderShape) -> None:
    """Raise DiskFullError or UsageError that says how much is missing, before hours are spent."""
    width = shape.hidden_size * (4 if plan.kind == "eagle" else 1)
    seconds = plan.hours * 3600 * FEATURE_SHARE
    tokens = min(plan.max_tokens, int(seconds * FEATURE_TOKENS_PER_SECOND))
    disk_bytes = tokens * (2 * width + 4) - folder_bytes(plan.work)  # what is there need not be written again
    if (free := free_bytes(plan.folder)) < disk_bytes:
        raise DiskFullError(
            f"Features of {tokens} tokens take up to {format_bytes(disk_bytes)}, and {format_bytes(free)} are free.",
            "Give --out on a larger disk, or a smaller --max-tokens.",
        )
    # Of the network: weights, gradients and moments; of a batch: logits, probabilities and gradients of each step.
    parameters = shape.hidden_size * (8 * shape.hidden_size + 3 * plan.intermediate_size + plan.draft_vocab_size)
    batch = plan.samples_per_batch * plan.num_tokens * plan.draft_vocab_size * 4 * 12
    needed_bytes = 16 * parameters + batch
    available = available_bytes()
    if available is not None and available < needed_bytes:
        raise UsageError(
            f"Training takes about {format_bytes(needed_bytes)} of memory, and {format_bytes(available)} are free.",
            "Close other programs, or ask for a smaller --draft-vocab.",
        )
