"""Replacements in runs of ids, and where each id of the result is from."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from completiond.spec.swaps import apply_swaps, undo_swaps

IDS = st.lists(st.integers(0, 3), max_size=20)
SIDE = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)
SWAPS = st.lists(st.tuples(SIDE, SIDE), max_size=3)


def test_every_occurrence_is_replaced_and_the_rest_is_copied() -> None:
    assert apply_swaps([1, 7, 8, 2, 7, 3, 7, 8], [((7, 8), (9,))]) == ([1, 9, 2, 7, 3, 9], [0, 2, 3, 4, 5, 7])


def test_all_of_a_longer_name_but_its_end_is_at_the_beginning_of_the_old_one() -> None:
    assert apply_swaps([1, 7, 8, 2], [((7, 8), (4, 5, 6))]) == ([1, 4, 5, 6, 2], [0, 1, 1, 2, 3])
    assert apply_swaps([1, 7, 2], [((7,), (4, 5, 6))]) == ([1, 4, 5, 6, 2], [0, 1, 1, 1, 2])


def test_the_first_of_two_replacements_for_one_place_is_made() -> None:
    assert apply_swaps([7, 8], [((7,), (1,)), ((7, 8), (2,))])[0] == [1, 8]
    assert apply_swaps([7, 8], [((7, 8), (2,)), ((7,), (1,))])[0] == [2]


def test_what_was_put_in_is_not_replaced_again() -> None:
    assert apply_swaps([7, 8], [((7,), (8,)), ((8,), (7,))])[0] == [8, 7]
    assert apply_swaps([7], [((7,), (7, 7))])[0] == [7, 7]


def test_half_of_an_old_name_at_the_end_is_left() -> None:
    assert apply_swaps([1, 7], [((7, 8), (9,))]) == ([1, 7], [0, 1])


def test_undoing_turns_new_into_old() -> None:
    assert undo_swaps([1, 9, 2], [((7, 8), (9,))]) == [1, 7, 8, 2]


@given(token_ids=IDS)
def test_without_replacements_nothing_changes(token_ids: list[int]) -> None:
    assert apply_swaps(token_ids, []) == (token_ids, list(range(len(token_ids))))
    assert undo_swaps(token_ids, []) == token_ids


@given(token_ids=IDS, swaps=SWAPS)
def test_places_are_in_the_text_and_never_go_back(
    token_ids: list[int], swaps: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    result, places = apply_swaps(token_ids, swaps)

    assert len(result) == len(places)
    assert all(0 <= place < len(token_ids) for place in places)
    assert all(one <= other for one, other in pairwise(places))
    if token_ids:
        assert places[-1] == len(token_ids) - 1
    olds, news = {old[0] for old, _ in swaps}, {token_id for _, new in swaps for token_id in new}
    for token_id, place in zip(result, places, strict=True):
        assert token_id == token_ids[place] or (token_id in news and olds)


@given(token_ids=IDS, old=SIDE)
def test_a_replacement_by_ids_that_occur_nowhere_can_be_undone(token_ids: list[int], old: tuple[int, ...]) -> None:
    swaps = [(old, (100, 101))]
    result, _ = apply_swaps(token_ids, swaps)

    assert undo_swaps(result, swaps) == token_ids
