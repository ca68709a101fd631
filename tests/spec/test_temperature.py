"""The effect of temperature: unknown until two were seen, then the difference with its bounds."""

from __future__ import annotations

import pytest

from completiond.spec.acceptance import AcceptanceCounts
from completiond.spec.temperature import temperature_falls


def first(temperature: float, accepted: int, tried: int) -> AcceptanceCounts:
    return AcceptanceCounts("ngram", temperature, (tried,), (accepted,))


def test_the_effect_of_temperature_is_unknown_until_two_were_seen() -> None:
    assert temperature_falls([]) == ()
    assert temperature_falls([first(0.0, 60, 100)]) == ()
    assert temperature_falls([first(0.0, 60, 100), first(1.0, 1, 2)]) == ()


def test_the_effect_of_temperature_is_the_difference_seen_with_its_bounds() -> None:
    (many,) = temperature_falls([first(0.8, 500, 1000), first(0.0, 700, 1000)])
    (few,) = temperature_falls([first(0.8, 50, 100), first(0.0, 55, 100)])

    assert many.temperature == few.temperature == 0.8
    assert many.fall == pytest.approx(0.2)
    assert (many.low, many.high) == pytest.approx((0.158, 0.242), abs=2e-3)  # 0.2 +- 1.96 * sqrt(.21/1000 + .25/1000)
    assert few.low < 0 < few.high  # may be chance


def test_a_share_of_one_still_has_bounds() -> None:
    (fall,) = temperature_falls([first(0.0, 60, 60), first(1.0, 60, 60)])
    assert fall.fall == 0.0
    assert fall.low < 0 < fall.high
