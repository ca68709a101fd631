"""``completiond bench context``: what are other open files worth in the prompt?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from completiond.commands.bench_options import AsJson, Model, open_model
from completiond.commands.errors import reports_errors
from completiond.errors import UsageError
from completiond.paths import Paths

__all__ = ["context"]


@reports_errors
def context(
    as_json: AsJson = False,
    model: Model = None,
    limit: Annotated[int, typer.Option(min=1, help="Places, of all projects alike.")] = 48,
    minutes: Annotated[float, typer.Option(min=0.0, help="Begin no further place after so many; 0: no limit.")] = 0.0,
    tokens: Annotated[
        list[int] | None, typer.Option(min=0, help="prompt.context_tokens; may be given several times [0, 256, 512].")
    ] = None,
) -> None:
    """Complete what other open files define, calls and members, with and without telling the model of these."""
    import time

    from completiond.bench.context import context_json, context_table, measure_context, read_places
    from completiond.bench.report import print_report

    completer, sizes = open_model(model), tokens or [0, 256, 512]
    prompt = completer.config.prompt
    need = max(sizes) + prompt.prefix_tokens + prompt.suffix_tokens + 64
    if need > completer.kv.capacity_tokens:
        raise UsageError(
            f"--tokens {max(sizes)} does not fit into {completer.kv.capacity_tokens} tokens of context.",
            f"Use less, or set model.context_tokens to {need} or more.",
        )
    runs, began = [], time.monotonic()
    with Console(stderr=True).status("reading releases") as status:
        places = read_places(limit, Paths.from_environment())
        for run in measure_context(places, completer, sizes):
            runs.append(run)
            status.update(f"completing {len(runs)}/{len(places) * len(sizes)}")
            is_over = minutes and time.monotonic() - began > 60.0 * minutes
            if is_over and len(runs) % len(sizes) == 0:
                break
    name = completer.config.model.name
    result = {"model": name, "context": context_json(runs)}
    print_report(context_table(runs, f"{name}: what other open files define"), result, as_json)
