"""Counts of one drafter at one temperature: what a pass adds to them, and the acceptance they give."""

from __future__ import annotations

import math

import pytest

from completiond.spec.acceptance import MIN_TRIED, AcceptanceCounts
from completiond.spec.drafter import Draft


def counts(temperature: float, *depths: tuple[int, int]) -> AcceptanceCounts:
    """``depths``: accepted and tried."""
    return AcceptanceCounts(
        "ngram", temperature, tuple(tried for _, tried in depths), tuple(hits for hits, _ in depths)
    )


NONE = counts(0.0)


def chain(*token_ids: int) -> Draft:
    return Draft(token_ids, (0.5,) * len(token_ids), "test")


@pytest.mark.parametrize(
    ("guesses", "written_ids", "depths"),
    [
        ((), (7,), ()),
        ((1,), (1, 9), ((1, 1),)),
        ((1,), (9,), ((0, 1),)),
        ((1, 2, 3), (1, 2, 3, 9), ((1, 1), (1, 1), (1, 1))),
        ((1, 2, 3), (1, 9), ((1, 1), (0, 1))),  # the third guess was never reached
        ((1, 2, 3), (9,), ((0, 1),)),
    ],
)
def test_a_pass_counts_up_to_its_first_wrong_guess(
    guesses: tuple[int, ...], written_ids: tuple[int, ...], depths: tuple[tuple[int, int], ...]
) -> None:
    assert NONE.after_pass(chain(*guesses), written_ids) == counts(0.0, *depths)


def test_in_a_tree_a_depth_is_right_when_one_of_its_guesses_is() -> None:
    #   7     8
    #  / \\    |
    # 1   2   3
    tree = Draft((7, 8, 1, 2, 3), (0.5,) * 5, "test", parents=(-1, -1, 0, 0, 1))
    assert NONE.after_pass(tree, (8, 3, 9)) == counts(0.0, (1, 1), (1, 1))
    assert NONE.after_pass(tree, (7, 9)) == counts(0.0, (1, 1), (0, 1))
    assert NONE.after_pass(tree, (9,)) == counts(0.0, (0, 1))


def test_passes_add_up_by_depth() -> None:
    seen = NONE.after_pass(chain(1, 2), (1, 2, 9)).after_pass(chain(1), (9,)).after_pass(chain(1, 2, 3), (1, 9))
    assert seen == counts(0.0, (2, 3), (1, 2))
    assert seen.plus(counts(0.0, (1, 1), (1, 1), (0, 1))) == counts(0.0, (3, 4), (2, 3), (0, 1))


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
def test_counts_that_cannot_be_are_refused(values: tuple[float, tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match=r"not counts of guesses|zip\(\)"):
        AcceptanceCounts("ngram", *values)
