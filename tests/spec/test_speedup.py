"""The arithmetic of speculation: the lesson's numbers to the digit, and every formula against counting it out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.pass_costs import PassCosts
from completiond.spec.speedup import (
    RoundCost,
    best_length,
    best_measured_length,
    break_even_acceptance,
    constant_acceptance,
    expected_tokens,
    falling_acceptance,
    measured_speedup,
    speedup,
)

CHANCES = st.floats(0, 1)
TIMES_MS = st.floats(0.1, 1000)

TOKENS_PER_PASS = """
1     1.50   1.70   1.80   1.90
2     1.75   2.19   2.44   2.71
3     1.88   2.53   2.95   3.44
4     1.94   2.77   3.36   4.10
5     1.97   2.94   3.69   4.69
6     1.98   3.06   3.95   5.22
7     1.99   3.14   4.16   5.70
8     2.00   3.20   4.33   6.13
"""
SPEEDUPS = """
1    1.71           1.57
2    2.22           1.88
3    2.57           2.04
4    2.80           2.10
5    2.95           2.11
6    3.04           2.08
7    3.08           2.03
8    3.09           1.97
9    3.08           1.90
10   3.05           1.83
"""
FALLING = """
1 1.90 1.73
2 2.59 2.16
3 3.04 2.34
4 3.28 2.35
5 3.40 2.27
6 3.45 2.15
7 3.46 2.04
8 3.47 1.93
"""


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def test_the_case_by_hand() -> None:
    assert f"{expected_tokens(constant_acceptance(0.8, 3)):.3f}" == "2.952"


def test_the_table_of_tokens_per_pass() -> None:
    computed = [
        [str(k), *(f"{expected_tokens(constant_acceptance(a, k)):.2f}" for a in (0.5, 0.7, 0.8, 0.9))]
        for k in range(1, 9)
    ]
    assert computed == rows(TOKENS_PER_PASS)


def test_the_table_of_speedups() -> None:
    computed = [
        [str(k), *(f"{speedup(constant_acceptance(0.8, k), c):.2f}" for c in (0.05, 0.15))] for k in range(1, 11)
    ]
    assert computed == rows(SPEEDUPS)
    assert [best_length(constant_acceptance(0.8, 10), c) for c in (0.05, 0.15)] == [8, 5]


def test_the_table_of_falling_acceptance() -> None:
    chances = falling_acceptance(0.9, 0.85, 8)
    computed = [
        [str(k), f"{expected_tokens(chances[:k]):.2f}", f"{speedup(chances[:k], 0.1):.2f}"] for k in range(1, 9)
    ]
    assert computed == rows(FALLING)
    assert best_length(chances, 0.1) == 4


def enumerated_tokens(acceptances: Sequence[float]) -> float:
    """Every pattern of right and wrong guesses, its chance times the tokens it yields."""
    total = 0.0
    for pattern in itertools.product((True, False), repeat=len(acceptances)):
        chance = math.prod(a if right else 1.0 - a for a, right in zip(acceptances, pattern, strict=True))
        total += chance * (1 + len(list(itertools.takewhile(bool, pattern))))
    return total


@settings(deadline=None)
@given(acceptances=st.lists(CHANCES, max_size=8))
def test_expected_tokens_against_every_pattern_of_hits(acceptances: list[float]) -> None:
    assert expected_tokens(acceptances) == pytest.approx(enumerated_tokens(acceptances))


@given(acceptance=st.floats(0, 0.99), length=st.integers(0, 40))
def test_constant_acceptance_has_a_closed_form(acceptance: float, length: int) -> None:
    closed = (1 - acceptance ** (length + 1)) / (1 - acceptance)
    assert expected_tokens(constant_acceptance(acceptance, length)) == pytest.approx(closed)


def test_extremes() -> None:
    assert expected_tokens(()) == 1.0
    assert expected_tokens(constant_acceptance(1.0, 7)) == 8.0
    assert expected_tokens(constant_acceptance(0.0, 7)) == 1.0
    assert best_length(constant_acceptance(0.1, 8), 0.5) == 0  # a guess costs more than it brings


@pytest.mark.parametrize("values", [(1.1, 1.0, 3), (-0.1, 1.0, 3), (math.nan, 1.0, 3), (0.5, 1.1, 3), (0.5, 1.0, -1)])
def test_chances_out_of_range_are_refused(values: tuple[float, float, int]) -> None:
    with pytest.raises(ValueError, match="acceptance"):
        falling_acceptance(*values)


def test_a_round_is_a_draft_and_a_pass_of_one_token_more() -> None:
    cost = RoundCost(PassCosts({1: 30.0, 8: 40.0}), lookup_ms=0.5, guess_ms=2.0)
    assert cost.round_ms(0) == 30.0  # plain decoding looks nothing up
    assert cost.round_ms(7) == 40.0 + 0.5 + 14.0
    with pytest.raises(ValueError, match="a draft of"):
        RoundCost(PassCosts({1: 30.0}), lookup_ms=-0.1)


@settings(deadline=None)
@given(acceptances=st.lists(CHANCES, max_size=8), draft_cost=st.floats(0, 2), pass_ms=TIMES_MS)
def test_a_flat_curve_is_the_lessons_model(acceptances: list[float], draft_cost: float, pass_ms: float) -> None:
    cost = RoundCost(PassCosts({1: pass_ms, 64: pass_ms}), guess_ms=draft_cost * pass_ms)
    assert measured_speedup(acceptances, cost) == pytest.approx(speedup(acceptances, draft_cost))


@settings(deadline=None)
@given(acceptances=st.lists(CHANCES, max_size=8), times=st.lists(TIMES_MS, min_size=9, max_size=9))
def test_the_best_length_beats_every_other_by_tokens_per_millisecond(
    acceptances: list[float], times: list[float]
) -> None:
    cost = RoundCost(PassCosts(dict(enumerate(times, start=1))))
    costs_ms = [max(time_ms, times[0]) for time_ms in times]  # longer passes never cost less
    rates = [enumerated_tokens(acceptances[:k]) / costs_ms[k] for k in range(len(acceptances) + 1)]

    best = best_measured_length(acceptances, cost)

    assert rates[best] == pytest.approx(max(rates))
    assert measured_speedup(acceptances[:best], cost) == pytest.approx(rates[best] * times[0])


@settings(deadline=None)
@given(times=st.lists(TIMES_MS, min_size=9, max_size=9))
def test_drafting_pays_just_above_the_break_even_and_not_below(times: list[float]) -> None:
    cost = RoundCost(PassCosts(dict(enumerate(times, start=1))))

    bound = break_even_acceptance(cost, 8)

    if bound is None:
        assert best_measured_length(constant_acceptance(1.0, 8), cost) == 0
    else:
        assert best_measured_length(constant_acceptance(bound, 8), cost) > 0
        assert bound == 0 or best_measured_length(constant_acceptance(bound - 1e-4, 8), cost) == 0


def test_break_even_of_a_single_guess_is_what_it_adds_to_the_pass() -> None:
    assert break_even_acceptance(RoundCost(PassCosts({1: 30.0, 2: 37.5})), 1) == pytest.approx(0.25, abs=1e-3)
    assert break_even_acceptance(RoundCost(PassCosts({1: 30.0, 2: 61.0})), 1) is None


def test_a_draft_that_is_never_right_does_not_pay_where_its_pass_was_measured_as_shorter() -> None:
    cost = RoundCost(PassCosts({1: 10.0, 2: 9.0, 4: 12.0}))

    assert cost.round_ms(1) == 10.0
    assert best_measured_length([0.0, 0.0, 0.0], cost) == 0
