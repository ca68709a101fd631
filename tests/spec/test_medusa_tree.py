"""The tree of guesses: the best one by brute force, best first, and chances that follow what was written."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.medusa_tree import RankCounts, TreeNode, choose_tree

CHANCES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.floats(0.0, 1.0), min_size=width, max_size=width), max_size=4)
)


def ranks_of(node: int, nodes: tuple[TreeNode, ...]) -> tuple[int, ...]:
    """The ranks along the path to a node, itself included."""
    ranks: list[int] = []
    while node >= 0:
        ranks.append(nodes[node].rank)
        node = nodes[node].parent
    return tuple(reversed(ranks))


def product(ranks: tuple[int, ...], chances: list[list[float]]) -> float:
    return math.prod(chances[depth][rank] for depth, rank in enumerate(ranks))


@settings(deadline=None)
@given(chances=CHANCES, budget=st.integers(-1, 40))
def test_the_tree_holds_the_best_paths_best_first(chances: list[list[float]], budget: int) -> None:
    nodes = choose_tree(chances, budget)

    width = len(chances[0]) if chances else 0
    paths = [
        ranks for depth in range(len(chances)) for ranks in itertools.product(range(width), repeat=depth + 1)
    ]  # fmt: skip
    best = sorted((product(ranks, chances) for ranks in paths), reverse=True)[: max(0, budget)]
    chosen = [ranks_of(node, nodes) for node in range(len(nodes))]
    assert [product(ranks, chances) for ranks in chosen] == pytest.approx(best)
    assert len(set(chosen)) == len(chosen)


@settings(deadline=None)
@given(chances=CHANCES, budget=st.integers(0, 40))
def test_every_beginning_of_a_tree_is_closed_under_parents(chances: list[list[float]], budget: int) -> None:
    nodes = choose_tree(chances, budget)

    for index, node in enumerate(nodes):
        assert -1 <= node.parent < index
        assert node.depth == (0 if node.parent < 0 else nodes[node.parent].depth + 1)
    assert choose_tree(chances, budget // 2) == nodes[: budget // 2]


@pytest.mark.parametrize("budget", range(6))
def test_one_rank_a_head_is_a_chain(budget: int) -> None:
    nodes = choose_tree([[0.1], [1.0], [0.0], [0.5]], budget)

    assert nodes == tuple(TreeNode(depth - 1, depth, 0) for depth in range(min(4, budget)))


def test_before_anything_was_seen_chances_fall_with_rank_and_depth() -> None:
    chances = RankCounts(4, 5).chances(4)

    for ranks in chances:
        assert ranks == sorted(ranks, reverse=True)
        assert 0.0 < sum(ranks) < 1.0
    for depths in zip(*chances, strict=True):
        assert list(depths) == sorted(depths, reverse=True)


def test_chances_become_what_is_seen_and_follow_when_it_changes() -> None:
    counts = RankCounts(2, 3)
    for number in range(400):
        counts.observe(0, None if number % 2 else 2)
    untouched = RankCounts(2, 3).chances(2)[1]
    assert counts.chances(2) == [pytest.approx([0.0, 0.0, 0.5], abs=0.02), untouched]

    for _ in range(200):
        counts.observe(0, 1)

    assert counts.chances(1) == [pytest.approx([0.0, 1.0, 0.0], abs=0.02)]


@given(seen=st.lists(st.none() | st.integers(0, 2), max_size=50))
def test_the_ranks_of_a_head_never_exceed_one_together(seen: list[int | None]) -> None:
    counts = RankCounts(1, 3)
    for rank in seen:
        counts.observe(0, rank)

    (chances,) = counts.chances(1)
    assert min(chances) >= 0.0
    assert sum(chances) <= 1.0


def test_a_tree_widens_where_the_second_rank_is_often_right() -> None:
    counts = RankCounts(3, 2)
    shapes = []
    for rank in (0, 1):
        for _ in range(200):
            counts.observe(0, rank)
        shapes.append([(node.depth, node.rank) for node in choose_tree(counts.chances(3), 2)])

    assert shapes == [[(0, 0), (1, 0)], [(0, 1), (1, 0)]]
