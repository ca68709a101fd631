"""The settings as a command reads them: each problem is a line on standard error, and the command goes on."""

from __future__ import annotations

import typer

from completiond.config import Config, Problem, load_config
from completiond.config.setting import Name, Value
from completiond.config.settings import Report, Settings, ignore
from completiond.errors import ConfigError
from completiond.paths import Paths

__all__ = ["follow_settings", "read_settings", "warn_of"]


def read_settings(paths: Paths, model: str | None = None, refuse: bool = False) -> Config:
    """What the user has set, with another ``model`` unless it is None.

    With ``refuse``, for work of hours, raises ConfigError at the first wrong value.
    """

    def report(problem: Problem) -> None:
        if refuse and not problem.is_doubt:
            raise ConfigError(str(problem), "Correct it, or remove it to use the default.")
        warn_of(problem)

    return load_config(paths.config_file, report=report).with_model(model)


def follow_settings(
    paths: Paths, model: str | None = None, report: Report = ignore, http: str | None = None
) -> Settings:
    """The same with those of repositories, for a process that goes on while files change; see Settings. ``http``:
    where to serve that, unless it is None.
    """
    here = None if model is None else ""  # who names a model wants it on this machine
    given: dict[Name, Value | None] = {("model", "name"): model, ("engine", "remote"): here, ("api", "http"): http}
    options = {name: value for name, value in given.items() if value is not None}
    return Settings(paths.config_file, options=options, trust_file=paths.trust_file, report=report)


def warn_of(problem: Problem) -> None:
    """Write it to standard error."""
    typer.echo(f"completiond: {problem}", err=True)
