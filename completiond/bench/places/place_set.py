"""The places: source files written for this benchmark, each with a list of cursors beside it.

``files/LANGUAGE/NAME`` is a whole program text. ``NAME.toml`` names places in it: the cursor stands behind ``after``,
and ``reference``, which follows it in the file, is taken out; together they occur once. Files lie here with line ends
``\\n``; those that ``line_ends`` calls ``crlf`` are given to the model with ``\\r\\n``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from completiond.bench.places.marked_place import Kind, MarkedPlace

__all__ = ["LANGUAGES", "places_of", "read_places"]

LANGUAGES: Final = ("python", "typescript", "javascript", "go", "rust", "java", "cpp", "html-css")


class _Mark(BaseModel):
    """One place, as it is written down."""

    model_config = ConfigDict(extra="forbid")
    kind: Kind
    after: str
    reference: str
    must: tuple[re.Pattern[str], ...] = Field(min_length=1)
    may_not: tuple[re.Pattern[str], ...] = ()
    single_line: bool = False


class _Marks(BaseModel):
    """All places of a file."""

    model_config = ConfigDict(extra="forbid")
    line_ends: Literal["lf", "crlf"] = "lf"
    place: tuple[_Mark, ...]


def read_places(languages: Sequence[str] = LANGUAGES) -> Iterator[MarkedPlace]:
    """The places of some languages, file by file."""
    for language in languages:
        yield from places_of(language, resources.files("completiond.bench.places") / "files" / language)


def places_of(language: str, folder: Traversable) -> Iterator[MarkedPlace]:
    """The places of all files in a folder. Raises ValueError for a list that does not fit its file."""
    for marks in sorted(folder.iterdir(), key=lambda one: one.name):
        if marks.name.endswith(".toml"):
            source = folder / marks.name.removesuffix(".toml")
            yield from _places(language, source, _Marks.model_validate(tomllib.loads(marks.read_text("utf-8"))))


def _places(language: str, source: Traversable, marks: _Marks) -> Iterator[MarkedPlace]:
    text = source.read_text("utf-8")
    for mark in marks.place:
        whole = mark.after + mark.reference
        if text.count(whole) != 1:
            raise ValueError(f"{source.name} has {text.count(whole)} places {whole!r}, not one")
        begin = text.index(whole) + len(mark.after)
        prefix, suffix = text[:begin], text[begin + len(mark.reference) :]
        prefix, reference, suffix = (
            part.replace("\n", "\r\n") if marks.line_ends == "crlf" else part
            for part in (prefix, mark.reference, suffix)
        )
        yield MarkedPlace(
            language, source.name, prefix.count("\n") + 1, mark.kind, prefix, suffix, reference, mark.must,
            mark.may_not, mark.single_line,
        )  # fmt: skip
