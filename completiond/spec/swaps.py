"""Replacements that are under way: what was ``old`` in the text that is copied reads ``new`` in the text that is
written.

A rename half done, or a test copied for another function, repeats its source but for a few tokens, the same ones each
time. With the replacement known (from the user's last edits, or from where this answer left its source and came back
to it) a copied run is right through such a place instead of ending there.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MAX_SWAP_TOKENS", "Swap", "apply_swaps", "undo_swaps"]

Swap = tuple[tuple[int, ...], tuple[int, ...]]
"""(old, new) token ids; neither is empty."""

MAX_SWAP_TOKENS = 8


def apply_swaps(token_ids: Sequence[int], swaps: Sequence[Swap]) -> tuple[list[int], list[int]]:
    """``token_ids`` with every ``old`` replaced, newest swap first, and for each result where in ``token_ids`` it is
    from.
    """
    result: list[int] = []
    places: list[int] = []
    place = 0
    while place < len(token_ids):
        for old, new in swaps:
            if tuple(token_ids[place : place + len(old)]) == old:
                result += new
                # All of ``new`` but its end is at the beginning of ``old``: a mismatch inside means it was not
                # replaced.
                places += [*[place] * (len(new) - 1), place + len(old) - 1]
                place += len(old)
                break
        else:
            result.append(token_ids[place])
            places.append(place)
            place += 1
    return result, places


def undo_swaps(token_ids: Sequence[int], swaps: Sequence[Swap]) -> list[int]:
    """``token_ids`` with every ``new`` turned back into ``old``: how the text would read in its source."""
    return apply_swaps(token_ids, [(new, old) for old, new in swaps])[0]
