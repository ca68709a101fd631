"""The arithmetic of speculation: the lesson's numbers to the digit, and every formula against counting it out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.speedup import (
    MIN_TRIED,
    AcceptanceCounts,
    RoundCost,
    best_length,
    best_measured_length,
    break_even_acceptance,
    constant_acceptance,
    expected_tokens,
    falling_acceptance,
    measured_speedup,
    speedup,
    temperature_falls,
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


def test_verify_time_is_as_measured_and_straight_between() -> None:
    cost = RoundCost.measured({8: 40.0, 1: 30.0, 4: 32.0}, lookup_ms=0.5, guess_ms=2.0)
    assert [cost.verify_ms(size) for size in (1, 2, 4, 5, 6, 8)] == pytest.approx([30, 30 + 2 / 3, 32, 34, 36, 40])
    assert cost.max_length == 7
    assert cost.round_ms(0) == 30.0  # plain decoding looks nothing up
    assert cost.round_ms(7) == 40.0 + 0.5 + 14.0
    for size in (0, 9):
        with pytest.raises(ValueError, match="1 to 8"):
            cost.verify_ms(size)


@pytest.mark.parametrize("pass_ms", [{}, {2: 1.0}, {1: 0.0}, {1: 1.0, 2: math.inf}, {0: 1.0, 1: 1.0}])
def test_curves_that_cannot_be_are_refused(pass_ms: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="passes of"):
        RoundCost.measured(pass_ms)


@settings(deadline=None)
@given(acceptances=st.lists(CHANCES, max_size=8), draft_cost=st.floats(0, 2), pass_ms=TIMES_MS)
def test_a_flat_curve_is_the_lessons_model(acceptances: list[float], draft_cost: float, pass_ms: float) -> None:
    cost = RoundCost.measured({1: pass_ms, 64: pass_ms}, guess_ms=draft_cost * pass_ms)
    assert measured_speedup(acceptances, cost) == pytest.approx(speedup(acceptances, draft_cost))


@settings(deadline=None)
@given(acceptances=st.lists(CHANCES, max_size=8), times=st.lists(TIMES_MS, min_size=9, max_size=9))
def test_the_best_length_beats_every_other_by_tokens_per_millisecond(
    acceptances: list[float], times: list[float]
) -> None:
    cost = RoundCost.measured(dict(enumerate(times, start=1)))
    rates = [enumerated_tokens(acceptances[:k]) / times[k] for k in range(len(acceptances) + 1)]

    best = best_measured_length(acceptances, cost)

    assert rates[best] == pytest.approx(max(rates))
    assert measured_speedup(acceptances[:best], cost) == pytest.approx(rates[best] * times[0])


@settings(deadline=None)
@given(times=st.lists(TIMES_MS, min_size=9, max_size=9))
def test_drafting_pays_just_above_the_break_even_and_not_below(times: list[float]) -> None:
    cost = RoundCost.measured(dict(enumerate(times, start=1)))

    bound = break_even_acceptance(cost, 8)

    if bound is None:
        assert best_measured_length(constant_acceptance(1.0, 8), cost) == 0
    else:
        assert best_measured_length(constant_acceptance(bound, 8), cost) > 0
        assert bound == 0 or best_measured_length(constant_acceptance(bound - 1e-4, 8), cost) == 0


def test_break_even_of_a_single_guess_is_what_it_adds_to_the_pass() -> None:
    assert break_even_acceptance(RoundCost.measured({1: 30.0, 2: 37.5}), 1) == pytest.approx(0.25, abs=1e-3)
    assert break_even_acceptance(RoundCost.measured({1: 30.0, 2: 61.0}), 1) is None


def counts(temperature: float, *depths: tuple[float, float]) -> AcceptanceCounts:
    """``depths``: accepted and tried."""
    return AcceptanceCounts(temperature, tuple(tried for _, tried in depths), tuple(hits for hits, _ in depths))


def test_counts_give_acceptance_by_depth_as_far_as_they_are_many() -> None:
    seen = counts(0.0, (80, 100), (48, 80), (MIN_TRIED - 1, MIN_TRIED - 1))
    assert seen.enough
    assert seen.acceptances(4) == (0.8, 0.6, 0.6, 0.6)
    assert seen.acceptances(1) == (0.8,)


def test_few_counts_are_not_believed() -> None:
    for few in (counts(0.0), counts(0.0, (MIN_TRIED - 1, MIN_TRIED - 1))):
        assert not few.enough
        with pytest.raises(ValueError, match="not enough"):
            few.acceptances(1)


@pytest.mark.parametrize(
    "values", [(0.0, (1,), (2,)), (0.0, (1,), ()), (-1.0, (), ()), (math.nan, (), ()), (0.0, (1,), (-1,))]
)
def test_counts_that_cannot_be_are_refused(values: tuple[float, tuple[float, ...], tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match=r"not counts of guesses|zip\(\)"):
        AcceptanceCounts(*values)


def test_the_effect_of_temperature_is_unknown_until_two_were_seen() -> None:
    assert temperature_falls([]) == ()
    assert temperature_falls([counts(0.0, (60, 100))]) == ()
    assert temperature_falls([counts(0.0, (60, 100)), counts(1.0, (1, 2))]) == ()


def test_the_effect_of_temperature_is_the_difference_seen_with_its_bounds() -> None:
    (many,) = temperature_falls([counts(0.8, (500, 1000)), counts(0.0, (700, 1000))])
    (few,) = temperature_falls([counts(0.8, (50, 100)), counts(0.0, (55, 100))])

    assert many.temperature == few.temperature == 0.8
    assert many.fall == pytest.approx(0.2)
    assert (many.low, many.high) == pytest.approx((0.158, 0.242), abs=2e-3)  # 0.2 +- 1.96 * sqrt(.21/1000 + .25/1000)
    assert few.low < 0 < few.high  # may be chance


def test_a_share_of_one_still_has_bounds() -> None:
    (fall,) = temperature_falls([counts(0.0, (60, 60)), counts(1.0, (60, 60))])
    assert fall.fall == 0.0
    assert fall.low < 0 < fall.high
