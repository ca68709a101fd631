"""The tables of ``completiond speedup``: what drafting is worth on paper, and with the pass times of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from completiond.commands.speedup_acceptance import Acceptance
from completiond.spec import speedup as arithmetic
from completiond.spec.speedup import RoundCost

__all__ = ["show_lesson", "show_measured"]

ACCEPTANCES: Final = (0.5, 0.7, 0.8, 0.9)
DRAFT_COSTS: Final = (0.05, 0.15)
DISTURBED: Final = 0.8
"""A pass that takes less than this share of a shorter one's time shows that the times are not the model's own."""


def show_lesson(console: Console) -> dict[str, Any]:
    """The model of the textbook: a guess costs a share c of a pass, and a pass costs the same whatever its size.

    Returns the figures shown.
    """
    lengths, long_lengths = range(1, 9), range(1, 11)
    constant, falling = arithmetic.constant_acceptance, arithmetic.falling_acceptance
    tokens = {f"a = {a}": [arithmetic.expected_tokens(constant(a, k)) for k in lengths] for a in ACCEPTANCES}
    by_cost = {f"c = {c}": [arithmetic.speedup(constant(0.8, k), c) for k in long_lengths] for c in DRAFT_COSTS}
    deep = {
        "tokens per pass": [arithmetic.expected_tokens(falling(0.9, 0.85, k)) for k in lengths],
        "speedup": [arithmetic.speedup(falling(0.9, 0.85, k), 0.1) for k in lengths],
    }
    best = {f"c = {c}": arithmetic.best_length(constant(0.8, max(long_lengths)), c) for c in DRAFT_COSTS}
    by_hand = arithmetic.expected_tokens(constant(0.8, 3))
    console.print("Drafts of k guesses, each accepted with chance a; a guess costs a share c of a pass.")
    console.print(_grid("tokens per pass by acceptance and length", tokens))
    console.print(f"By hand, a = 0.8, k = 3: 1 + 0.8 + 0.64 + 0.512 = {by_hand:.3f}\n")
    console.print(_grid("speedup by draft cost, a = 0.8", by_cost, best))
    best_deep = arithmetic.best_length(falling(0.9, 0.85, max(lengths)), 0.1)
    console.print(_grid("a = 0.9, then x 0.85 each, c = 0.1", deep, {"speedup": best_deep}))
    return {
        "by_hand": by_hand,
        "tokens_per_pass": tokens,
        "speedup": by_cost,
        "best_length": best,
        "falling": deep | {"best_length": best_deep},
    }


def show_measured(console: Console, machine: str, cost: RoundCost, chosen: Acceptance, is_busy: bool) -> dict[str, Any]:
    """T_verify and the speedup for several acceptances, and for the ``chosen`` one, by draft length.

    ``machine`` says in words what was measured; ``is_busy``: other programs took CPUs that were needed for it. Returns
    the figures shown.
    """
    max_length = len(chosen.by_depth)
    cases = {f"a = {a}": arithmetic.constant_acceptance(a, max_length) for a in ACCEPTANCES}
    cases[chosen.name] = chosen.by_depth
    lengths = range(1, max_length + 1)
    speedups = {name: [arithmetic.measured_speedup(case[:k], cost) for k in lengths] for name, case in cases.items()}
    best = {name: arithmetic.best_measured_length(case, cost) for name, case in cases.items()}
    single_ms = cost.passes.pass_ms(1)
    times_ms = [cost.passes.pass_ms(k + 1) for k in lengths]
    times = {"ms": times_ms, "T/T(1)": [time_ms / single_ms for time_ms in times_ms]}
    view = _grid("time of a pass over k + 1 tokens, speedup for acceptance a", times | speedups, best)
    view.caption = f"plain decoding {single_ms:.1f} ms a token, a look-up {cost.lookup_ms:.3f} ms"
    console.print(f"\n[bold]This machine:[/bold] {machine}")
    console.print(view)
    why = "Other programs kept CPUs busy that were needed here" if is_busy else ""
    if not why and _disturbed(cost):
        why = "Some longer passes took far less time than shorter ones: something else kept this machine busy"
    if why:
        console.print(
            f"[yellow]{why}, and what follows is not to be relied on. Run it again when the machine is quiet.[/yellow]"
        )
    return {
        "speedup": speedups,
        "best_length": best,
        "break_even_acceptance": arithmetic.break_even_acceptance(cost, max_length),
        "disturbed": bool(why),
    }


def _disturbed(cost: RoundCost) -> bool:
    """Work grows with the pass, so time may fall by an odd shape's few percent, but not by more."""
    times_ms = cost.passes.as_dict().values()
    return any(later < DISTURBED * earlier for earlier, later in combinations(times_ms, 2))


def _grid(title: str, columns: Mapping[str, Sequence[float]], best: Mapping[str, int] | None = None) -> Table:
    """One row for each draft length from 1; the best length of a column is bold."""
    view = Table(title=title, title_justify="left")
    for name in ("k", *columns):
        view.add_column(name, justify="right", no_wrap=True)
    for length, row in enumerate(zip(*columns.values(), strict=True), start=1):
        marks = [length == (best or {}).get(name) for name in columns]
        cells = [
            f"[bold green]{value:.2f}[/]" if mark else f"{value:.2f}" for value, mark in zip(row, marks, strict=True)
        ]
        view.add_row(str(length), *cells)
    if best:
        view.add_section()
        view.add_row("best", *(str(best.get(name, "")) for name in columns))
    return view
