"""``completiond config``: what is set, where, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from completiond.commands.daemon_settings import ask_daemon
from completiond.commands.errors import reports_errors
from completiond.commands.settings import follow_settings, warn_of
from completiond.config.json_schema import schema_json
from completiond.config.narrow import excluded_by
from completiond.config.problem import Problem, shown, shown_path
from completiond.config.setting import all_settings
from completiond.errors import UsageError
from completiond.paths import Paths

__all__ = ["app"]

app = typer.Typer(help="Settings: what is in effect, where it is from, and what is wrong.", no_args_is_help=True)

_Place = Annotated[
    Path | None,
    typer.Argument(metavar="PATH", help="A file or folder, for what its repository narrows.", show_default=False),
]


@app.command()
@reports_errors
def show(
    path: _Place = None,
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value is from.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with origins.")] = False,
) -> None:
    """Print the settings in effect, as a command in this terminal has them: without those that an editor sends.

    Where a daemon runs that has another value (it keeps the one before a wrong one, for instance), that stands beside.
    """
    paths = Paths.from_environment()
    settings, place = follow_settings(paths), _place(path)
    found = settings.explain("", place)
    daemon = ask_daemon(paths, settings, place)
    excluded = excluded_by(settings.repository.of(place)) if place else []
    if as_json:
        values: dict[str, Any] = {}
        for (section, key), where in found.origins.items():
            entry = values.setdefault(section, {})[key] = {"value": found[section, key], "origin": str(where)}
            if (section, key) in daemon.others:
                entry["daemon"] = daemon.others[section, key]
        values["repository_exclusions"] = [{"value": globs, "origin": shown_path(file)} for file, globs in excluded]
        typer.echo(json.dumps(values))
    else:
        last = ""
        for setting in all_settings().values():
            if setting.section != last:
                typer.echo(f"{chr(10) if last else ''}[{setting.section}]")
                last = setting.section
            notes = [str(found.origins[setting.name])] if origin else []
            if setting.name in daemon.others:
                notes.append(f"the daemon that runs has {shown(daemon.others[setting.name], cut=False)}")
            note = f"  # {'; '.join(notes)}" if notes else ""
            typer.echo(f"{setting.key} = {shown(found[setting.name], cut=False)}{note}")
        for file, globs in excluded:
            typer.echo(f"# besides, {shown_path(file)} excludes {shown(globs, cut=False)}")
    _warn(settings.problems())
    for line in daemon.problems:
        typer.echo(f"completiond: the daemon that runs says: {line}", err=True)


@app.command("path")
@reports_errors
def print_path() -> None:
    """Print where the user's file is, which need not exist, and nothing else."""
    typer.echo(Paths.from_environment().config_file)


@app.command()
@reports_errors
def check(path: _Place = None) -> None:
    """Say what is wrong with the settings, the environment, and the repository here.

    Exit status 1 if anything is; what may be misspelled, and counts all the same, is only told.
    """
    settings = follow_settings(Paths.from_environment())
    settings.explain("", _place(path or Path.cwd()))
    problems = settings.problems()
    _warn(problems)
    if not all(problem.is_doubt for problem in problems):
        raise typer.Exit(1)
    typer.echo("Nothing is wrong for certain." if problems else "The settings are right.")


@app.command()
@reports_errors
def schema(
    repository: Annotated[
        bool, typer.Option("--repository", help="That of a repository's .completiond.toml instead.")
    ] = False,
) -> None:
    """Print the JSON schema of config.toml, by which editors complete and check it."""
    typer.echo(schema_json("repository" if repository else "config"), nl=False)


def _place(path: Path | None) -> str:
    """Of a folder, what is set for the files in it."""
    if path is None:
        return ""
    if not path.absolute().parent.is_dir():  # a file may be new
        raise UsageError(f"There is no folder {path.parent}.", "Check the path.")
    return str(path.absolute() / "*") if path.is_dir() else str(path.absolute())


def _warn(problems: Iterable[Problem]) -> None:
    for problem in problems:
        warn_of(problem)
