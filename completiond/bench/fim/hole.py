"""Holes that tests can judge, in HumanEval's reference solutions: lines, runs of lines, and spans of characters."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final, Literal

from completiond.bench.human_eval import Problem

__all__ = ["DEFAULT_LIMITS", "KINDS", "FimHole", "FimKind", "make_holes"]

FimKind = Literal["single", "multi", "span"]
KINDS: Final[tuple[FimKind, ...]] = ("single", "multi", "span")
DEFAULT_LIMITS: Final[Mapping[FimKind, int]] = MappingProxyType({"single": 300, "multi": 150, "span": 150})
MULTI_LINES: Final = range(2, 7)
MAX_SPAN_CHARS: Final = 120
"""About half of what the default length of an answer, 64 tokens, can hold."""


@dataclass(frozen=True, slots=True)
class FimHole:
    """Characters ``[begin, end)`` of the problem's solution are to be written again.

    Holes of lines begin where their first line's text does: its indentation stands, as where an editor has put it,
    and as llama.cpp's ``/infill`` was measured (with the indentation left to the model it did worse). They end before
    the last line's end.
    """

    kind: FimKind
    problem: Problem
    begin: int
    end: int

    @property
    def name(self) -> str:
        """Unique among the holes of all kinds."""
        return f"{self.problem.task_id} {self.kind} {self.begin}-{self.end}"

    @property
    def prefix(self) -> str:
        """The file before the hole."""
        return self.problem.prompt + self.problem.solution[: self.begin]

    @property
    def expected(self) -> str:
        """The reference: what was there."""
        return self.problem.solution[self.begin : self.end]

    @property
    def suffix(self) -> str:
        """The file behind the hole."""
        return self.problem.solution[self.end :]

    @property
    def right(self) -> str:
        """What is left of the hole's last line behind it."""
        return self.suffix.partition("\n")[0]

    def program(self, answer: str) -> str:
        """A program that raises unless the solution with ``answer`` in the hole passes the problem's tests."""
        solved = self.prefix + answer + self.suffix
        return f"{solved}\n{self.problem.test}\ncheck({self.problem.entry_point})\n"


def make_holes(kind: FimKind, problems: Sequence[Problem], limit: int, seed: int = 0) -> list[FimHole]:
    """At most ``limit`` holes, in the order of the problems, the same ones each time.

    All places a kind can have are lined up and cut into ``limit`` equal parts; one is drawn from each. So long
    solutions have more holes than short ones, in the proportion of their lines (``single``), of their runs of 2 to 6
    lines (``multi``), or of their characters (``span``: where one begins; it has 1 to 120 characters, not all blank).
    """
    rng = random.Random(f"{kind} {seed}")
    if kind == "span":
        return list(_spans(problems, limit, rng))
    lengths = range(1, 2) if kind == "single" else MULTI_LINES
    places = [(problem, *place) for problem in problems for place in _runs_of_lines(problem.solution, lengths)]
    return [FimHole(kind, *places[index]) for index in _one_of_each_part(len(places), limit, rng)]


def _runs_of_lines(solution: str, lengths: range) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of as many lines whose first and last are not blank."""
    lines = solution.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for first, line in enumerate(lines):
        for last in (first + length - 1 for length in lengths):
            if last < len(lines) and line.strip() and lines[last].strip():
                yield starts[first] + len(line) - len(line.lstrip()), starts[last] + len(lines[last])


def _spans(problems: Sequence[Problem], limit: int, rng: random.Random) -> Iterator[FimHole]:
    texts = [problem.solution.rstrip() for problem in problems]
    starts = [0, *accumulate(map(len, texts))]
    for place in _one_of_each_part(starts[-1], limit, rng):
        index = bisect_right(starts, place) - 1
        text, begin = texts[index], place - starts[index]
        end = min(begin + rng.randint(1, MAX_SPAN_CHARS), len(text))
        blank = len(text[begin:]) - len(text[begin:].lstrip())
        yield FimHole("span", problems[index], begin, max(end, begin + blank + 1))


def _one_of_each_part(total: int, count: int, rng: random.Random) -> Iterator[int]:
    """An index of each of ``count`` equal parts of ``range(total)``; all of them if there are no more."""
    count = min(total, count)
    for part in range(count):
        yield rng.randrange(part * total // count, (part + 1) * total // count)
