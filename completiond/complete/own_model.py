"""A model on this machine, its cache and its drafters: what a service asks about them (AnyCompleter), and how they are
let go of and come back.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from completiond.cache.kv import KVCache, SequenceCache
from completiond.cache.seats import NUM_SEATS, Seats
from completiond.cache.shift import SuffixShift
from completiond.cache.tree import PrefixTree
from completiond.complete.drafters import Drafters
from completiond.complete.memory_plan import MemoryPlan
from completiond.complete.suffix import suffix_shift
from completiond.complete.tokens import TextTokenizer
from completiond.config import Config
from completiond.engine.load import LoadedModel
from completiond.errors import CompletiondError
from completiond.spec.drafter_names import DrafterChoice
from completiond.spec.policy import MeasuredPolicy

__all__ = ["OwnModel"]


class OwnModel:
    """Base of Completer. While released, it has no ``model``, ``target``, ``kv``, ``shift`` and ``drafters``."""

    writes_ahead = True
    model: LoadedModel
    target: Any
    kv: SequenceCache
    shift: SuffixShift | None
    drafters: Drafters

    def __init__(self, model: LoadedModel, config: Config, model_file: Path | None = None) -> None:
        """``model_file``: what ``model`` was loaded from, by which its shipped heads are found."""
        self.tokenizer = TextTokenizer(model.tokenizer, model.config, model.target.vocab_size)
        self.memory: MemoryPlan | None = None
        """What was reckoned before the model was loaded, and what of the settings was given up for it."""
        self.reopen: Callable[[], None] | None = None
        """Loads the model again and gives it to ``take``; None: what was released would not come back."""
        self.ready_detail = "ready"
        self._model_file = model_file
        self._policy: MeasuredPolicy | None = None
        self.take(model, config)

    def take(self, model: LoadedModel, config: Config) -> None:
        """``model`` writes from now on: the one of before, which was released, loaded again."""
        self.model, self.config, self.target = model, config, model.target
        self.device_name, self.dtype_name = str(self.target.device), str(self.target.dtype_name)
        self.kv = self.target.new_cache(min(config.model.context_tokens, self.target.max_positions))
        if isinstance(self.kv, KVCache) and config.cache.memory_mb:
            self._keep_other_texts(self.kv, config.cache.memory_mb << 20)
        self.context_tokens = self.kv.capacity_tokens
        self.shift = suffix_shift(self.kv, config, self.target.device.type)
        self.drafters = Drafters(model, self.kv, config, self.tokenizer.stop_ids, self._model_file)
        self.drafters.policy = self._policy
        self.is_released = False

    def _keep_other_texts(self, kv: KVCache, budget_bytes: int) -> None:
        """Of what is set, seats have at most the half. A GPU has none: its graphs belong to one place in memory, and
        what a change of texts copies is little there.
        """
        beside_bytes = (NUM_SEATS - 1) * kv.size_bytes
        if self.target.device.type != "cuda" and 2 * beside_bytes <= budget_bytes:
            kv.seats = Seats(kv)
            budget_bytes -= beside_bytes
        kv.others = PrefixTree(budget_bytes)

    def turn_to(self, client_id: str, document_id: str) -> None:
        """What is read and written from now on belongs to that document."""
        if isinstance(self.kv, KVCache) and self.kv.seats is not None:
            self.kv.seats.take((client_id, document_id))

    def release(self) -> None:
        """See AnyCompleter.release. What was measured of the machine, and the documents, stay."""
        if self.is_released or self.reopen is None:
            return
        device_type = self.target.device.type
        self.is_released = True
        del self.model, self.target, self.kv, self.shift, self.drafters
        gc.unfreeze()  # see commands/daemon.py
        gc.collect()  # tensors that only cycles hold, too
        if device_type == "cuda":
            torch.cuda.empty_cache()

    def connect(self) -> None:
        """See AnyCompleter.connect. What was released is loaded again."""
        if self.is_released and self.reopen is not None:
            began_s = time.perf_counter()
            self.reopen()
            self.ready_detail = f"ready, loaded again in {time.perf_counter() - began_s:.1f} s"

    def close(self) -> None:
        """See AnyCompleter.close. There are no connections."""

    @property
    def policy(self) -> MeasuredPolicy | None:
        """What decides how much of a draft is checked; None before the machine was measured: all of it."""
        return self._policy

    @policy.setter
    def policy(self, policy: MeasuredPolicy | None) -> None:
        self._policy = self.drafters.policy = policy

    @property
    def name(self) -> str:
        """See AnyCompleter.name."""
        return self.config.model.name

    @property
    def can_release(self) -> bool:
        """See AnyCompleter.can_release."""
        return self.reopen is not None

    @property
    def keeps_other_texts(self) -> bool:
        """Whether to go on with an answer after another one takes no reading of its prompt."""
        return isinstance(self.kv, KVCache) and self.kv.others is not None

    @property
    def given_up(self) -> tuple[str, ...]:
        """See AnyCompleter.given_up."""
        return self.memory.given_up if self.memory is not None else ()

    @property
    def refused_drafters(self) -> Mapping[DrafterChoice, CompletiondError]:
        """See AnyCompleter.refused_drafters."""
        return {} if self.is_released else self.drafters.refused

    def forget_texts(self) -> None:
        """See AnyCompleter.forget_texts."""
        if not self.is_released:
            self.kv.forget()
            if self.shift is not None:
                self.shift.forget()
