"""A tree of an EAGLE head's guesses whose shape follows its confidence (EAGLE-2, arXiv 2406.16858, section 4).

Depth by depth the most likely tokens below the most likely nodes are tried, and of all that were tried the best are
checked. How likely a node is, is the product of the head's probabilities on the way to it, which tracks acceptance.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from completiond.spec.drafter import Draft
from completiond.spec.eagle_head import EagleHead
from completiond.spec.head_cache import HeadCache

__all__ = ["grow_tree"]

MIN_CHANCE = 0.02
"""Below a node that is less likely than this nothing is tried."""


@dataclass(slots=True)
class _Node:
    """``product``: chance of the whole path. ``row``: its entry in the cache, once it was expanded."""

    token_id: int
    parent: int
    depth: int
    chance: float
    product: float
    row: int = -1


def grow_tree(
    head: EagleHead, state: Tensor, cache: HeadCache, known: int, first_key: int, budget: int, max_depth: int,
    width: int,
) -> Draft:  # fmt: skip
    """At most ``budget`` guesses, ``width`` below a node and no deeper than ``max_depth``, best first.

    ``state`` [1, hidden_size] follows the newest token, whose entry is row ``known`` - 1; rows from ``known`` on are
    overwritten.
    """
    nodes = _children(head, state, [(-1, 0, 1.0)], width)
    frontier = sorted(range(len(nodes)), key=lambda node: -nodes[node].product)[:width]
    next_row = known
    states: dict[int, Tensor] = {-1: state}
    for depth in range(1, max_depth):
        frontier = [node for node in frontier if nodes[node].product >= MIN_CHANCE]
        if not frontier or depth >= budget:
            break
        for offset, node in enumerate(frontier):
            nodes[node].row = next_row + offset
        inputs = torch.cat([states[nodes[node].parent] for node in frontier])
        mask = torch.zeros(len(frontier), next_row + len(frontier) - first_key, dtype=torch.bool, device=head.device)
        mask[:, : known - first_key] = True
        for index, node in enumerate(frontier):
            while node >= 0:
                mask[index, nodes[node].row - first_key] = True
                node = nodes[node].parent
        positions = [known + depth - 1] * len(frontier)
        tokens = [nodes[node].token_id for node in frontier]
        output = head.step(tokens, inputs, cache, next_row, positions, mask, first_key)
        next_row += len(frontier)
        states |= {node: output[index : index + 1] for index, node in enumerate(frontier)}
        first = len(nodes)
        nodes += _children(head, output, [(node, depth, nodes[node].product) for node in frontier], width)
        frontier = sorted(range(first, len(nodes)), key=lambda node: -nodes[node].product)[:width]
    # A child is never likelier than its parent, and comes after it: the best are closed under parents.
    found = [node for node in range(len(nodes)) if nodes[node].product > 0.0]  # which NaN is not
    best = sorted(found, key=lambda node: (-nodes[node].product, node))[:budget]
    place = {-1: -1} | {node: index for index, node in enumerate(best)}
    return Draft(
        tuple(nodes[node].token_id for node in best),
        tuple(nodes[node].chance for node in best),
        "eagle",
        parents=tuple(place[nodes[node].parent] for node in best),
        confident=True,
    )


def _children(head: EagleHead, states: Tensor, parents: list[tuple[int, int, float]], width: int) -> list[_Node]:
    """The likeliest tokens behind each of ``states``; ``parents``: node, depth of its children and its product."""
    chances, draft_ids = torch.softmax(head.logits(states), -1).topk(min(width, head.shape.draft_vocab_size))
    found = []
    for (parent, depth, product), row, ids in zip(parents, chances.tolist(), draft_ids.tolist(), strict=True):
        for chance, draft_id in zip(row, ids, strict=True):
            found.append(_Node(head.target_id(draft_id), parent, depth, chance, product * chance))
    return found
