"""``completiond bench fim``: are answers right, and do they end where they should?"""

from __future__ import annotations

import functools
from typing import Annotated

import typer
from rich.console import Console

from completiond.commands.bench_options import AsJson, Model, open_model
from completiond.commands.errors import reports_errors
from completiond.commands.settings import read_settings
from completiond.errors import UsageError
from completiond.paths import Paths

__all__ = ["fim"]


@reports_errors
def fim(
    as_json: AsJson = False,
    model: Model = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="single, multi or span; may be given several times [default: all].")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Holes of each kind [default: 300 single, 150 multi, 150 span].")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, max=512, help="Most tokens of an answer [default: completion.max_tokens].")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which holes: with another number, others.")] = 0,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this server's llama.cpp /infill instead of completiond.")
    ] = None,
) -> None:
    """Judge answers to holes in HumanEval's solutions: do the tests pass, and do answers end where they should?

    Runs what the model wrote, in a sandbox.
    """
    from completiond.bench.fim.hole import DEFAULT_LIMITS, KINDS, make_holes
    from completiond.bench.fim.infill import InfillServer
    from completiond.bench.fim.product import ask_completer
    from completiond.bench.fim.report import fim_criterion, fim_json, fim_table
    from completiond.bench.fim.run import Ask, run_fim
    from completiond.bench.human_eval import read_problems
    from completiond.bench.report import print_report

    if unknown := [name for name in kind or () if name not in KINDS]:
        raise UsageError(f"--kind {unknown[0]} is not known.", f"Use {', '.join(KINDS)}.")
    if server is not None and model is not None:
        raise UsageError("--model says nothing of another server.", "Leave out --model or --server.")
    paths = Paths.from_environment()
    ask: Ask
    if server is not None:
        max_tokens = tokens or read_settings(paths).completion.max_tokens
        ask, asked = InfillServer(server, max_tokens).ask, server
    else:
        completer = open_model(model)
        max_tokens = tokens or completer.config.completion.max_tokens
        ask = functools.partial(ask_completer, completer=completer, max_tokens=max_tokens)
        asked = completer.config.model.name
    with Console(stderr=True).status("reading") as status:
        problems = read_problems(paths, status.update)
        kinds = [name for name in KINDS if kind is None or name in kind]
        holes = [hole for name in kinds for hole in make_holes(name, problems, limit or DEFAULT_LIMITS[name], seed)]
        runs = []
        for run in run_fim(holes, ask):
            runs.append(run)
            status.update(f"answering {len(runs)}/{len(holes)}")
    figures = fim_json(runs)
    view = fim_table(figures, f"{asked}: holes in HumanEval's solutions")
    result = {
        "asked": asked,
        "max_tokens": max_tokens,
        "seed": seed,
        "holes": figures,
        "criterion": fim_criterion(figures),
    }
    print_report(view, result, as_json)
