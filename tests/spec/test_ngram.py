"""The n-gram drafter against a scan of all text, on small alphabets where everything repeats."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.ngram import NGramDrafter, longest_match_naive

MIN_MATCH = 2
MAX_MATCH = 64
MAX_PLACES = 32
# At most MAX_PLACES places share a pair of ids: within that, the index must find what a scan finds.
IDS = st.lists(st.integers(0, 3), max_size=MAX_PLACES // 2)
FEW_IDS = st.lists(st.integers(0, 3), max_size=MAX_PLACES // 4)
BUDGET = 20


def propose(context: Sequence[int], others: Sequence[Sequence[int]] = (), budget: int = BUDGET) -> tuple[int, ...]:
    drafter = NGramDrafter()
    drafter.reset(context, others)
    return drafter.propose(budget).token_ids


def followers(context: Sequence[int], runs: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """What stands behind each occurrence of the last ``length`` ids: in other runs first, then older to newer."""
    tail = list(context[-length:])
    found = []
    for run in (*runs, context):
        ends = range(length, len(run))
        found += [list(run[end:]) for end in ends if list(run[end - length : end]) == tail]
    return found


@settings(deadline=None)
@given(context=IDS, others=st.lists(FEW_IDS, max_size=2))
def test_draft_is_what_followed_the_newest_of_the_longest_matches(context: list[int], others: list[list[int]]) -> None:
    length = longest_match_naive(context, others)

    draft = propose(context, others)

    assert bool(draft) == (length > 0)
    if draft:
        assert list(draft) == followers(context, others, length)[-1][: len(draft)]


@settings(deadline=None)
@given(context=st.lists(st.integers(0, 1), max_size=200), others=st.lists(FEW_IDS, max_size=2))
def test_in_very_repetitive_text_a_draft_still_copies_a_match(context: list[int], others: list[list[int]]) -> None:
    draft = propose(context, others)

    assert bool(draft) == (longest_match_naive(context, others) > 0)
    assert not draft or any(list(draft) == rest[: len(draft)] for rest in followers(context, others, MIN_MATCH))


def test_longer_match_beats_a_newer_one() -> None:
    assert propose([1, 2, 3, 7, 7, 9, 2, 3, 8, 8, 1, 2, 3])[:2] == (7, 7)


def test_among_equal_matches_the_newest_wins() -> None:
    assert propose([2, 3, 7, 7, 0, 2, 3, 8, 8, 1, 2, 3])[:2] == (8, 8)


def test_the_text_before_the_cursor_wins_over_the_text_after_it() -> None:
    assert propose([2, 3, 7, 7, 1, 2, 3], [[2, 3, 8, 8]])[:2] == (7, 7)


def test_drafts_from_the_text_after_the_cursor() -> None:
    assert propose([1, 2, 3], [[5, 2, 3, 8, 9, 4]])[:2] == (8, 9)


def test_two_runs_of_text_are_never_read_as_one() -> None:
    assert propose([1, 2, 3], [[5, 2], [3, 8, 9], [2, 3]]) == ()


def test_a_match_reaches_over_the_seam_between_prompt_and_answer() -> None:
    drafter = NGramDrafter()
    drafter.reset([4, 5, 6, 7, 8, 4, 5])

    drafter.observe([6, 7])

    assert drafter.propose(BUDGET).token_ids[:1] == (8,)


def test_a_text_that_ends_in_its_only_occurrence_has_no_draft() -> None:
    assert propose([1, 2, 3, 4]) == ()
    assert propose([]) == ()
    assert propose([1]) == ()


def test_equal_pairs_in_a_row_draft_their_own_continuation() -> None:
    assert propose([1, 1, 1])[:1] == (1,)


@settings(deadline=None)
@given(context=IDS, budget=st.integers(-1, 5))
def test_a_draft_stays_within_its_budget_and_says_how_sure_it_is(context: list[int], budget: int) -> None:
    drafter = NGramDrafter()
    drafter.reset(context)

    draft = drafter.propose(budget)

    assert len(draft.token_ids) <= max(0, budget)
    assert len(draft.probabilities) == len(draft.token_ids)
    assert all(0.0 < probability <= 1.0 for probability in draft.probabilities)


def test_a_longer_match_is_trusted_with_a_longer_draft() -> None:
    run = list(range(40))
    short, long = propose([*run, 50, 1, 2]), propose([*run, *range(20)])

    assert 0 < len(short) < len(long)


@settings(deadline=None)
@given(context=IDS, answer=IDS, others=st.lists(FEW_IDS, max_size=1), cuts=st.sets(st.integers(0, MAX_PLACES)))
def test_observing_pass_by_pass_equals_reading_all_at_once(
    context: list[int], answer: list[int], others: list[list[int]], cuts: set[int]
) -> None:
    stepwise, at_once = NGramDrafter(), NGramDrafter()
    stepwise.reset(context, others)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(answer)), len(answer)]
    for begin, end in pairwise(bounds):
        if begin < end:
            stepwise.observe(answer[begin:end])

    at_once.reset([*context, *answer], others)

    assert stepwise.propose(BUDGET) == at_once.propose(BUDGET)


@settings(deadline=None)
@given(old=IDS, context=IDS)
def test_reset_forgets_the_last_answer(old: list[int], context: list[int]) -> None:
    used, fresh = NGramDrafter(), NGramDrafter()
    used.reset(old, [old])
    used.observe([1, 2])
    used.reset(context)
    fresh.reset(context)

    assert used.propose(BUDGET) == fresh.propose(BUDGET)


@settings(deadline=None)
@given(context=IDS)
def test_proposing_changes_nothing(context: list[int]) -> None:
    drafter = NGramDrafter()
    drafter.reset(context)

    assert drafter.propose(BUDGET) == drafter.propose(BUDGET)


def test_agreement_beyond_the_cap_says_nothing_more() -> None:
    run = [index % 50 + 10 for index in range(MAX_MATCH + 20)]

    # Both places agree for more than MAX_MATCH ids, the older one for longer: the newer wins.
    assert propose([1, *run, 7, 2, *run[5:], 8, 1, *run])[0] == 8
