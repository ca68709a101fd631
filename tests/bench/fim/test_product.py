"""Holes asked of the product: on a model that says what the test wants, and on the real one."""

from __future__ import annotations

import pytest

from completiond.bench.fim.hole import FimHole, make_holes
from completiond.bench.fim.product import ORACLE, PRODUCT, ask_completer
from completiond.bench.fim.report import fim_json
from completiond.bench.fim.run import run_fim
from completiond.bench.fim.sandbox import run_program
from completiond.bench.human_eval import read_problems
from completiond.complete.completer import Completer
from completiond.errors import UsageError
from completiond.paths import Paths
from tests.bench.fim.problems import DOUBLE, SIGN
from tests.complete.test_completer import completer_for
from tests.fake_model import EOS, bytes_of, says


def _hole(expected: str) -> FimHole:
    return next(hole for hole in make_holes("multi", [SIGN], 99) if hole.expected == expected)


def test_the_product_s_answer_and_the_raw_one_cut() -> None:
    hole = _hole("if x > 0:\n        return 1")
    completer, _ = completer_for("if x > 0:\n        return 1\n    return 0\n    return 0\n")
    answers = ask_completer(hole, completer, 60)
    assert answers[PRODUCT].text == "if x > 0:\n        return 1", "it stops where the suffix begins"
    assert answers[PRODUCT].tokens == len("if x > 0:\n        return 1")
    assert answers[ORACLE].text == "if x > 0:\n        return 1"
    assert [answer.text for answer in ask_completer(hole, completer, 60).values()] == [answers[PRODUCT].text] * 2


def test_the_oracle_knows_no_stop_rules() -> None:
    hole = _hole("return -1 \n\n    if x > 0:\n        return 1")
    said = "return -1\n\n\ndef other():\n    pass\n\nx = 1"
    answers = ask_completer(hole, completer_for(said)[0], 60)
    assert answers[PRODUCT].text == "return -1"
    assert answers[ORACLE].text == "return -1\n\n\ndef other():\n    pass", "three lines that are not blank"


def test_the_oracle_ends_at_an_end_token_and_at_the_length() -> None:
    hole = _hole("if x > 0:\n        return 1")
    said = says([*bytes_of("if x:"), EOS, *bytes_of("\n        return 1\n")])
    assert ask_completer(hole, completer_for(said)[0], 60)[ORACLE].text == "if x:"
    assert ask_completer(hole, completer_for("if x:")[0], 3)[ORACLE].text == "if "


def test_surplus_blanks_are_no_matter_of_where_to_end() -> None:
    hole = make_holes("single", [SIGN], 9)[-1]
    answers = ask_completer(hole, completer_for("    return 0\n")[0], 60)
    assert answers[PRODUCT].text == answers[ORACLE].text == "return 0"


def test_an_answer_that_cannot_fit() -> None:
    with pytest.raises(UsageError, match="leaves no room"):
        ask_completer(make_holes("single", [DOUBLE], 1)[0], completer_for("x")[0], 510)


@pytest.mark.model
def test_the_reference_solutions_pass(model_paths: Paths) -> None:
    """And judged by the same tests, a solution that does nothing fails."""
    problems = read_problems(model_paths)
    assert len(problems) == 164
    for problem in problems[::12]:
        whole = FimHole("span", problem, 0, len(problem.solution))
        assert run_program(whole.program(whole.expected)) == "passed", problem.task_id
        assert run_program(whole.program("    return None\n")) == "failed", problem.task_id


@pytest.mark.model
def test_the_default_model_fills_some_holes(default_completer: Completer, model_paths: Paths) -> None:
    problems = read_problems(model_paths)
    holes = make_holes("single", problems, 8)
    runs = list(run_fim(holes, lambda hole: ask_completer(hole, default_completer, 64)))
    figures = fim_json(runs)["single"]
    assert figures[PRODUCT]["holes"] == 8
    assert figures[PRODUCT]["pass_at_1"] > 0, "it is a code model"
    assert 1 < figures[PRODUCT]["tokens"] < 64, "and answers end"
    assert figures[PRODUCT]["overrun"] < 1
    assert figures[ORACLE]["overrun"] == 0
    assert figures[ORACLE]["similarity"] > 0.3
    again = list(run_fim(holes[:2], lambda hole: ask_completer(hole, default_completer, 64)))
    for one, other in zip(again, runs, strict=False):
        for name in (PRODUCT, ORACLE):
            assert one.scores[name].similarity == other.scores[name].similarity
            assert one.scores[name].tokens == other.scores[name].tokens
