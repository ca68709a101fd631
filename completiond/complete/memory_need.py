"""What serving takes of memory with some settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from completiond.cache.seats import NUM_SEATS
from completiond.complete.dictionary import BUDGET_BYTES
from completiond.complete.heads import find_head
from completiond.config import Config
from completiond.engine.model_size import ModelSize
from completiond.errors import CompletiondError
from completiond.models.disk import format_bytes
from completiond.models.resolve import resolve
from completiond.paths import Paths

__all__ = ["MemoryNeed"]

LOADED_PER_STORED = 2
"""Bytes of a drafter in memory, at most while it is loaded, for each of its file: 16 bits become 32, 4 become 8."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """In bytes, by part. ``cache``: keys and values of the text that is worked on, ``other_texts``: the budget for what
    was read of others; ``work``: tokenizer, passes and the dictionary of open documents.
    """

    weights: int
    cache: int
    work: int
    drafter: int = 0
    other_texts: int = 0

    @property
    def needed_bytes(self) -> int:
        """All parts."""
        return sum(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        """For people: ``1.1 GB: 766.0 MB weights, 50.3 MB cache, ...``."""
        parts = [(field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self)]
        return f"{format_bytes(self.needed_bytes)}: " + ", ".join(f"{format_bytes(n)} {name}" for name, n in parts if n)

    @classmethod
    def of(cls, config: Config, size: ModelSize, model_file: Path, paths: Paths) -> MemoryNeed:
        """With the settings ``config`` and the model in ``model_file``; no more context than it has positions.

        Raises UsageError or ModelError for a drafter that is named and not there.
        """
        tokens = min(config.model.context_tokens, size.max_positions)
        return cls(
            size.weights,
            size.cache(tokens),
            size.work + BUDGET_BYTES,
            _drafter_bytes(config, size, model_file, paths, tokens),
            config.cache.memory_mb << 20 if size.cache_per_token else 0,  # what grows by itself has no tree
        )


def _drafter_bytes(config: Config, size: ModelSize, model_file: Path, paths: Paths, tokens: int) -> int:
    """Of the drafter that will be loaded with the model, at most, with a state of its own for each of ``tokens``."""
    try:
        return _named_bytes(config, size, model_file, paths, tokens)
    except CompletiondError:  # what is not there is told by who would load it (drafters.py), and takes nothing
        return 0


def _named_bytes(config: Config, size: ModelSize, model_file: Path, paths: Paths, tokens: int) -> int:
    """See ``_drafter_bytes``. Raises what looking for heads and models does."""
    spec = config.spec
    if spec.drafter == "draft":
        stored = 0
        if spec.draft_model:
            stored = _stored_bytes(resolve(spec.draft_model, paths))
        return stored * LOADED_PER_STORED + size.cache(tokens)
    if spec.drafter == "medusa":
        head = find_head("medusa", spec.medusa_heads, model_file)
        return 0 if head is None else _stored_bytes(head) * LOADED_PER_STORED
    if spec.drafter in ("auto", "eagle") and size.hidden_size:
        head = find_head("eagle", spec.eagle_head, model_file)
        # Of each token the feature, and a key and a value that are no wider; for each of the texts that lie in memory.
        num_texts = NUM_SEATS if config.cache.memory_mb else 1
        state = 3 * size.hidden_size * size.per_number * tokens * num_texts
        return 0 if head is None else _stored_bytes(head) * LOADED_PER_STORED + state
    return 0


def _stored_bytes(model: Path) -> int:
    """Of the weights in a file or a folder; what else lies there, such as a training run's features, is not loaded."""
    if model.is_file():
        return model.stat().st_size
    files = [*model.glob("*.safetensors")] or [*model.glob("*.bin"), *model.glob("*.pt")]
    return sum(file.stat().st_size for file in files)
