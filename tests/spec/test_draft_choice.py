"""Whether to draft and how far, against trying every length."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.draft_choice import NEARLY, choose_draft
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MIN_GAIN
from completiond.spec.speedup import RoundCost, constant_acceptance, measured_speedup

CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=8)
TIMES_MS = st.lists(st.floats(0.1, 1000), min_size=9, max_size=9)


def cost(*times_ms: float, lookup_ms: float = 0.0) -> RoundCost:
    """Passes of 1, 2, ... tokens."""
    return RoundCost(PassCosts(dict(enumerate(times_ms, start=1))), lookup_ms)


@settings(deadline=None)
@given(acceptances=CHANCES, times_ms=TIMES_MS)
def test_no_length_is_faster_unless_by_too_little_to_draft(acceptances: list[float], times_ms: list[float]) -> None:
    machine = cost(*times_ms)
    rates = [measured_speedup(acceptances[:k], machine) for k in range(len(acceptances) + 1)]

    choice = choose_draft(acceptances, machine)

    assert choice.best_speedup == rates[choice.best_length] == max(rates)
    assert choice.length == (choice.best_length if max(rates) >= MIN_GAIN else 0)
    assert choice.speedup == rates[choice.length]
    assert choice.ms_per_token == pytest.approx(times_ms[0] / choice.speedup)
    assert choice.nearly_as_good == tuple(k for k, rate in enumerate(rates) if rate >= NEARLY * choice.speedup)


@settings(deadline=None)
@given(acceptances=CHANCES, times_ms=TIMES_MS)
def test_one_guess_more_than_the_best_is_not_worth_its_cost(acceptances: list[float], times_ms: list[float]) -> None:
    choice = choose_draft(acceptances, cost(*times_ms))
    if choice.next_guess is None:
        assert choice.length == len(acceptances)
    elif choice.length == choice.best_length:
        more = choice.next_guess
        assert more.worth_ms <= more.cost_ms or math.isclose(more.worth_ms, more.cost_ms, rel_tol=1e-6, abs_tol=1e-6)


def test_a_gain_that_the_policy_would_leave_out_is_no_reason_to_draft() -> None:
    small = choose_draft(constant_acceptance(0.21, 1), cost(10.0, 12.0))
    assert (small.length, small.best_length, small.speedup, small.tokens_per_pass) == (0, 1, 1.0, 1.0)
    assert small.best_speedup == pytest.approx(1.21 / 1.2)
    assert choose_draft(constant_acceptance(0.23, 1), cost(10.0, 12.0)).length == 1


def test_the_look_up_is_part_of_what_a_draft_costs() -> None:
    assert choose_draft(constant_acceptance(0.5, 1), cost(10.0, 12.0)).length == 1
    assert choose_draft(constant_acceptance(0.5, 1), cost(10.0, 12.0, lookup_ms=4.0)).length == 0
