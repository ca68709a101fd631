"""``completiond model``: the weights on this machine."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Annotated

import rich.progress
import typer
from rich.console import Console
from rich.table import Table

from completiond.commands.errors import INTERRUPTED_STATUS, fail, reports_errors
from completiond.commands.settings import read_settings
from completiond.models import catalog
from completiond.models.disk import format_bytes
from completiond.models.fetch import pull
from completiond.models.resolve import model_state, resolve, verify
from completiond.paths import Paths

__all__ = ["app"]

app = typer.Typer(help="Download, list and check models.", no_args_is_help=True)

_Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A catalogue name, a folder, a .gguf file or a hub id (owner/name); the configured model when omitted.",
        show_default=False,
    ),
]

_STATE_STYLES = {"ready": "green", "missing": "dim", "partial": "yellow", "corrupt": "red"}


class _Bar:
    """Progress on standard error: lines about what goes on, and below them a bar when that is a terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = rich.progress.Progress(
            rich.progress.BarColumn(),
            rich.progress.DownloadColumn(),
            rich.progress.TransferSpeedColumn(),
            rich.progress.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: rich.progress.TaskID | None = None

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)

    def bytes_done(self, done_bytes: int, total_bytes: int) -> None:
        if self._task is None:
            self._task = self._bar.add_task("", total=total_bytes)
        self._bar.update(self._task, completed=done_bytes, total=total_bytes)


def _name_or_configured(name: str | None, paths: Paths) -> str:
    return read_settings(paths).model.name if name is None else name


@app.command("list")
@reports_errors
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the models of the catalogue and what is here of each."""
    paths = Paths.from_environment()
    states = {name: model_state(entry, paths) for name, entry in catalog.CATALOGUE.items()}
    if as_json:
        rows = [
            {
                "name": entry.name,
                "size_bytes": entry.file.size_bytes,
                "licence": entry.licence,
                "fim": entry.fim,
                "state": states[entry.name].kind,
                "reason": states[entry.name].reason,
                "path": str(states[entry.name].path),
                "description": entry.description,
            }
            for entry in catalog.CATALOGUE.values()
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("Name", "Size", "Licence", "Sees", "State", "Description", box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    for entry in catalog.CATALOGUE.values():
        kind = states[entry.name].kind
        table.add_row(
            entry.name,
            format_bytes(entry.file.size_bytes),
            entry.licence,
            "FIM" if entry.fim else "prefix-only",
            f"[{_STATE_STYLES[kind]}]{kind}",
            entry.description,
        )
    Console().print(table)


@app.command("pull")
@reports_errors
def pull_model(name: _Name = None) -> None:
    """Download a model, or go on with a download that was interrupted."""
    paths = Paths.from_environment()
    name = _name_or_configured(name, paths)
    try:
        with _Bar() as bar:
            path = pull(name, paths, bar)
    except KeyboardInterrupt:
        text = f"interrupted. What has arrived is kept: `completiond model pull {name}` goes on from there."
        raise fail(text, INTERRUPTED_STATUS) from None
    typer.echo(f"{name} is ready: {path}")


@app.command("path")
@reports_errors
def print_path(name: _Name = None) -> None:
    """Print where a model's file or folder is, and nothing else."""
    paths = Paths.from_environment()
    typer.echo(resolve(_name_or_configured(name, paths), paths))


@app.command("verify")
@reports_errors
def verify_model(name: _Name = None) -> None:
    """Read a model's files and compare their SHA-256."""
    paths = Paths.from_environment()
    name = _name_or_configured(name, paths)
    with _Bar() as bar:
        path = verify(name, paths, bar)
    typer.echo(f"{name} is whole: {path}")
