"""Where holes are made, and how they are chosen."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.bench.fim.hole import KINDS, FimKind, make_holes
from completiond.bench.human_eval import Problem
from tests.bench.fim.problems import DOUBLE, SIGN


def test_single_lines_keep_their_indentation_outside() -> None:
    holes = make_holes("single", [SIGN], 100)
    assert [hole.expected for hole in holes] == ["if x < 0:", "return -1 ", "if x > 0:", "return 1", "return 0"]
    assert [hole.prefix.rpartition("\n")[2] for hole in holes] == [" " * 4, " " * 8, " " * 4, " " * 8, " " * 4]
    assert all(hole.suffix.startswith("\n") for hole in holes)
    assert all(hole.right == "" for hole in holes)


def test_multi_are_all_runs_of_two_to_six_lines() -> None:
    lines = SIGN.solution.rstrip().split("\n")
    runs = {
        "\n".join(lines[first : first + count]).lstrip()
        for count in range(2, 7)
        for first in range(len(lines) - count + 1)
        if lines[first].strip() and lines[first + count - 1].strip()
    }
    holes = make_holes("multi", [SIGN], 1000)
    assert len(holes) == len(runs) == 10
    assert {hole.expected for hole in holes} == runs


def test_a_span_in_a_deep_indentation_goes_on_to_its_text() -> None:
    holes = make_holes("span", [Problem("", "", " " * 500 + "x\n", "", "f")], 400)
    assert len(holes) == 400
    assert all(hole.expected.strip() == "x" for hole in holes)


def test_spans_lie_in_one_solution_and_are_not_blank() -> None:
    holes = make_holes("span", [DOUBLE, SIGN], 1000)
    assert len(holes) == len(DOUBLE.solution.rstrip()) + len(SIGN.solution.rstrip()), "one for each place to begin at"
    assert all(hole.expected.strip() for hole in holes)
    assert all(hole.suffix for hole in holes), "the end of the file stays"
    assert any("\n" in hole.expected for hole in holes)
    assert any(hole.right.strip() for hole in holes)
    assert any(hole.prefix[-1].isalpha() and hole.expected[0].isalpha() for hole in holes), "also inside words"


@pytest.mark.parametrize("kind", KINDS)
def test_joined_back_a_hole_gives_the_original(kind: FimKind) -> None:
    for hole in make_holes(kind, [DOUBLE, SIGN], 1000):
        whole = hole.problem.prompt + hole.problem.solution
        assert hole.prefix + hole.expected + hole.suffix == whole
        assert hole.program(hole.expected) == f"{whole}\n{hole.problem.test}\ncheck({hole.problem.entry_point})\n"
        assert hole.suffix.startswith(hole.right)


@pytest.mark.parametrize("kind", KINDS)
def test_the_choice_is_the_same_each_time_and_spread_over_the_problems(kind: FimKind) -> None:
    problems = [replace(SIGN, task_id=f"Small/{number}") for number in range(10)]
    holes = make_holes(kind, problems, 20)
    assert holes == make_holes(kind, problems, 20)
    assert holes != make_holes(kind, problems, 20, seed=1)
    assert Counter(hole.problem.task_id for hole in holes) == {problem.task_id: 2 for problem in problems}
    assert len({hole.name for hole in holes}) == 20


@given(st.lists(st.text(" \nab", min_size=1, max_size=40), max_size=5), st.sampled_from(KINDS), st.integers(1, 30))
def test_no_solution_is_too_odd(solutions: list[str], kind: FimKind, limit: int) -> None:
    problems = [Problem(f"{number}", "# ", solution, "", "f") for number, solution in enumerate(solutions)]
    holes = make_holes(kind, problems, limit)
    assert len(holes) == len({hole.name for hole in holes}) <= limit
    for hole in holes:
        assert hole.expected.strip()
        assert hole.prefix + hole.expected + hole.suffix == "# " + hole.problem.solution
