"""How much of a draft is checked: the best rate by brute force, measured chances, measured costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MIN_GAIN, Decision, FixedPolicy, MeasuredPolicy

SIZES = (1, 2, 4, 8, 16)
FLAT = dict.fromkeys(SIZES, 10.0)
PER_TOKEN = {size: 10.0 * size for size in SIZES}
TYPICAL = {1: 10.0, 2: 12.0, 4: 15.0, 8: 22.0, 16: 40.0}
CHANCES = st.lists(st.floats(0.0, 1.0), max_size=20)
TIMES = st.lists(st.floats(0.5, 100.0), min_size=len(SIZES), max_size=len(SIZES))


def draft(num_tokens: int, chance: float = 0.9, origin: str = "file", match: int = 5) -> Draft:
    return Draft(tuple(range(num_tokens)), (chance,) * num_tokens, "ngram", origin, match)


def show(policy: MeasuredPolicy, one: Draft, num_right: int, times: int = 1, pass_ms: float = 10.0) -> Draft:
    """Passes in which the first ``num_right`` guesses of ``one`` are right; returns what was checked last."""
    checked = NO_DRAFT
    for _ in range(times):
        checked = policy.trim(one)
        accepted = min(num_right, len(checked.token_ids))
        written = [*one.token_ids[:accepted], one.token_ids[accepted] if accepted < num_right else -1]
        policy.observe(one, checked, written, pass_ms, timed=False)
    return checked


# What is checked


@settings(deadline=None)
@given(chances=CHANCES, times=TIMES)
def test_the_length_is_the_one_of_the_greatest_expected_rate(chances: list[float], times: list[float]) -> None:
    costs = PassCosts(dict(zip(SIZES, times, strict=True)))
    one = Draft(tuple(range(len(chances))), tuple(chances), "ngram")

    checked = MeasuredPolicy(costs).trim(one)

    lengths = range(1, min(len(chances), SIZES[-1] - 1) + 1)
    rates = {
        length: sum(math.prod(chances[:depth]) for depth in range(length + 1)) / costs.pass_ms(length + 1)
        for length in lengths
    }
    plain = MIN_GAIN / costs.pass_ms(1)
    length = len(checked.token_ids)
    assert checked == (one.cut(length) if length else NO_DRAFT)
    assert rates.get(length, plain) == pytest.approx(max([plain, *rates.values()]))
    assert MeasuredPolicy(costs).rate(one) == pytest.approx(max([plain, *rates.values()]))


def test_where_checking_is_free_all_is_checked_and_where_it_saves_nothing_nothing_is() -> None:
    assert len(MeasuredPolicy(PassCosts(FLAT)).trim(draft(10)).token_ids) == 10
    assert MeasuredPolicy(PassCosts(PER_TOKEN)).trim(draft(10, 0.99)) == NO_DRAFT


def test_no_pass_is_larger_than_the_measured_ones() -> None:
    assert len(MeasuredPolicy(PassCosts(FLAT)).trim(draft(100, 1.0)).token_ids) == SIZES[-1] - 1
    assert MeasuredPolicy(PassCosts({1: 10.0})).trim(draft(3, 1.0)) == NO_DRAFT


def test_no_draft_stays_none() -> None:
    assert MeasuredPolicy(PassCosts(FLAT)).trim(NO_DRAFT) == NO_DRAFT
    assert FixedPolicy().trim(NO_DRAFT) == NO_DRAFT


def test_without_measurements_the_drafter_is_believed() -> None:
    assert len(FixedPolicy().trim(draft(50, 0.5)).token_ids) == 3  # 0.5 ** 4 is less than a tenth
    assert len(FixedPolicy().trim(draft(50, 1.0)).token_ids) == 50
    assert FixedPolicy().trim(draft(5, 0.05)).token_ids == ()


# What is learned from the guesses


def test_a_useless_draft_is_left_out_and_comes_back_when_its_guesses_turn_out_right() -> None:
    policy, one = MeasuredPolicy(PassCosts(TYPICAL)), draft(8)

    assert len(policy.trim(one).token_ids) > 2
    assert show(policy, one, num_right=0, times=60) == NO_DRAFT
    assert len(show(policy, one, num_right=8, times=200).token_ids) == 8


def test_guesses_that_were_not_checked_count_as_far_as_the_model_wrote() -> None:
    policy, one = MeasuredPolicy(PassCosts(TYPICAL)), draft(8, 0.5)
    before = [policy.acceptance(one, depth) for depth in range(3)]
    policy.observe(one, NO_DRAFT, [0], 10.0, timed=False)

    after = [policy.acceptance(one, depth) for depth in range(3)]
    assert after[0] > before[0]
    assert after[1:] == before[1:]


def test_what_lies_behind_a_wrong_guess_is_not_counted() -> None:
    policy, one = MeasuredPolicy(PassCosts(TYPICAL)), draft(8, 0.5)
    policy.observe(one, one, [0, 99], 10.0, timed=False)

    assert policy.acceptance(one, 0) > 0.5
    assert policy.acceptance(one, 1) < 0.5
    assert policy.acceptance(one, 4) == 0.5


@pytest.mark.parametrize(
    ("other", "is_counted_together"),
    [
        (draft(8, 0.5, "edit"), False),
        (draft(8, 0.5, match=1), False),
        (draft(8, 0.5, match=2), False),
        (draft(8, 0.5, match=40), False),
        (draft(8, 0.5, match=6), True),
        (draft(3, 0.5), True),
    ],
)
def test_guesses_are_counted_by_origin_and_match(other: Draft, is_counted_together: bool) -> None:
    policy = MeasuredPolicy(PassCosts(TYPICAL))
    policy.observe(draft(8, 0.5), NO_DRAFT, [0], 10.0, timed=False)

    assert (policy.acceptance(other, 0) > 0.5) == is_counted_together


@settings(deadline=None)
@given(rights=st.lists(st.booleans(), max_size=60), last=st.booleans())
def test_a_chance_rises_with_each_right_guess_and_falls_with_each_wrong_one(rights: Sequence[bool], last: bool) -> None:
    policy, one = MeasuredPolicy(PassCosts(TYPICAL)), draft(1, 0.5)
    chance = policy.acceptance(one, 0)
    for right in [*rights, *[last] * 150]:
        policy.observe(one, NO_DRAFT, [0 if right else 1], 10.0, timed=False)
        before, chance = chance, policy.acceptance(one, 0)
        assert before <= chance < 1.0 if right else 0.0 < chance <= before
    assert chance == pytest.approx(float(last), abs=0.1)


def test_the_worth_of_a_draft_follows_its_chances() -> None:
    policy = MeasuredPolicy(PassCosts(TYPICAL))
    good, bad = draft(8, 0.7, "file"), draft(8, 0.9, "edit")
    assert policy.rate(bad) > policy.rate(good)
    show(policy, good, 8, times=40)
    show(policy, bad, 0, times=40)

    assert policy.rate(bad) < policy.rate(good)
    assert policy.rate(bad) == policy.rate(NO_DRAFT) == MIN_GAIN / 10.0


# What passes cost


def test_a_draft_that_was_left_out_comes_back_when_the_machine_is_fast_again() -> None:
    policy, one = MeasuredPolicy(PassCosts(TYPICAL)), draft(8, 0.6)
    length = len(policy.trim(one).token_ids)
    for factor in (4.0, 1.0):
        for _ in range(300):  # plain passes only: nothing is known of how long larger ones take now
            policy.observe(NO_DRAFT, NO_DRAFT, [1], factor * TYPICAL[1], timed=True)

    assert abs(len(policy.trim(one).token_ids) - length) <= 1


def test_passes_that_read_a_prompt_and_fixed_costs_are_not_learned_from() -> None:
    for policy, timed in (
        (MeasuredPolicy(PassCosts(TYPICAL)), False),
        (MeasuredPolicy(PassCosts(TYPICAL), refresh_costs=False), True),
    ):
        policy.observe(NO_DRAFT, NO_DRAFT, [1], 500.0, timed)
        assert policy.costs.as_dict() == TYPICAL


# What is told


def test_every_pass_is_explained_once() -> None:
    policy, one = MeasuredPolicy(PassCosts(TYPICAL)), draft(8, 0.8)
    checked = one.cut(3)
    policy.observe(NO_DRAFT, NO_DRAFT, [5], 11.0, timed=True)
    policy.observe(one, checked, [0, 1, 99], 15.0, timed=True)
    policy.observe(one, NO_DRAFT, [0], 12.0, timed=True)

    plain, drafted, left_out = policy.take_decisions()

    assert plain == Decision("none", "", 0, 0, 0, 0.0, 0, 11.0)
    assert drafted == Decision("ngram", "file", 5, 8, 3, drafted.expected, 2, 15.0)
    assert drafted.expected == pytest.approx(0.8 + 0.64 + 0.512)
    assert left_out == Decision("ngram", "file", 5, 8, 0, 0.0, 0, 12.0)
    assert policy.take_decisions() == []


def test_a_fixed_policy_learns_nothing_and_is_a_policy() -> None:
    policy = FixedPolicy()
    policy.observe(draft(3), draft(2), [0, 1], 1.0, timed=True)

    assert policy.trim(draft(3)) == draft(3)
