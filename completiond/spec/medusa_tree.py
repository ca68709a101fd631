"""Which guesses of several heads are worth a place in a tree: Medusa's greedy choice (arXiv 2401.10774).

Head d guesses the token at depth d whatever stands before it, so every path through the heads' ranked tokens is a
possible continuation. A path is right with the product of its tokens' chances, which are counted by head and rank from
what the target really wrote, with older counts fading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

__all__ = ["RankCounts", "TreeNode", "choose_tree"]

FADE = 0.98
"""Weight of earlier counts after each new one: the last fifty or so tokens of a depth decide."""
PRIOR_WEIGHT = 8.0
"""Counts that the first estimate stands for, which then fade too."""
PRIOR_FIRST = 0.6
"""First estimate for the best token of the first head."""
PRIOR_DEPTH = 0.8
PRIOR_RANK = 0.3
"""Factors for each head and each rank further on. All ranks of a head stay below 1 together: 0.6 / (1 - 0.3)."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """Below node ``parent`` (-1: what is known) the token that head ``depth`` ranks ``rank``, both from 0."""

    parent: int
    depth: int
    rank: int


def choose_tree(chances: Sequence[Sequence[float]], budget: int) -> tuple[TreeNode, ...]:
    """The ``budget`` nodes, or as many as there are, whose paths are right most often; best first.

    ``chances[d][r]`` in [0, 1]: that the token at depth d is rank r of head d, given that those before it are right. A
    path's product never rises on its way down, so parents come before their children, and each beginning of the result
    is the best tree of its size. With one rank a head it is a chain.
    """
    nodes: list[TreeNode] = []
    waiting: list[tuple[float, int, TreeNode]] = []
    num_pushed = 0  # among equals what was found first, so that the choice does not depend on chance

    def push_children(parent: int, depth: int, product: float) -> None:
        nonlocal num_pushed
        for rank, chance in enumerate(chances[depth] if depth < len(chances) else ()):
            heappush(waiting, (-product * chance, num_pushed, TreeNode(parent, depth, rank)))
            num_pushed += 1

    push_children(-1, 0, 1.0)
    while waiting and len(nodes) < budget:
        negative, _, node = heappop(waiting)
        nodes.append(node)
        push_children(len(nodes) - 1, node.depth + 1, -negative)
    return tuple(nodes)


class RankCounts:
    """How often the token at depth d was rank r of head d, for the first ``width`` ranks of ``num_heads`` heads.

    A depth is only seen when the tokens above it were guessed right, which is just the case a tree asks about.
    """

    def __init__(self, num_heads: int, width: int) -> None:
        self._tried = [PRIOR_WEIGHT] * num_heads
        self._right = [
            [PRIOR_WEIGHT * PRIOR_FIRST * PRIOR_DEPTH**depth * PRIOR_RANK**rank for rank in range(width)]
            for depth in range(num_heads)
        ]

    def observe(self, depth: int, rank: int | None) -> None:
        """The token at ``depth`` was ``rank`` of its head; None: none of the ranks that are counted."""
        self._tried[depth] = FADE * self._tried[depth] + 1.0
        self._right[depth] = [FADE * right + (index == rank) for index, right in enumerate(self._right[depth])]

    def chances(self, num_heads: int) -> list[list[float]]:
        """What ``choose_tree`` reads, of the first ``num_heads`` heads; a head's ranks never exceed 1 together."""
        pairs = zip(self._right[:num_heads], self._tried[:num_heads], strict=True)
        return [[right / tried for right in ranks] for ranks, tried in pairs]
