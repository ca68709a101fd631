"""The n-gram pool against lists, and its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.lookahead_pool import NGramPool, merge_paths
from completiond.spec.tree import leaf_paths

IDS = st.lists(st.integers(0, 3), max_size=40)


def newest_distinct(runs: list[list[int]], first: int, length: int, limit: int) -> list[tuple[int, ...]]:
    """The slow way: all n-grams in order, the last of equal ones."""
    ngrams = [tuple(run[i : i + length]) for run in runs for i in range(len(run)) if len(run[i : i + length]) == length]
    behind = [ngram[1:] for ngram in reversed(ngrams) if ngram[0] == first]
    return list(dict.fromkeys(behind))[:limit]


@settings(deadline=None)
@given(runs=st.lists(IDS, max_size=3), length=st.integers(2, 5))
def test_a_token_s_continuations_are_all_that_followed_it_newest_first(runs: list[list[int]], length: int) -> None:
    pool = NGramPool(length, per_key=100)
    for run in runs:
        pool.add_run(run)

    for token_id in range(4):
        assert pool.continuations(token_id) == newest_distinct(runs, token_id, length, 100)


def test_every_place_of_a_run_is_in_the_pool_also_the_first_and_the_last() -> None:
    pool = NGramPool(3, 2)
    pool.add_run([1, 2, 3, 4, 5])

    known = {token_id: pool.continuations(token_id) for token_id in range(1, 6)}
    assert known == {1: [(2, 3)], 2: [(3, 4)], 3: [(4, 5)], 4: [], 5: []}


def test_no_ngram_reaches_over_two_runs() -> None:
    pool = NGramPool(3, 2)
    pool.add_run([1, 2])
    pool.add_run([3, 4])

    assert pool.num_ngrams == 0


def test_of_too_many_continuations_the_one_seen_longest_ago_goes() -> None:
    pool = NGramPool(2, 3)
    for token_id in (10, 11, 12, 10, 13):
        pool.add((1, token_id))

    assert pool.continuations(1) == [(13,), (10,), (12,)]


def test_of_too_many_tokens_the_one_used_longest_ago_goes_and_asking_is_a_use() -> None:
    pool = NGramPool(2, 3, max_keys=3)
    for token_id in (1, 2, 3):
        pool.add((token_id, 9))
    pool.add((1, 8))
    assert pool.continuations(2)

    pool.add((4, 9))

    assert [bool(pool.continuations(token_id)) for token_id in (1, 2, 3, 4)] == [True, True, False, True]


@settings(deadline=None)
@given(runs=st.lists(st.lists(st.integers(0, 30), max_size=60), max_size=4))
def test_it_never_grows_over_its_bounds(runs: list[list[int]]) -> None:
    pool = NGramPool(3, 2, max_keys=5)
    for run in runs:
        pool.add_run(run)
        assert pool.num_keys <= 5
        assert pool.num_ngrams <= 10


def test_cleared_it_knows_nothing() -> None:
    pool = NGramPool(2, 2)
    pool.add_run([1, 2, 3])
    pool.clear()

    assert (pool.num_keys, pool.num_ngrams, pool.continuations(1)) == (0, 0, [])


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 0, 1), (2, 1, 0)])
def test_a_pool_for_nothing_is_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="too few"):
        NGramPool(*sizes)


def test_an_ngram_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="4 tokens in a pool of 3"):
        NGramPool(3, 1).add((1, 2, 3, 4))


@settings(deadline=None)
@given(paths=st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), max_size=7))
def test_a_merged_tree_has_every_path_once_and_shares_what_it_can(paths: list[list[int]]) -> None:
    token_ids, parents = merge_paths(paths)

    found = [[token_ids[node] for node in path] for path in leaf_paths(parents)]
    assert sorted(found) == sorted(map(list, {tuple(path) for path in paths}))
    siblings = list(zip(parents, token_ids, strict=True))
    assert len(set(siblings)) == len(siblings)
    assert all(parent < node for node, parent in enumerate(parents))


def test_the_earlier_path_comes_first_among_siblings() -> None:
    assert merge_paths([(5, 6), (5, 7), (4, 6)]) == ([5, 6, 7, 4, 6], [-1, 0, 0, -1, 3])
