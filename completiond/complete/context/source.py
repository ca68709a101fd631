"""One open document as it may be told of, with what was read off it: once for each text it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from completiond.complete.context.grammars import Grammars
from completiond.complete.context.outline import Outline, outline_of
from completiond.complete.context.piece import IDENTIFIER

__all__ = ["WINDOW_LINES", "Source", "Window"]

WINDOW_LINES: Final = 20
STEP_LINES: Final = 10
MAX_WINDOWED_LINES: Final = 10_000
"""Windows of one document that are compared cost some 20 ms then."""

_OF_FOLDER: Final = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Files that are imported by their folder's name."""


@dataclass(frozen=True, slots=True)
class Window:
    """``names`` in the WINDOW_LINES lines from ``first_line`` on."""

    first_line: int
    names: frozenset[str]


class Source:
    """``document`` is the client's name for it, ``path`` what the repository calls it, ``version`` changes with each
    change. ``lines`` have no line ends; those that may not be told are empty.
    """

    def __init__(self, document: str, path: str, version: int, lines: Sequence[str], grammars: Grammars) -> None:
        self.document = document
        self.path = path
        self.version = version
        self.lines = lines
        self._grammars = grammars

    @cached_property
    def outline(self) -> Outline:
        """What it defines and imports."""
        return outline_of(self.path, self.lines, self._grammars)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Each begins STEP_LINES below the one before."""
        lines = self.lines[:MAX_WINDOWED_LINES]
        names = [frozenset(IDENTIFIER.findall(line)) for line in lines]
        starts = range(0, max(1, len(lines) - STEP_LINES), STEP_LINES)
        return tuple(Window(start, frozenset().union(*names[start : start + WINDOW_LINES])) for start in starts)

    @cached_property
    def module_words(self) -> frozenset[str]:
        """The words by which an import names it."""
        path = PurePosixPath(self.path)
        name = path.name.partition(".")[0]
        return frozenset(IDENTIFIER.findall(path.parent.name if name in _OF_FOLDER else name))

    @property
    def folder(self) -> str:
        """What it lies in; "" for the repository's own folder."""
        return self.path.rpartition("/")[0]
