"""A cursor in a source file, what a programmer wrote there, and what a suggestion may and may not be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from completiond.bench.places.suggestion import Suggestion

__all__ = ["Kind", "MarkedPlace"]

Kind = Literal[
    "above a closing brace",
    "after else",
    "attribute in a tag",
    "between brackets",
    "between tags",
    "blank line in a block",
    "body of a function",
    "body of a rule",
    "call arguments",
    "CSS value",
    "end of a line",
    "half a word",
    "inside a string",
    "middle of a line",
    "start of a class body",
]


@dataclass(frozen=True, slots=True)
class MarkedPlace:
    """``prefix``, ``reference`` and ``suffix`` together are the file, with its own line ends.

    The patterns are searched in the suggestion with line ends ``\\n``: one of ``must`` has to be found, none of
    ``may_not``. ``line`` counts from 1.
    """

    language: str
    file: str
    line: int
    kind: Kind
    prefix: str
    suffix: str
    reference: str
    must: tuple[re.Pattern[str], ...]
    may_not: tuple[re.Pattern[str], ...] = ()
    single_line: bool = False

    @property
    def name(self) -> str:
        """Where it is: ``go/apiary.go:47``."""
        return f"{self.language}/{self.file}:{self.line}"

    def accepts(self, text: str) -> bool:
        """Whether a suggestion is what was wanted here; defects are another matter."""
        text = text.replace("\r\n", "\n")
        if self.single_line and "\n" in text:
            return False
        return any(one.search(text) for one in self.must) and not any(one.search(text) for one in self.may_not)

    def with_text(self, text: str) -> Suggestion:
        """``text`` in this place."""
        return Suggestion(self.file, self.prefix, self.suffix, text, self.reference)
