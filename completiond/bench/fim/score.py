"""What one answer to a hole is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from completiond.bench.fim.cut import cut_to_reference
from completiond.bench.fim.hole import FimHole
from completiond.bench.fim.similarity import similarity

__all__ = ["FimAnswer", "Passes", "Score", "score"]

Passes = Callable[[str], bool]
"""Whether a program runs to its end, as ``FimHole.program`` makes them."""


@dataclass(frozen=True, slots=True)
class FimAnswer:
    """``tokens`` and ``ms_per_token`` are None where they are not known, or not this answer's alone."""

    text: str
    tokens: int | None = None
    ms_per_token: float | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """``passed``: the problem's tests pass with the answer in the hole.

    ``exact``: the hole's lines are the reference's, blanks at their very end aside.
    ``similarity``: of answer and reference, blanks at their ends aside; 0.0 to 1.0 (see ``similarity``).
    ``overran``: the answer goes on past the reference. It is longer than what ``cut_to_reference`` leaves of it: it has
    more lines that are not blank than the reference, or writes again what stands right of the hole. A longer solution
    of another kind is no overrun: where the whole answer passes and what is left of it does not, the rest was needed.
    ``empty``: nothing but blanks.
    """

    passed: bool
    exact: bool
    similarity: float
    overran: bool
    empty: bool
    tokens: int | None
    ms_per_token: float | None


def score(answer: FimAnswer, hole: FimHole, passes: Passes) -> Score:
    """Judge one answer; ``passes`` is asked once or, if there is something past the reference, twice."""
    text, expected = answer.text, hole.expected
    passed = passes(hole.program(text))
    cut = cut_to_reference(text, hole)
    is_longer = cut.rstrip() != text.rstrip()
    return Score(
        passed=passed,
        exact=(text + hole.right).rstrip() == (expected + hole.right).rstrip(),
        similarity=similarity(text.rstrip(), expected.rstrip()),
        overran=is_longer and not (passed and not passes(hole.program(cut))),
        empty=not text.strip(),
        tokens=answer.tokens,
        ms_per_token=answer.ms_per_token,
    )
