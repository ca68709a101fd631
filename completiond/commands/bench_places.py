"""``completiond bench places``: are suggestions what is wanted, and what is wrong with them?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from completiond.commands.bench_options import AsJson, Model, open_model
from completiond.commands.errors import reports_errors
from completiond.errors import UsageError

__all__ = ["places"]


@reports_errors
def places(
    as_json: AsJson = False,
    model: Model = None,
    language: Annotated[str | None, typer.Option(help="Only the places in this language.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Each suggestion in its place, and in the JSON.")] = False,
) -> None:
    """Judge suggestions at places in files written for this: are they what is wanted, and what is wrong with them?"""
    from completiond.bench.places.outcome import run_places
    from completiond.bench.places.place_set import LANGUAGES, read_places
    from completiond.bench.places.report import outcome_json, outcome_panel, places_json, places_table
    from completiond.bench.report import print_report

    if language is not None and language not in LANGUAGES:
        raise UsageError(f"--language {language} is not known.", f"Use one of {', '.join(LANGUAGES)}.")
    completer, console, outcomes = open_model(model), Console(stderr=as_json), []
    marked = list(read_places(LANGUAGES if language is None else (language,)))
    with Console(stderr=True).status("completing") as status:
        for outcome in run_places(marked, completer):
            outcomes.append(outcome)
            status.update(f"completing {len(outcomes)}/{len(marked)}")
            if show:
                console.print(outcome_panel(outcome))
    name = completer.config.model.name
    result = {"model": name, "languages": places_json(outcomes)}
    if show:
        result["suggestions"] = [outcome_json(outcome) for outcome in outcomes]
    print_report(places_table(outcomes, f"{name}: suggestions at places in new files"), result, as_json)
