"""The shape of a tree of guesses, as a list of parents: -1 hangs below what is known, and parents come before children.

A chain is the tree in which every guess hangs below the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ancestors_of", "chain_parents", "depths_of", "leaf_paths"]


def chain_parents(num_tokens: int) -> tuple[int, ...]:
    """The parents of a chain."""
    return tuple(range(-1, num_tokens - 1))


def ancestors_of(node: int, parents: Sequence[int]) -> list[int]:
    """From the root downwards, without ``node``."""
    found: list[int] = []
    while (node := parents[node]) >= 0:
        found.append(node)
    return found[::-1]


def depths_of(parents: Sequence[int]) -> list[int]:
    """How many ancestors each has."""
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    return depths


def leaf_paths(parents: Sequence[int]) -> list[list[int]]:
    """For each guess without children the way down to it, itself included; neighbours share as much as they can."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for node, parent in enumerate(parents):
        children[parent].append(node)  # -1: the last list
    paths: list[list[int]] = []
    stack = [[node] for node in reversed(children[-1])]
    while stack:
        path = stack.pop()
        below = children[path[-1]]
        if not below:
            paths.append(path)
        stack += [[*path, node] for node in reversed(below)]
    return paths
