"""Why the engine computes as it does: the alternatives, on this machine, without a model.

``python -m completiond.bench.choices`` prints two tables, then one line of JSON: attention of one layer by tile size,
with how far a row of a block is from the same row alone, and int8 products by kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from completiond.bench.report import print_report
from completiond.engine.attention import AttentionPlan, DensePlan, TiledPlan
from completiond.engine.linear import Int8Kernels, quantize_weight
from completiond.engine.load import choose_threads

__all__ = ["main"]

KV_HEADS, GROUP_SIZE, HEAD_DIM, CONTEXT_TOKENS = 2, 7, 64, 600
ATTENTION_BLOCKS = (1, 2, 4, 8, 16, 32)
PRODUCT_BLOCKS = (1, 2, 3, 4, 8, 16, 32, 64, 256)
PRODUCTS = {
    "qkv": (1152, 896),
    "out": (896, 896),
    "gate_up": (9728, 896),
    "down": (896, 4864),
    "lm_head": (151936, 896),
}
TILES = (1, 2, 4, 8)


def best_us(work: Callable[[], object], repeats: int = 40) -> float:
    """Shortest of ``repeats`` runs, in microseconds: on a shared machine the least disturbed one."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1e6


def plan_for(tile: int | None, start: int, num_tokens: int) -> AttentionPlan:
    """Tiles of ``tile`` tokens, or one call for the whole block when None."""
    if tile is None:
        return DensePlan(start, num_tokens, torch.device("cpu"))
    return TiledPlan(start, num_tokens, KV_HEADS, GROUP_SIZE, HEAD_DIM, tile)


def measure_attention() -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Microseconds by way and block size, and the largest difference of a row in a block from the same row alone."""
    keys, values = torch.randn(2, KV_HEADS, 1024, HEAD_DIM)
    queries = torch.randn(max(ATTENTION_BLOCKS), KV_HEADS * GROUP_SIZE, HEAD_DIM)
    rows = torch.randn(2, max(ATTENTION_BLOCKS), KV_HEADS, HEAD_DIM)

    def attend(plan: AttentionPlan, first: int, size: int) -> Tensor:
        some = slice(first, first + size)
        return plan.attend(queries[some], rows[0, some], rows[1, some], keys, values)

    times: dict[str, dict[str, float]] = {}
    differences: dict[str, float] = {}
    for tile in (None, *TILES):
        name = "one call" if tile is None else f"tiles of {tile}"
        alone = [attend(plan_for(tile, CONTEXT_TOKENS + i, 1), i, 1) for i in range(len(queries))]
        reference, differences[name], times[name] = torch.cat(alone), 0.0, {}
        for size in ATTENTION_BLOCKS:
            plan = plan_for(tile, CONTEXT_TOKENS, size)
            times[name][str(size)] = best_us(partial(attend, plan, 0, size))
            block = attend(plan, 0, size)
            differences[name] = max(differences[name], float((block - reference[:size]).abs().max()))
    return times, differences


def measure_products() -> dict[str, dict[str, float]]:
    """Microseconds by kernel, product and block size."""
    times: dict[str, dict[str, float]] = {}
    for product, (num_rows, width) in PRODUCTS.items():
        data, scale = quantize_weight(torch.randn(num_rows, width))
        for name, kernels in (("packed", Int8Kernels(packed=True)), ("_int_mm", Int8Kernels(packed=False))):
            weight = kernels.pack(data, scale, None)
            times[f"{product} {name}"] = {
                str(size): best_us(partial(kernels.linear, kernels.rows(torch.randn(size, width)), weight), repeats=12)
                for size in PRODUCT_BLOCKS
            }
    return times


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(choose_threads(0))
    torch.manual_seed(0)
    with torch.inference_mode():
        attention, differences = measure_attention()
        products = measure_products()
    Console().print(
        _table("attention of one layer behind 600 tokens, µs by tokens in the block", attention, differences)
    )
    result: dict[str, Any] = {"attention_us": attention, "row_difference": differences, "product_us": products}
    print_report(_table("int8 products, µs by tokens in the block", products), result, as_json=False)


def _table(title: str, times: dict[str, dict[str, float]], differences: dict[str, float] | None = None) -> Table:
    view = Table(title=title)
    view.add_column("", no_wrap=True)
    for size in next(iter(times.values())):
        view.add_column(size, justify="right")
    if differences is not None:
        view.add_column("row differs by", justify="right")
    for name, by_size in times.items():
        last = [] if differences is None else [f"{differences[name]:.1g}"]
        view.add_row(name, *(f"{us:.0f}" for us in by_size.values()), *last)
    return view


if __name__ == "__main__":
    main()
