"""Where a value is from, and what is wrong with one that is not used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

__all__ = ["Origin", "Problem", "shown", "shown_path", "told_together"]

MAX_SHOWN_CHARS = 60
MAX_TOLD = 3
"""Members of one list that are wrong."""

Layer = Literal["default", "file", "editor", "environment", "option", "repository"]
"""What can set a value, the weakest first; a repository stands beside the order, since it only narrows."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that sets values: a file with a line, counted from 1, or a name."""

    layer: Layer
    where: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if self.layer == "default":
            return "default"
        where = shown_path(self.where)
        return where if self.line is None else f"{where}:{self.line}"

    def at(self, line: int | None) -> Origin:
        """A line of the same file."""
        return replace(self, line=line)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the settings say and that is not followed. ``message`` is one line. ``is_doubt``: it is followed,
    and probably not what was meant.
    """

    origin: Origin
    message: str
    is_doubt: bool = False

    @property
    def identity(self) -> tuple[str, str]:
        """What makes it the same problem when lines are moved."""
        return self.origin.where, self.message

    def __str__(self) -> str:
        is_about_the_place = self.message.startswith(("is ", "has ", "cannot "))
        return f"{self.origin} {self.message}" if is_about_the_place else f"{self.origin}: {self.message}"


def shown(value: Any, cut: bool = True) -> str:
    """A value as JSON writes it, ``cut`` where it is long; whoever wrote it, it cannot move a terminal's cursor."""
    try:
        text = json.dumps(list(value) if isinstance(value, tuple) else value, default=str)
    except (ValueError, TypeError, RecursionError):  # a number of thousands of digits, a table inside a table inside ..
        text = type(value).__name__
    return text if len(text) <= MAX_SHOWN_CHARS or not cut else text[:MAX_SHOWN_CHARS] + "…"


def told_together(wrong: Sequence[str]) -> str:
    """What is wrong with the members of one list, as sentences in one line, without the last period."""
    told = [text.rstrip(".") for text in wrong[:MAX_TOLD]]
    more = len(wrong) - len(told)
    return ". ".join([*told, f"And {more} more"] if more else told)


def shown_path(path: str | Path) -> str:
    """A path as it is, or escaped if it holds what is not to be printed."""
    text = str(path)
    return text if text.isprintable() else ascii(text)
