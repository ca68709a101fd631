"""Time passes of the loaded model, so that the policy knows what checking a draft costs on this machine."""

from __future__ import annotations

import time
from typing import Any

from completiond.engine.target import TargetModel
from completiond.spec.policy import PassCosts

__all__ = ["measure_costs"]

CONTEXT_TOKENS = 128
ROUNDS = 3


def measure_costs(target: TargetModel[Any], max_tokens: int) -> PassCosts:
    """Shortest of ROUNDS passes of 1, 2, 4, ... and ``max_tokens`` tokens behind a little context: about a second on
    a CPU.

    The shortest, because what disturbs a pass only ever makes it longer; the policy refines the numbers as it runs.
    """
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64) if size < max_tokens] + [max_tokens]
    kv = target.new_cache(CONTEXT_TOKENS + max_tokens)
    target.forward([0] * CONTEXT_TOKENS, kv, num_logits=0)
    best_ms = dict.fromkeys(sizes, float("inf"))
    for _ in range(ROUNDS):
        for size in sizes:
            started = time.perf_counter()
            logits = target.forward([0] * size, kv, num_logits=size).logits
            logits.argmax(-1).tolist()  # waits for a GPU, and is what follows a pass
            best_ms[size] = min(best_ms[size], (time.perf_counter() - started) * 1e3)
            kv.rollback(CONTEXT_TOKENS)
    return PassCosts(best_ms)
