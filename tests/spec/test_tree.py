"""The shape of a tree of guesses, against the slow way of walking it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from completiond.spec.tree import ancestors_of, chain_parents, depths_of, leaf_paths

PARENTS = st.lists(st.integers(0, 10**6), max_size=12).map(
    lambda draws: tuple(n % (i + 1) - 1 for i, n in enumerate(draws))
)


def naive_path(node: int, parents: tuple[int, ...]) -> list[int]:
    return [] if node == -1 else [*naive_path(parents[node], parents), node]


@given(parents=PARENTS)
def test_ancestors_and_depths(parents: tuple[int, ...]) -> None:
    for node in range(len(parents)):
        assert [*ancestors_of(node, parents), node] == naive_path(node, parents)
    assert depths_of(parents) == [len(naive_path(node, parents)) - 1 for node in range(len(parents))]


@given(parents=PARENTS)
def test_every_leaf_has_its_path_and_every_node_is_on_one(parents: tuple[int, ...]) -> None:
    leaves = [node for node in range(len(parents)) if node not in parents]
    paths = leaf_paths(parents)
    assert sorted(paths) == sorted(naive_path(leaf, parents) for leaf in leaves)
    assert {node for path in paths for node in path} == set(range(len(parents)))


@given(parents=PARENTS)
def test_what_two_paths_share_is_met_in_one_go(parents: tuple[int, ...]) -> None:
    """Rows below a node are computed while that node's keys lie in the cache: it must not be left and come back to."""
    paths = leaf_paths(parents)
    for node in range(len(parents)):
        places = [number for number, path in enumerate(paths) if node in path]
        assert places == list(range(places[0], places[-1] + 1))


def test_a_chain() -> None:
    assert chain_parents(3) == (-1, 0, 1)
    assert leaf_paths(chain_parents(3)) == [[0, 1, 2]]
    assert leaf_paths(()) == []
