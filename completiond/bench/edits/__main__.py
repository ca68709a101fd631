"""``python -m completiond.bench.edits``: what the edit benchmark consists of, without a model. A table, then one line
of JSON.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from completiond.bench.edits.events import generate_events
from completiond.bench.edits.summary import summarise
from completiond.bench.report import print_report
from completiond.commands.errors import reports_errors
from completiond.paths import Paths

app = typer.Typer(add_completion=False)


@app.command()
@reports_errors
def count(
    seed: Annotated[int, typer.Option(help="Order of independent files, and the choice of --limit.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Choose so many, from all classes alike.")] = None,
    project: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Only the line of JSON on standard output.")] = False,
) -> None:
    """Count the edits of each class between releases of open-source packages."""
    with Console(stderr=True).status("comparing releases") as status:
        summary = summarise(generate_events(Paths.from_environment(), seed, limit, project, on_step=status.update))
    print_report(summary.table(), {**summary.as_json(), "seed": seed}, as_json)


if __name__ == "__main__":
    app()
