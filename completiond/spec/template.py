"""A text that the answer follows with changes: what is rewritten, a line above, a place that was copied from.

The answer leaves its template where the two differ: by a name, an argument more, a line less. An alignment says where
it comes back, and what took the place of what: the same replacement is made in what is drafted next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from completiond.spec.alignment import Alignment, Arrival
from completiond.spec.parts import PartSwap

__all__ = ["Continuation", "Template", "swap_parts"]

MAX_DRAFT_PARTS = 64
MAX_COST = 20.0
"""Of an alignment: some twenty words that the source does not have."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """``text`` may follow; ``match`` parts before it agree, and ``origin`` says how it was found."""

    text: str
    origin: str
    match: int


class Template:
    """``name`` says what ``source`` is. The answer begins where ``source`` does."""

    def __init__(self, name: str, source: str, written: str = "") -> None:
        """``written`` is the part of the answer that is there already."""
        self.name = name
        self._alignment = Alignment(source)
        if written:
            self._alignment.write(written)

    def write(self, text: str) -> None:
        """The answer goes on with ``text``."""
        self._alignment.write(text)

    @property
    def is_lost(self) -> bool:
        """Whether the answer has become another text."""
        return self._alignment.cost > MAX_COST

    def continuations(self) -> list[Continuation]:
        """What may come next, the likeliest first."""
        swaps: dict[bool, list[PartSwap]] = {}  # read off once for each kind of arrival that there is
        found = []
        for arrival in self._alignment.arrivals():
            is_whole = not arrival.inside_chars
            if is_whole not in swaps:
                swaps[is_whole] = self._alignment.swaps(with_last=is_whole)
            if text := self._text(arrival, swaps[is_whole]):
                found.append(Continuation(text, f"{self.name}, {arrival.move}", arrival.agreeing))
        return found

    def _text(self, arrival: Arrival, pairs: Sequence[PartSwap]) -> str:
        parts = self._alignment.parts[arrival.part : arrival.part + MAX_DRAFT_PARTS]
        if arrival.inside_chars:
            return parts[0][arrival.inside_chars :] + "".join(swap_parts(parts[1:], pairs))
        return "".join(swap_parts(parts, pairs))


def swap_parts(parts: Sequence[str], pairs: Sequence[PartSwap]) -> list[str]:
    """``parts`` with each old run of words replaced, in the case it has there."""
    result: list[str] = []
    place = 0
    while place < len(parts):
        for old, new in pairs:
            here = parts[place : place + len(old)]
            if len(here) == len(old) and all(a.lower() == b.lower() for a, b in zip(here, old, strict=True)):
                result += _in_case_of(here, old, new)
                place += len(old)
                break
        else:
            result.append(parts[place])
            place += 1
    return result


def _in_case_of(here: Sequence[str], old: Sequence[str], new: Sequence[str]) -> list[str]:
    """``new``, written as ``here`` is where ``old`` was written otherwise."""
    if list(here) == list(old):
        return list(new)
    text = "".join(here)
    if text.isupper():
        return [part.upper() for part in new]
    if text.islower():
        return [part.lower() for part in new]
    return [part[:1].upper() + part[1:] for part in new]
