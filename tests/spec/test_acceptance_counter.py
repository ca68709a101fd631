"""What is counted of a policy's passes, by drafter and temperature."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.acceptance import AcceptanceCounts
from completiond.spec.acceptance_counter import AcceptanceCounter, CountingPolicy
from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import FixedPolicy, MeasuredPolicy


def draft(num_tokens: int, source: str = "ngram") -> Draft:
    return Draft(tuple(range(num_tokens)), (0.9,) * num_tokens, source)


def written(num_right: int) -> list[int]:
    """What a pass gives whose first ``num_right`` guesses were right."""
    return [*range(num_right), -1]


def test_only_guesses_that_were_checked_are_counted() -> None:
    counter = AcceptanceCounter()
    policy = CountingPolicy(FixedPolicy(), counter, 0.0)

    policy.observe(draft(5), draft(5).cut(2), written(2), 10.0, timed=True)
    policy.observe(draft(5), NO_DRAFT, [0], 10.0, timed=True)  # guessed right, but not checked
    policy.observe(NO_DRAFT, NO_DRAFT, [0], 10.0, timed=True)
    assert counter.counts == (AcceptanceCounts("ngram", 0.0, (1, 1), (1, 1)),)

    policy.observe(draft(5), draft(5).cut(4), written(1), 10.0, timed=False)  # a pass that also read a prompt counts
    assert counter.counts == (AcceptanceCounts("ngram", 0.0, (2, 2), (2, 1)),)


def test_drafters_and_temperatures_are_counted_apart() -> None:
    counter = AcceptanceCounter()
    for source, temperature in (("ngram", 0.0), ("ngram", 0.8), ("eagle", 0.8), ("ngram", 0.79)):
        one = draft(1, source)
        CountingPolicy(FixedPolicy(), counter, temperature).observe(one, one, written(1), 10.0, timed=True)

    assert counter.counts == (
        AcceptanceCounts("ngram", 0.0, (1,), (1,)),
        AcceptanceCounts("ngram", 0.8, (2,), (2,)),
        AcceptanceCounts("eagle", 0.8, (1,), (1,)),
    )


@pytest.mark.parametrize(
    ("temperature", "counted_as"), [(0.0, 0.0), (0.001, 0.1), (0.1, 0.1), (0.26, 0.3), (1.0, 1.0), (10.0, 10.0)]
)
def test_temperatures_are_rounded_but_none_above_zero_is_greedy(temperature: float, counted_as: float) -> None:
    counter = AcceptanceCounter()
    counter.observe(draft(1), written(0), temperature)
    assert [one.temperature for one in counter.counts] == [counted_as]


def test_what_was_read_stays_as_it_was() -> None:
    counter = AcceptanceCounter()
    counter.observe(draft(2), written(2), 0.0)
    before = counter.counts
    counter.observe(draft(2), written(2), 0.0)
    counter.observe(draft(2), written(2), 0.5)

    assert before == (AcceptanceCounts("ngram", 0.0, (1, 1), (1, 1)),)


@settings(deadline=None)
@given(passes=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_each_depth_is_tried_as_often_as_the_one_before_was_right_and_long_enough(
    passes: list[tuple[int, int]],
) -> None:
    counter = AcceptanceCounter()
    for length, num_right in passes:
        counter.observe(draft(length), written(min(length, num_right)), 0.0)

    drafted = [(length, right) for length, right in passes if length]
    if not drafted:
        assert counter.counts == ()
        return
    (seen,) = counter.counts
    assert list(seen.tried) == [
        sum(length > depth and right >= depth for length, right in drafted) for depth in range(len(seen.tried))
    ]
    assert list(seen.accepted) == [
        sum(length > depth and right > depth for length, right in drafted) for depth in range(len(seen.tried))
    ]
    assert seen.tried[0] == len(drafted)


def test_the_policy_behind_it_decides_and_learns_as_if_alone() -> None:
    costs = {1: 10.0, 2: 12.0, 4: 15.0, 8: 22.0}
    alone, behind = MeasuredPolicy(PassCosts(costs)), MeasuredPolicy(PassCosts(costs))
    counting = CountingPolicy(behind, AcceptanceCounter(), 0.0)
    for num_right in (3, 0, 1, 7, 0, 0, 2):
        checked = alone.trim(draft(7))
        assert counting.trim(draft(7)) == checked
        given_ids = written(min(num_right, len(checked.token_ids)))
        for policy in (alone, counting):
            policy.observe(draft(7), checked, given_ids, 13.0, timed=True)

    assert behind.take_decisions() == alone.take_decisions()
    assert behind.costs.as_dict() == alone.costs.as_dict()
