"""What a pass costs: as measured, straight between, and following the machine."""

from __future__ import annotations

import math

import pytest

from completiond.spec.pass_costs import PassCosts

TYPICAL = {1: 10.0, 2: 12.0, 4: 15.0, 8: 22.0, 16: 40.0}
SIZES = tuple(TYPICAL)


def test_costs_are_as_measured_and_straight_between() -> None:
    costs = PassCosts({8: 22.0, 1: 10.0, 4: 15.0, 2: 12.0, 16: 40.0})
    assert [costs.pass_ms(size) for size in (1, 2, 3, 4, 6, 8, 12, 16)] == [10, 12, 13.5, 15, 18.5, 22, 31, 40]
    assert costs.max_tokens == 16
    assert list(costs.as_dict().items()) == list(TYPICAL.items())
    for size in (0, 17):
        with pytest.raises(ValueError, match="1 to 16"):
            costs.pass_ms(size)


@pytest.mark.parametrize("pass_ms", [{}, {2: 1.0}, {1: 0.0}, {1: 1.0, 2: math.inf}, {0: 1.0, 1: 1.0}])
def test_curves_that_cannot_be_are_refused(pass_ms: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="passes of"):
        PassCosts(pass_ms)


@pytest.mark.parametrize("factor", [0.3, 0.7, 1.0, 1.5, 3.0])
def test_costs_follow_a_machine_that_became_faster_or_slower(factor: float) -> None:
    costs = PassCosts(TYPICAL)
    for number in range(600):
        size = SIZES[number % len(SIZES)]
        costs.observe(size, factor * TYPICAL[size])

    assert costs.as_dict() == pytest.approx({size: factor * ms for size, ms in TYPICAL.items()}, rel=0.02)


def test_a_size_that_was_mismeasured_is_put_right() -> None:
    costs = PassCosts({**TYPICAL, 8: 60.0})
    for number in range(4000):
        size = SIZES[number % len(SIZES)]
        costs.observe(size, TYPICAL[size])

    assert costs.pass_ms(8) == pytest.approx(TYPICAL[8], rel=0.1)


def test_one_pass_that_was_held_up_changes_little() -> None:
    costs = PassCosts(TYPICAL)
    costs.observe(4, 60_000.0)

    assert all(costs.pass_ms(size) <= 1.07 * TYPICAL[size] for size in SIZES)


def test_sizes_that_were_not_measured_count_for_the_nearest() -> None:
    costs = PassCosts(TYPICAL)
    for _ in range(20):
        costs.observe(100, 80.0)

    assert costs.pass_ms(16) / TYPICAL[16] > costs.pass_ms(8) / TYPICAL[8] == pytest.approx(costs.pass_ms(1) / 10.0)
