"""What the settings exclude, ready to judge files; what is wrong with ignore files is logged."""

from __future__ import annotations

import logging

from completiond.config import ExcludeConfig
from completiond.exclude.exclusions import Exclusions
from completiond.exclude.ignore_file import Problem

__all__ = ["exclusions_of"]

log = logging.getLogger(__name__)


def exclusions_of(exclude: ExcludeConfig) -> Exclusions:
    """What ``exclude`` takes out."""
    return Exclusions(exclude.globs, exclude.gitignore, on_problem=_warn_of)


def _warn_of(problem: Problem) -> None:
    log.warning("%s", problem)
