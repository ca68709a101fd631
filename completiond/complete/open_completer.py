"""Open the configured model: name to file, file to weights that fit into memory, one warm-up pass."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from pathlib import Path

import torch

from completiond.complete.completer import Completer
from completiond.complete.context_budget import ReadingTime
from completiond.complete.memory_plan import MemoryPlan, check_loading, plan_memory
from completiond.config import Config
from completiond.engine.available_memory import available_on
from completiond.engine.load import LoadedModel, choose_threads, load_model
from completiond.engine.measure import measure_costs
from completiond.engine.model_size import ModelSize
from completiond.engine.out_of_memory import MEMORY_ADVICE, is_out_of_memory
from completiond.errors import MemoryFullError
from completiond.models.resolve import resolve
from completiond.paths import Paths
from completiond.spec.policy import MeasuredPolicy

__all__ = ["open_completer"]

log = logging.getLogger(__name__)


def open_completer(
    config: Config, paths: Paths, progress: Callable[[float, str], None] = lambda share, what: None
) -> Completer:
    """Load ``config.model``; ``progress`` is told the share done (0.0 to 1.0) and what is being done.

    Where memory is short, less is loaded than ``config`` says: see ``Completer.memory``, and the log's warnings. Sets
    torch's thread count for this process. Raises MemoryFullError when too little memory is left for the weights, and
    the ModelError, DiskFullError or ConfigError that says what is wrong.
    """
    try:
        return _open(config, paths, progress)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        what = str(error).partition("\n")[0] or "MemoryError"
    # Behind the handler: what was caught holds the frames of the attempt, and with them all that it had loaded.
    raise MemoryFullError(f"Memory ran out while {config.model.name} was loaded ({what}).", MEMORY_ADVICE)


def _open(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
    model, memory, path = _load(config, paths, progress)
    completer = Completer(model, memory.config, path)
    completer.memory = memory
    _warm_up(completer, progress)
    # A quarter of a second of sorting, which the user's first key should not pay for either.
    if config.completion.healing and completer.healer is None:
        log.warning("Tokens of %s have no spelling of their own: half words stay as they are.", config.model.name)
    progress(0.98, "measuring")
    costs, read_ms = measure_costs(completer.target, config.spec.max_draft_tokens + 1)
    completer.policy, completer.reading = MeasuredPolicy(costs), ReadingTime(read_ms)
    progress(0.99, "loading the drafter")
    completer.drafters.prepare()
    completer.reopen = functools.partial(_reopen, completer, config, paths, progress)
    return completer


def _reopen(completer: Completer, config: Config, paths: Paths, progress: Callable[[float, str], None]) -> None:
    """Load what ``completer`` has released. What was measured of the machine holds still."""
    model, memory, _ = _load(config, paths, progress)
    completer.take(model, memory.config)
    completer.memory = memory
    _warm_up(completer, progress)
    completer.drafters.prepare()


def _load(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> tuple[LoadedModel, MemoryPlan, Path]:
    progress(0.0, "looking for the model")
    path = resolve(config.model.name, paths)
    torch.set_num_threads(choose_threads(config.model.threads))
    plans: list[MemoryPlan] = []

    def check_size(size: ModelSize) -> None:
        check_loading(config.model.name, size)
        available = available_on(size.device, mapped_bytes=size.weights)
        plans.append(plan_memory(config, size, path, paths, available))

    model = load_model(path, config.model, paths.prepared_dir, progress, check_size)
    memory = plans[-1]
    for what in memory.given_up:
        log.warning("Memory is short: %s", what)
    return model, memory, path


def _warm_up(completer: Completer, progress: Callable[[float, str], None]) -> None:
    """The first pass of each shape sets up threads and kernels; the user's first key should not pay for it."""
    progress(0.97, "warming up")
    ids = completer.tokenizer.encode("def warm_up():\n    return")
    for count in (len(ids), 1):
        completer.target.forward(ids[:count], completer.kv, num_logits=1)
    completer.kv.forget()
