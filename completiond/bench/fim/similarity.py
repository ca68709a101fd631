"""How alike two texts are, character by character."""

from __future__ import annotations

__all__ = ["similarity"]


def similarity(one: str, other: str) -> float:
    """1 less their edit distance (Levenshtein 1966: insertions, deletions, replacements) over the longer's length.

    Both empty: 1.0.
    """
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(other, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    longer = max(len(one), len(other))
    return 1 - row[-1] / longer if longer else 1.0
