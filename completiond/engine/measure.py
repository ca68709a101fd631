"""Time passes of the loaded model: what checking a draft costs on this machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from completiond.engine.generate import PREFILL_CHUNK_TOKENS
from completiond.engine.target import TargetModel
from completiond.spec.pass_costs import PassCosts

__all__ = ["PassTimer", "measure_costs", "measure_passes"]

CONTEXT_TOKENS = 128
ROUNDS = 3


class PassTimer:
    """Times work on random tokens behind ``context_tokens`` of context, with room for ``extra_tokens`` more.

    Both must fit the model's positions together.
    """

    def __init__(self, target: TargetModel[Any], context_tokens: int, extra_tokens: int) -> None:
        self.target = target
        self.context_tokens = context_tokens
        self.kv = target.new_cache(context_tokens + extra_tokens)
        self._randomness = random.Random(0)

    def tokens(self, count: int) -> list[int]:
        """Ids of the model's that differ from call to call."""
        return [self._randomness.randrange(self.target.vocab_size // 2) for _ in range(count)]

    def read_context(self) -> float:
        """Fill the cache up to the context's length; returns the milliseconds it took."""
        return self.timed_ms(self._read_context)

    def _read_context(self) -> None:
        while (missing := self.context_tokens - self.kv.num_tokens) > 0:
            self.target.forward(self.tokens(min(missing, PREFILL_CHUNK_TOKENS)), self.kv, num_logits=0)

    def pass_ms(self, count: int, num_logits: int) -> float:
        """One pass of ``count`` tokens behind the context, nothing done with its logits."""
        self.kv.rollback(self.context_tokens)
        ids = self.tokens(count)
        return self.timed_ms(lambda: self.target.forward(ids, self.kv, num_logits=num_logits))

    def verify_ms(self, count: int) -> float:
        """T_verify: one pass of ``count`` tokens behind the context, and the choice of a token at each."""
        self.kv.rollback(self.context_tokens)
        ids = self.tokens(count)
        return self.timed_ms(lambda: self.target.forward(ids, self.kv, num_logits=count).logits.argmax(-1).tolist())

    def timed_ms(self, work: Callable[[], object]) -> float:
        """Milliseconds until all of ``work`` is done, on a GPU too."""
        _synchronise(self.target)
        started = time.perf_counter()
        work()
        _synchronise(self.target)
        return (time.perf_counter() - started) * 1e3


def measure_passes(target: TargetModel[Any], sizes: Sequence[int], context_tokens: int, rounds: int) -> PassCosts:
    """T_verify(M) for each M of ``sizes``, among them 1: the shortest of interleaved rounds.

    The shortest, because what disturbs a pass only ever makes it longer, so that few rounds have to do.
    """
    timer = PassTimer(target, context_tokens, max(sizes))
    timer.read_context()
    return _verify_costs(timer, sizes, rounds)


def measure_costs(target: TargetModel[Any], max_tokens: int) -> tuple[PassCosts, float]:
    """What the policy starts with: passes of 1, 2, 4, ... and ``max_tokens`` tokens behind a little context, in about
    a second on a CPU, and the milliseconds per token in which that context was read. Both are refined later.
    """
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64) if size < max_tokens] + [max_tokens]
    timer = PassTimer(target, CONTEXT_TOKENS, max(sizes))
    read_ms = timer.read_context() / CONTEXT_TOKENS
    return _verify_costs(timer, sizes, ROUNDS), read_ms


def _verify_costs(timer: PassTimer, sizes: Sequence[int], rounds: int) -> PassCosts:
    best_ms = dict.fromkeys(sizes, float("inf"))
    for _ in range(rounds):
        for size in sizes:
            best_ms[size] = min(best_ms[size], timer.verify_ms(size))
    return PassCosts(best_ms)


def _synchronise(target: TargetModel[Any]) -> None:
    if target.device.type == "cuda":
        import torch

        torch.cuda.synchronize()
