"""Scores added up, and the criterion for them."""

from __future__ import annotations

import io

from rich.console import Console

from completiond.bench.fim.hole import FimKind, make_holes
from completiond.bench.fim.product import ORACLE, PRODUCT
from completiond.bench.fim.report import fim_criterion, fim_json, fim_table
from completiond.bench.fim.run import FimRun, run_fim
from completiond.bench.fim.score import FimAnswer, Score
from tests.bench.fim.problems import DOUBLE

GOOD = Score(True, True, 1.0, False, False, 8, 40.0)
BAD = Score(False, False, 0.5, True, False, 4, None)
EMPTY = Score(False, False, 0.0, False, True, 0, None)


def _runs(kind: FimKind, product: list[Score], oracle: list[Score]) -> list[FimRun]:
    return [FimRun(kind, {PRODUCT: one, ORACLE: other}) for one, other in zip(product, oracle, strict=True)]


def test_the_figures() -> None:
    runs = _runs("span", [GOOD, GOOD, BAD, EMPTY], [GOOD] * 4)
    figures = fim_json(runs)
    assert list(figures) == ["span"]
    assert figures["span"][PRODUCT] == {
        "holes": 4, "pass_at_1": 0.5, "exact": 0.5, "similarity": 0.625, "overrun": 0.25, "empty": 0.25, "tokens": 5.0,
        "ms_per_token": 40.0,
    }  # fmt: skip
    assert figures["span"][ORACLE]["pass_at_1"] == 1.0


def test_all_that_is_wanted_is_met() -> None:
    runs = _runs("single", [GOOD] * 49 + [EMPTY] * 51, [GOOD] * 51 + [EMPTY] * 49) + _runs("multi", [GOOD], [GOOD])
    criterion = fim_criterion(fim_json(runs))
    assert [(one["kind"], one["wanted"], one["met"]) for one in criterion] == [
        ("single", "pass@1 within 0.02 of the oracle cut", True),
        ("single", "overrun <= 0.05", True),
        ("single", "pass@1 above 0.467", True),
        ("multi", "pass@1 within 0.02 of the oracle cut", True),
        ("multi", "overrun <= 0.05", True),
    ]


def test_none_of_it_is_met() -> None:
    runs = _runs("single", [GOOD] * 46 + [BAD] * 6 + [EMPTY] * 48, [GOOD] * 49 + [EMPTY] * 51)
    assert [one["met"] for one in fim_criterion(fim_json(runs))] == [False, False, False]
    assert [one["value"] for one in fim_criterion(fim_json(runs))] == [0.03, 0.06, 0.46]


def test_the_table_says_it_in_eighty_columns() -> None:
    figures = fim_json(_runs("single", [GOOD, EMPTY], [GOOD, GOOD]))
    printed = io.StringIO()
    Console(file=printed, width=80).print(fim_table(figures, "title"))
    text = printed.getvalue()
    assert "…" not in text
    assert "NOT met" in text
    assert " met" in text
    assert "completiond" in text
    assert "0.500" in text


def test_another_server_s_answers_have_no_criterion() -> None:
    answers = {"raw": FimAnswer("y = x + x\n    return 0", 9), "first line": FimAnswer("y = x + x")}
    figures = fim_json(list(run_fim(make_holes("single", [DOUBLE], 2)[:1], lambda hole: answers)))
    assert fim_criterion(figures) == []
    raw, first = figures["single"]["raw"], figures["single"]["first line"]
    assert (raw["pass_at_1"], raw["overrun"], raw["tokens"]) == (0.0, 1.0, 9.0)
    assert (first["pass_at_1"], first["overrun"], first["tokens"]) == (1.0, 0.0, None)
