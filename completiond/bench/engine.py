"""Speed of the engine: time of a pass by its number of tokens, prefill, plain decoding, a look-up, memory."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from completiond.bench.report import resident_mb
from completiond.engine.measure import PassTimer
from completiond.engine.target import TargetModel
from completiond.spec.ngram import NGramDrafter

__all__ = ["BLOCK_SIZES", "EngineFigures", "measure_engine", "measure_lookup_ms", "table"]

BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 256)
PREFILL_TOKENS = 256
PLAIN_TOKENS = 24
ROUNDS = 9
LOOKUP_ROUNDS = 200


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


class _EngineTimer(PassTimer):
    """Prefill and plain decoding besides."""

    def prefill_ms(self) -> float:
        """The first PREFILL_TOKENS of a text."""
        self.kv.forget()
        ids = self.tokens(PREFILL_TOKENS)
        return self.timed_ms(lambda: self.target.forward(ids, self.kv, num_logits=1))

    def plain_ms(self) -> float:
        """Plain decoding of PLAIN_TOKENS, per token."""
        self.kv.rollback(self.context_tokens)
        ids = self.tokens(PLAIN_TOKENS)

        def decode() -> None:
            for token_id in ids:
                int(self.target.forward([token_id], self.kv, num_logits=1).logits[0].argmax())

        return self.timed_ms(decode) / PLAIN_TOKENS


def measure_engine(target: TargetModel[Any], model_name: str, context_tokens: int) -> EngineFigures:
    """Run the passes on random tokens. ``context_tokens`` + 256 must fit the model's positions."""
    timer = _EngineTimer(target, context_tokens, max(BLOCK_SIZES))
    samples: dict[str, list[float]] = {name: [] for name in (*map(str, BLOCK_SIZES), "prefill", "plain")}
    for _ in range(ROUNDS + 1):
        samples["prefill"].append(timer.prefill_ms())
        timer.read_context()
        for count in BLOCK_SIZES:
            samples[str(count)].append(timer.pass_ms(count, num_logits=count if count <= 64 else 1))
        samples["plain"].append(timer.plain_ms())
    medians = {name: statistics.median(values[1:]) for name, values in samples.items()}  # the first round warms up
    return EngineFigures(
        pass_ms={str(count): round(medians[str(count)], 2) for count in BLOCK_SIZES},
        prefill_tokens_per_s=round(PREFILL_TOKENS * 1e3 / medians["prefill"], 1),
        plain_ms_per_token=round(medians["plain"], 2),
        rss_mb=round(resident_mb(), 1),
        device=str(target.device),
        dtype=target.dtype_name,
        model=model_name,
        context_tokens=context_tokens,
        exact=target.exact,
    )


def measure_lookup_ms(context_tokens: int) -> float:
    """Median milliseconds the n-gram drafter takes for a round, in a text that repeats itself: every look-up finds
    several long matches.
    """
    ids = [index % 97 for index in range(context_tokens + LOOKUP_ROUNDS)]
    drafter = NGramDrafter()
    drafter.reset(ids[:context_tokens])
    samples = []
    for token_id in ids[context_tokens:]:
        started = time.perf_counter()
        drafter.propose(max(BLOCK_SIZES))
        drafter.observe([token_id])
        samples.append((time.perf_counter() - started) * 1e3)
    return statistics.median(samples)


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
