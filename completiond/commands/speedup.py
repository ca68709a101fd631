"""``completiond speedup``: what drafting is worth, on paper and with the pass times of this machine."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from completiond.commands.errors import reports_errors
from completiond.commands.settings import read_settings
from completiond.commands.speedup_acceptance import ask_daemon, choose_acceptance
from completiond.commands.speedup_advice import show_choice, show_temperature
from completiond.commands.speedup_tables import show_lesson, show_measured
from completiond.config import Config
from completiond.errors import UsageError
from completiond.paths import Paths
from completiond.spec.speedup import RoundCost

__all__ = ["speedup"]

VERIFY_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CONTEXT_TOKENS: Final = 256
ROUNDS: Final = 7


@reports_errors
def speedup(
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON; the tables go to standard error.")] = False,
    no_measure: Annotated[bool, typer.Option("--no-measure", help="The arithmetic only: no model is needed.")] = False,
    acceptance: Annotated[
        float | None, typer.Option(help="Chance of a guess, 0 to 1; else the daemon's counts, else 0.8.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Another model than the configured one.")] = None,
) -> None:
    """Show what drafting is worth, and the drafter and draft length that suit this machine: does speculation pay?"""
    if no_measure and not (acceptance is None and model is None):
        raise UsageError("--acceptance and --model say nothing to --no-measure.", "Leave one side out.")
    if acceptance is not None and not 0.0 <= acceptance <= 1.0:
        raise UsageError(f"--acceptance {acceptance} is not a chance.", "Use 0 to 1.")
    console = Console(stderr=as_json, highlight=False)
    result: dict[str, Any] = {"lesson": show_lesson(console), "measured": None, "choice": None, "temperature": None}
    if not no_measure:
        paths = Paths.from_environment()
        config = read_settings(paths, model)
        counted = ask_daemon(paths, config.model.name)
        measured, cost, is_busy = _measure(config, paths)
        length = min(config.spec.max_draft_tokens, cost.passes.max_tokens - 1)
        chosen = choose_acceptance(acceptance, counted, length)
        machine = f"{measured['model']}, {measured['dtype']} on {measured['device']}"
        result["measured"] = measured | show_measured(console, machine, cost, chosen, is_busy)
        result["choice"] = show_choice(console, cost, chosen, config.spec)
        result["temperature"] = show_temperature(console, cost, counted.counts, length)
    if as_json:
        typer.echo(json.dumps(_rounded(result)))


def _measure(config: Config, paths: Paths) -> tuple[dict[str, Any], RoundCost, bool]:
    """Load the model and time its passes up to the longest draft's, and a look-up; say whether others were at work."""
    import torch

    from completiond.bench.engine import measure_lookup_ms
    from completiond.bench.other_work import OtherWork
    from completiond.complete.open_completer import open_completer
    from completiond.engine.measure import measure_passes

    with Console(stderr=True).status("loading the model") as status:
        target = open_completer(config, paths).target
        status.update("timing passes")
        longest = min(config.spec.max_draft_tokens + 1, target.max_positions - 1)
        sizes = [size for size in VERIFY_SIZES if size < longest] + [longest]
        context_tokens = min(CONTEXT_TOKENS, target.max_positions - longest)
        others = OtherWork()
        passes = measure_passes(target, sizes, context_tokens, ROUNDS)
        others.stop()
        lookup_ms = measure_lookup_ms(context_tokens)
    figures = {
        "model": config.model.name,
        "device": str(target.device),
        "dtype": target.dtype_name,
        "context_tokens": context_tokens,
        "pass_ms": {str(size): round(time_ms, 2) for size, time_ms in passes.as_dict().items()},
        "lookup_ms": round(lookup_ms, 4),
        "other_cpus": others.cpus,
    }
    num_threads = torch.get_num_threads() if str(target.device) == "cpu" else 1
    return figures, RoundCost(passes, lookup_ms), others.disturbs(num_threads)


def _rounded(value: Any) -> Any:
    """Numbers to four decimals, in whatever holds them."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value
