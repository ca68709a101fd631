"""``completiond speedup``: what drafting is worth, on paper and with the pass times of this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, zip_longest
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from completiond.client import connect
from completiond.commands.errors import reports_errors
from completiond.config import Config, load_config
from completiond.errors import DaemonUnreachableError, UsageError
from completiond.paths import Paths
from completiond.spec import speedup as arithmetic
from completiond.spec.speedup import AcceptanceCounts, RoundCost

__all__ = ["speedup"]

DEFAULT_ACCEPTANCE: Final = 0.8
ACCEPTANCES: Final = (0.5, 0.7, 0.8, 0.9)
DRAFT_COSTS: Final = (0.05, 0.15)
VERIFY_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CONTEXT_TOKENS: Final = 256
NEARLY: Final = 0.97
"""Speeds within this share of the best differ by less than pass times do from run to run."""
DISTURBED: Final = 0.8
"""A pass that takes less than this share of a shorter one's time shows that the times are not the model's own."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Chances by depth up to the longest draft, the name of their column, and in words where they come from."""

    by_depth: tuple[float, ...]
    name: str
    origin: str


@reports_errors
def speedup(
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON; the tables go to standard error.")] = False,
    no_measure: Annotated[bool, typer.Option("--no-measure", help="The arithmetic only: no model is needed.")] = False,
    acceptance: Annotated[
        float | None, typer.Option(help="Chance of a guess, 0 to 1; else the daemon's counts, else 0.8.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Another model than the configured one.")] = None,
) -> None:
    """Show what drafting is worth, and the draft length that suits this machine: is speculation paying here?"""
    if no_measure and not (acceptance is None and model is None):
        raise UsageError("--acceptance and --model say nothing to --no-measure.", "Leave one side out.")
    if acceptance is not None and not 0.0 <= acceptance <= 1.0:
        raise UsageError(f"--acceptance {acceptance} is not a chance.", "Use 0 to 1.")
    console = Console(stderr=as_json, highlight=False)
    result: dict[str, Any] = {"lesson": _show_lesson(console), "measured": None, "choice": None, "temperature": None}
    if not no_measure:
        paths = Paths.from_environment()
        config = load_config(paths.config_file).with_model(model)
        counts, without = _counted(paths, config.model.name)
        measured, cost = _measure(config, paths)
        length = min(config.spec.max_draft_tokens, cost.max_length)
        chosen = _acceptance(acceptance, counts, without, length)
        result["measured"] = measured | _show_measured(console, measured, cost, chosen)
        result["choice"] = _show_choice(console, cost, chosen)
        result["temperature"] = _show_temperature(console, cost, counts, length)
    if as_json:
        typer.echo(json.dumps(_rounded(result)))


def _show_lesson(console: Console) -> dict[str, Any]:
    """The model of the textbook: a guess costs a share c of a pass, and a pass costs the same whatever its size."""
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


def _counted(paths: Paths, model: str) -> tuple[tuple[AcceptanceCounts, ...], str]:
    """What the daemon has counted of n-gram drafts, one for each temperature; if nothing, why.

    It is offered under ``acceptance`` in its status, if at all: a list of objects with ``source``, ``temperature``,
    and ``tried`` and ``accepted`` by depth.
    """
    try:
        with connect(paths, start=False, check_version=False) as client:
            status: dict[str, Any] = client.call("completiond/status")
    except DaemonUnreachableError:
        return (), "no daemon is running"
    if status.get("acceptance") is None:
        return (), "the daemon offers no counts"
    if status.get("model") != model:
        return (), f"the daemon runs {status.get('model')}"
    try:
        counts = _merged(status["acceptance"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return (), "the daemon's counts are of a form that this version cannot read"
    return counts, f"the daemon has counted fewer than {arithmetic.MIN_TRIED} guesses"


def _merged(entries: Sequence[Mapping[str, Any]]) -> tuple[AcceptanceCounts, ...]:
    merged: dict[float, AcceptanceCounts] = {}
    for entry in entries:
        if entry["source"] == "ngram":
            temperature = float(entry["temperature"])
            one = AcceptanceCounts(temperature, tuple(entry["tried"]), tuple(entry["accepted"]))
            other = merged.get(temperature, AcceptanceCounts(temperature, (), ()))
            merged[temperature] = AcceptanceCounts(
                temperature,
                tuple(a + b for a, b in zip_longest(one.tried, other.tried, fillvalue=0.0)),
                tuple(a + b for a, b in zip_longest(one.accepted, other.accepted, fillvalue=0.0)),
            )
    return tuple(merged[temperature] for temperature in sorted(merged))


def _acceptance(option: float | None, counts: Sequence[AcceptanceCounts], without: str, max_length: int) -> Acceptance:
    if option is not None:
        return Acceptance(arithmetic.constant_acceptance(option, max_length), f"a = {option}", "as asked for")
    for one in counts:
        if one.enough:
            origin = f"counted by the daemon at temperature {one.temperature:g}, {one.tried[0]:.0f} first guesses"
            return Acceptance(one.acceptances(max_length), "as counted", origin)
    by_depth = arithmetic.constant_acceptance(DEFAULT_ACCEPTANCE, max_length)
    return Acceptance(by_depth, f"a = {DEFAULT_ACCEPTANCE}", f"an assumption, since {without}")


def _measure(config: Config, paths: Paths) -> tuple[dict[str, Any], RoundCost]:
    from completiond.bench.engine import measure_lookup_ms, measure_verify
    from completiond.complete.open_completer import open_completer

    with Console(stderr=True).status("loading the model") as status:
        target = open_completer(config, paths).target
        status.update("timing passes")
        longest = min(config.spec.max_draft_tokens + 1, target.max_positions - 1)
        sizes = [size for size in VERIFY_SIZES if size < longest] + [longest]
        context_tokens = min(CONTEXT_TOKENS, target.max_positions - longest)
        pass_ms = measure_verify(target, sizes, context_tokens)
        lookup_ms = measure_lookup_ms(context_tokens)
    figures = {
        "model": config.model.name,
        "device": str(target.device),
        "dtype": target.dtype_name,
        "context_tokens": context_tokens,
        "pass_ms": {str(size): round(time_ms, 2) for size, time_ms in pass_ms.items()},
        "lookup_ms": round(lookup_ms, 4),
    }
    return figures, RoundCost.measured(pass_ms, lookup_ms)


def _show_measured(
    console: Console, measured: Mapping[str, Any], cost: RoundCost, chosen: Acceptance
) -> dict[str, Any]:
    max_length = len(chosen.by_depth)
    cases = {f"a = {a}": arithmetic.constant_acceptance(a, max_length) for a in ACCEPTANCES}
    cases[chosen.name] = chosen.by_depth
    lengths = range(1, max_length + 1)
    speedups = {name: [arithmetic.measured_speedup(case[:k], cost) for k in lengths] for name, case in cases.items()}
    best = {name: arithmetic.best_measured_length(case, cost) for name, case in cases.items()}
    times = {
        "ms": [cost.verify_ms(k + 1) for k in lengths],
        "T/T(1)": [cost.verify_ms(k + 1) / cost.verify_ms(1) for k in lengths],
    }
    view = _grid("time of a pass over k + 1 tokens, speedup for acceptance a", times | speedups, best)
    view.caption = f"plain decoding {cost.verify_ms(1):.1f} ms a token, a look-up {cost.lookup_ms:.3f} ms"
    console.print(f"\n[bold]This machine:[/bold] {measured['model']}, {measured['dtype']} on {measured['device']}")
    console.print(view)
    if disturbed := _disturbed(cost):
        console.print(
            "[yellow]Some longer passes took far less time than shorter ones: something else kept this machine busy, "
            "and what follows is not to be relied on. Run it again when the machine is quiet.[/yellow]"
        )
    break_even = arithmetic.break_even_acceptance(cost, max_length)
    return {
        "speedup": speedups,
        "best_length": best,
        "break_even_acceptance": break_even,
        "disturbed": disturbed,
    }


def _disturbed(cost: RoundCost) -> bool:
    """Work grows with the pass, so time may fall by an odd shape's few percent, but not by more."""
    times_ms = [time_ms for _, time_ms in cost.points]
    return any(later < DISTURBED * earlier for earlier, later in combinations(times_ms, 2))


def _show_choice(console: Console, cost: RoundCost, chosen: Acceptance) -> dict[str, Any]:
    by_depth = chosen.by_depth
    length = arithmetic.best_measured_length(by_depth, cost)
    tokens = arithmetic.expected_tokens(by_depth[:length])
    rates = [arithmetic.measured_speedup(by_depth[:k], cost) for k in range(len(by_depth) + 1)]
    nearly = [k for k, rate in enumerate(rates) if rate >= NEARLY * rates[length]]
    ms_per_token = cost.round_ms(length) / tokens
    break_even = arithmetic.break_even_acceptance(cost, len(by_depth))
    if break_even is None:
        why = "No draft pays on this machine, even if every guess is right: a longer pass costs more than it yields."
    elif length == 0:
        why = f"Drafting does not pay at this acceptance; it would from {break_even:.2f} on."
    else:
        why = (
            f"{tokens:.2f} tokens in {cost.round_ms(length):.1f} ms, {ms_per_token:.1f} ms a token "
            f"instead of {cost.verify_ms(1):.1f}. {_next_guess(by_depth, length, cost)} "
            f"Drafting pays from an acceptance of {break_even:.2f} on."
        )
    console.print(f"\n[bold]Acceptance[/bold] {by_depth[0]:.2f}: {chosen.origin}.")
    console.print(f"[bold]Draft length for n-gram drafts: {length}[/bold], speedup {rates[length]:.2f}. {why}")
    console.print(f"Within {1 - NEARLY:.0%} of it: {', '.join(map(str, nearly))}.")
    return {
        "length": length,
        "pays": length > 0,
        "speedup": rates[length],
        "tokens_per_pass": tokens,
        "ms_per_token": ms_per_token,
        "nearly_as_good": nearly,
        "acceptance": by_depth,
        "acceptance_origin": chosen.origin,
        "why": why,
    }


def _next_guess(by_depth: Sequence[float], length: int, cost: RoundCost) -> str:
    """Why the best length is not one more: its gain, turned into time at the best rate, is less than its cost."""
    if length == len(by_depth):
        return f"No more than {length} are ever drafted (spec.max_draft_tokens)."
    best_tokens = arithmetic.expected_tokens(by_depth[:length])
    gain = arithmetic.expected_tokens(by_depth[: length + 1]) - best_tokens
    gain_ms = gain * cost.round_ms(length) / best_tokens
    cost_ms = cost.round_ms(length + 1) - cost.round_ms(length)
    return f"One guess more would bring {gain:.2f} tokens, worth {gain_ms:.1f} ms, and cost {cost_ms:.1f} ms."


def _show_temperature(
    console: Console, cost: RoundCost, counts: Sequence[AcceptanceCounts], max_length: int
) -> dict[str, Any]:
    falls = arithmetic.temperature_falls(counts)
    rows: list[dict[str, float]] = []
    for one in (one for one in counts if one.enough):
        by_depth = one.acceptances(max_length)
        length = arithmetic.best_measured_length(by_depth, cost)
        rate = arithmetic.measured_speedup(by_depth[:length], cost)
        rows.append(
            {"temperature": one.temperature, "first_guesses": one.tried[0], "acceptance": by_depth[0]}
            | {"best_length": length, "speedup": rate}
        )
    if not falls:
        console.print(
            "[bold]Temperature[/bold]: its effect is unknown here until guesses are counted at two temperatures. "
            "A higher one flattens the target's choice; the columns of lower acceptance show what that would cost."
        )
        return {"known": False, "seen": rows, "falls": []}
    for row in rows:
        console.print(
            "[bold]Temperature[/bold] {temperature:g}: {acceptance:.2f} of {first_guesses:.0f} first guesses accepted, "
            "best length {best_length}, speedup {speedup:.2f}.".format(**row)
        )
    for fall in falls:
        verdict = "" if fall.low > 0 or fall.high < 0 else "; that may be chance"
        console.print(
            f"At {fall.temperature:g} acceptance is lower by {fall.fall:.2f} "
            f"(95 %: {fall.low:.2f} to {fall.high:.2f}{verdict})."
        )
    return {"known": True, "seen": rows, "falls": [asdict(fall) for fall in falls]}


def _rounded(value: Any) -> Any:
    """Numbers to four decimals, in whatever holds them."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


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
