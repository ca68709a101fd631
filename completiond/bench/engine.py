"""Speed of the engine: time of a pass by its number of tokens, prefill, plain decoding, memory."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from completiond.bench.report import resident_mb
from completiond.engine.target import TargetModel

__all__ = ["BLOCK_SIZES", "EngineFigures", "measure_engine", "table"]

BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 256)
PLAIN_TOKENS = 24
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """Times are medians over ROUNDS interleaved rounds; ``pass_ms`` maps tokens in a pass to milliseconds.

    A pass of up to 64 tokens computes logits for all of them, as verification does; the pass of 256 for the last
    only, as prefill does. All passes run behind ``context_tokens`` of context.
    """

    pass_ms: dict[str, float]
    prefill_tokens_per_s: float
    plain_ms_per_token: float
    rss_mb: float
    device: str
    dtype: str
    model: str
    context_tokens: int
    exact: bool


def measure_engine(target: TargetModel[Any], model_name: str, context_tokens: int) -> EngineFigures:
    """Run the passes on random tokens. ``context_tokens`` + 256 must fit the model's positions."""
    randomness = random.Random(0)
    kv = target.new_cache(context_tokens + max(BLOCK_SIZES))

    def tokens(count: int) -> list[int]:
        return [randomness.randrange(target.vocab_size // 2) for _ in range(count)]

    def timed_ms(work: Callable[[], object]) -> float:
        _synchronise(target)
        started = time.perf_counter()
        work()
        _synchronise(target)
        return (time.perf_counter() - started) * 1e3

    def one_pass(count: int) -> float:
        kv.rollback(context_tokens)
        ids = tokens(count)
        return timed_ms(lambda: target.forward(ids, kv, num_logits=count if count <= 64 else 1))

    def fresh_prefill() -> float:
        kv.rollback(0)
        ids = tokens(256)
        return timed_ms(lambda: target.forward(ids, kv, num_logits=1))

    def plain() -> float:
        kv.rollback(context_tokens)
        ids = tokens(PLAIN_TOKENS)

        def decode() -> None:
            for token_id in ids:
                int(target.forward([token_id], kv, num_logits=1).logits[0].argmax())

        return timed_ms(decode) / PLAIN_TOKENS

    samples: dict[str, list[float]] = {name: [] for name in (*map(str, BLOCK_SIZES), "prefill", "plain")}
    for _ in range(ROUNDS + 1):
        samples["prefill"].append(fresh_prefill())
        if context_tokens > kv.num_tokens:
            target.forward(tokens(context_tokens - kv.num_tokens), kv, num_logits=0)
        for count in BLOCK_SIZES:
            samples[str(count)].append(one_pass(count))
        samples["plain"].append(plain())
    medians = {name: statistics.median(values[1:]) for name, values in samples.items()}  # the first round warms up
    return EngineFigures(
        pass_ms={str(count): round(medians[str(count)], 2) for count in BLOCK_SIZES},
        prefill_tokens_per_s=round(256e3 / medians["prefill"], 1),
        plain_ms_per_token=round(medians["plain"], 2),
        rss_mb=round(resident_mb(), 1),
        device=str(target.device),
        dtype=target.dtype_name,
        model=model_name,
        context_tokens=context_tokens,
        exact=target.exact,
    )


def _synchronise(target: TargetModel[Any]) -> None:
    if target.device.type == "cuda":
        import torch

        torch.cuda.synchronize()


def table(figures: EngineFigures) -> Table:
    """The figures for people."""
    view = Table(title=f"{figures.model}, {figures.dtype} on {figures.device}, behind {figures.context_tokens} tokens")
    for name in ("tokens in the pass", "ms per pass", "T(M) / T(1)", "ms per token"):
        view.add_column(name, justify="right")
    single = figures.pass_ms["1"]
    for count, pass_ms in figures.pass_ms.items():
        view.add_row(count, f"{pass_ms:.1f}", f"{pass_ms / single:.2f}", f"{pass_ms / int(count):.2f}")
    view.caption = (
        f"prefill {figures.prefill_tokens_per_s:.0f} tokens/s · plain {figures.plain_ms_per_token:.1f} ms/token"
        f" · {figures.rss_mb:.0f} MB resident"
    )
    return view
