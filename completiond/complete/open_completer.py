"""Open the configured model: name to file, file to weights, one warm-up pass."""

from __future__ import annotations

from collections.abc import Callable

import torch

from completiond.complete.completer import Completer
from completiond.config import Config
from completiond.engine.load import choose_threads, load_model
from completiond.engine.measure import measure_costs
from completiond.models.resolve import resolve
from completiond.paths import Paths
from completiond.spec.policy import MeasuredPolicy

__all__ = ["open_completer"]


def open_completer(
    config: Config, paths: Paths, progress: Callable[[float, str], None] = lambda share, what: None
) -> Completer:
    """Load ``config.model``; ``progress`` is told the share done (0.0 to 1.0) and what is being done.

    Sets torch's thread count for this process. Raises the ModelError, DiskFullError or ConfigError that says what is
    wrong.
    """
    progress(0.0, "looking for the model")
    path = resolve(config.model.name, paths)
    torch.set_num_threads(choose_threads(config.model.threads))
    model = load_model(path, config.model, paths.prepared_dir, progress)
    completer = Completer(model, config, path)
    progress(0.97, "warming up")
    # The first pass of each shape sets up threads and kernels; the user's first key should not pay for it.
    ids = completer.tokenizer.encode("def warm_up():\n    return")
    for count in (len(ids), 1):
        completer.target.forward(ids[:count], completer.kv, num_logits=1)
    completer.kv.forget()
    progress(0.98, "measuring")
    completer.policy = MeasuredPolicy(measure_costs(completer.target, config.spec.max_draft_tokens + 1))
    progress(0.99, "loading the drafter")
    completer.drafters.prepare()
    return completer
