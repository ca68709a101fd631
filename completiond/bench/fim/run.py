"""Ask at each hole, and score what comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from completiond.bench.fim.hole import FimHole, FimKind
from completiond.bench.fim.sandbox import run_program
from completiond.bench.fim.score import FimAnswer, Score, score

__all__ = ["Ask", "FimRun", "run_fim"]

Ask = Callable[[FimHole], Mapping[str, FimAnswer]]
"""Answers to a hole by the names of the ways they were made."""


@dataclass(frozen=True, slots=True)
class FimRun:
    """One hole; ``scores`` by the names of the answers."""

    kind: FimKind
    scores: Mapping[str, Score]


def run_fim(holes: Iterable[FimHole], ask: Ask) -> Iterator[FimRun]:
    """Raises what ``ask`` and ``run_program`` do."""
    for hole in holes:
        outcomes: dict[str, bool] = {}  # answers of one hole are often the same

        def passes(program: str, outcomes: dict[str, bool] = outcomes) -> bool:
            if program not in outcomes:
                outcomes[program] = run_program(program) == "passed"
            return outcomes[program]

        yield FimRun(hole.kind, {name: score(answer, hole, passes) for name, answer in ask(hole).items()})
