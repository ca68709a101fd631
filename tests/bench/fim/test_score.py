"""What the figures mean: similarity, the cut at the reference's end, passing, overrun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.bench.fim.cut import cut_to_reference, has_reference_lines
from completiond.bench.fim.hole import FimHole, make_holes
from completiond.bench.fim.sandbox import run_program
from completiond.bench.fim.score import FimAnswer, Score, score
from completiond.bench.fim.similarity import similarity
from completiond.bench.human_eval import Problem
from tests.bench.fim.problems import DOUBLE, SIGN


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 1.0),
        ("abc", "abc", 1.0),
        ("", "abc", 0.0),
        ("abc", "xyz", 0.0),
        ("kitten", "sitting", 1 - 3 / 7),
        ("return x", "return xs", 1 - 1 / 9),
        ("ab", "ba", 0.0),
    ],
)
def test_similarity(one: str, other: str, expected: float) -> None:
    assert similarity(one, other) == pytest.approx(expected)
    assert similarity(other, one) == pytest.approx(expected)


def _hole(left: str, expected: str, right: str) -> FimHole:
    return FimHole("span", Problem("", "", left + expected + right, "", "f"), len(left), len(left + expected))


@pytest.mark.parametrize(
    ("hole", "text", "cut"),
    [
        (_hole("    ", "return 1", "\n"), "return 2\n\n\ndef g():\n", "return 2"),
        (_hole("    ", "return 1", "\n"), "return 2", "return 2"),
        (_hole("    ", "return 1", "\n"), "\n    return 2\nx", "\n    return 2"),
        (_hole("    ", "x = 1\n\n    y = 2", "\n"), "a\n    b\n    c", "a\n    b"),
        (_hole("    ", "x = 1\n    y = 2", "\n"), "a\n\n    b\n    c", "a\n\n    b"),
        (_hole("x = ma", "x(a", ")\n"), "x(a)\nprint(x)\n", "x(a"),
        (_hole("x = ma", "x(f(a)", ")\n"), "x(f(a))\n", "x(f(a)"),
        (_hole("x = ma", "x(f(a)", ")\n"), "x(f(a)", "x(f(a)"),
        (_hole("x = ", "1\n    ", "y = 2\n"), "1\n    y = 2\n    z", "1\n    "),
        (_hole("x = ", "1\n    ", "y = 2\n"), "1\n    z = 2\n    z", "1\n    z = 2"),
        (_hole("    ", "return 1", "\n"), "", ""),
        (_hole("    ", "x\n    y\n    z", "\n"), "x\n", "x\n"),
    ],
)
def test_the_cut_is_where_the_reference_ends(hole: FimHole, text: str, cut: str) -> None:
    assert cut_to_reference(text, hole) == cut


@given(st.sampled_from(make_holes("span", [SIGN], 60)), st.text(" \nx=1)-:", max_size=60), st.text(" \nx", max_size=20))
def test_what_comes_later_does_not_move_the_cut(hole: FimHole, text: str, more: str) -> None:
    cut = cut_to_reference(text, hole)
    assert text.startswith(cut)
    if has_reference_lines(text, hole):
        assert cut_to_reference(text + more, hole) == cut


def _score(hole: FimHole, text: str) -> Score:
    return score(FimAnswer(text), hole, lambda program: run_program(program) == "passed")


def test_the_reference_is_a_perfect_answer() -> None:
    for kind in ("single", "multi", "span"):
        for hole in make_holes(kind, [DOUBLE, SIGN], 2):
            assert _score(hole, hole.expected) == Score(True, True, 1.0, False, False, None, None), hole.name


def test_another_answer_can_pass() -> None:
    hole = make_holes("single", [DOUBLE], 2)[1]
    assert hole.expected == "return y"
    found = _score(hole, "return (y)")
    assert (found.passed, found.exact, found.overran) == (True, False, False)
    assert found.similarity == pytest.approx(0.8)
    assert not _score(hole, "return x").passed


def test_an_empty_answer() -> None:
    found = _score(make_holes("single", [DOUBLE], 2)[1], " \n ")
    assert (found.passed, found.exact, found.similarity, found.overran, found.empty) == (False, False, 0.0, False, True)


@pytest.mark.parametrize(
    ("text", "passed", "overran"),
    [
        ("y = x + x\n    return y", True, True),  # it passes without its second line too
        ("y = x + x\n    return x", False, True),
        ("y = x\n    y += x", True, False),  # another solution, which needs its second line
        ("y = 1\n    y = 2", False, True),
        ("y = x + x\n\n", True, False),
    ],
)
def test_more_lines_are_an_overrun_unless_they_are_needed(text: str, passed: bool, overran: bool) -> None:
    hole = make_holes("single", [DOUBLE], 2)[0]
    found = _score(hole, text)
    assert (found.passed, found.overran) == (passed, overran)


def test_writing_what_stands_right_of_the_hole_is_an_overrun() -> None:
    hole = FimHole("span", DOUBLE, DOUBLE.solution.index("x + x"), DOUBLE.solution.index(" + x"))
    assert (hole.expected, hole.right) == ("x", " + x")
    assert _score(hole, "x + x").overran
    assert not _score(hole, "x").overran
    exact = _score(hole, "x")
    assert (exact.exact, exact.passed) == (True, True)
    assert not _score(hole, "x ").exact, "a blank in mid-line counts"


def test_the_tests_are_run_no_more_often_than_needed() -> None:
    asked: list[str] = []
    hole = make_holes("single", [DOUBLE], 2)[0]

    def passes(program: str) -> bool:
        asked.append(program)
        return True

    score(FimAnswer("y = x + x", 3, 5.0), hole, passes)
    assert asked == [hole.program("y = x + x")]
    assert score(FimAnswer("y = 1\nz", 3, 5.0), hole, passes).tokens == 3
    assert asked[1:] == [hole.program("y = 1\nz"), hole.program("y = 1")]
