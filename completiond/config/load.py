"""The settings of a command that reads them once."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from completiond.config.environment import layer_of_environment
from completiond.config.layer import layer_of_file
from completiond.config.problem import Origin, Problem
from completiond.config.resolve import resolve
from completiond.config.sections import Config
from completiond.config.toml_file import read_toml

__all__ = ["MAX_USER_FILE_BYTES", "load_config"]

log = logging.getLogger(__name__)

MAX_USER_FILE_BYTES = 1 << 20


def _log(problem: Problem) -> None:
    log.warning("%s", problem)


def load_config(
    file: Path, environment: Mapping[str, str] = os.environ, report: Callable[[Problem], None] = _log
) -> Config:
    """The defaults, the user's ``file`` (which need not exist) and the environment; later ones win.

    Never raises for what they say: each wrong value is told to ``report``, and what is weaker stands in its place.
    """
    origin = Origin("file", str(file))
    layers = (layer_of_file(read_toml(file, origin, MAX_USER_FILE_BYTES)), layer_of_environment(environment))
    for layer in layers:
        for problem in layer.problems:
            report(problem)
    return resolve(layers).config
