"""Copies that have to be spelled anew, because the text at the cursor is cut or worded differently from the text
copied.

Token ids alone cannot say that `` return`` begins with the blank the user has typed, or that ``(stock`` is a use of
``stock``. Here runs of ids go to text and back; the tokenizer that does so is handed in.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

__all__ = ["Respelled", "Spelling", "WordSwap", "beyond_seam", "swap_words", "unswap_words"]

WordSwap = tuple[str, str]
"""(old, new): a name that the user is replacing."""


class Spelling(Protocol):
    """Token ids to text and back."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of whole tokens."""

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``."""


@dataclass(frozen=True, slots=True)
class Respelled:
    """New ids, and for each the index of the copied token that its text begins in."""

    token_ids: list[int]
    places: list[int]


def swap_words(token_ids: Sequence[int], swaps: Sequence[WordSwap], spelling: Spelling) -> Respelled | None:
    """``token_ids`` with each old name replaced, or None when none occurs."""
    if not swaps:
        return None
    new_by_old = dict(reversed(swaps))  # the first of two for one name wins
    text = spelling.decode(token_ids)
    pieces: list[str] = []
    origins: list[tuple[int, int]] = []  # (begin in the new text, begin in the old text)
    end = length = 0
    for found in re.finditer(_any_of(new_by_old), text):
        for piece, begin in ((text[end : found.start()], end), (new_by_old[found[0]], found.start())):
            origins.append((length, begin))
            pieces.append(piece)
            length += len(piece)
        end = found.end()
    if not pieces:
        return None
    origins.append((length, end))
    new_text = "".join([*pieces, text[end:]])

    def old_offset(offset: int) -> int:
        new_begin, old_begin = origins[bisect.bisect_right(origins, offset, key=lambda origin: origin[0]) - 1]
        return old_begin + offset - new_begin

    new_ids = spelling.encode(new_text)
    ends = _ends(token_ids, spelling)
    begins = [0, *_ends(new_ids, spelling)][: len(new_ids)]
    return Respelled(new_ids, [_index(ends, old_offset(begin)) for begin in begins])


def unswap_words(token_ids: Sequence[int], swaps: Sequence[WordSwap], spelling: Spelling) -> list[int] | None:
    """How a text would read before the replacement: each new name turned back, or None when none occurs."""
    old_by_new = {new: old for old, new in reversed(swaps)}
    if not swaps:
        return None
    text = spelling.decode(token_ids)
    plain = re.sub(_any_of(old_by_new), lambda found: old_by_new[found[0]], text)
    return None if plain == text else spelling.encode(plain)


def beyond_seam(typed: str, token_ids: Sequence[int], spelling: Spelling) -> Respelled | None:
    """The part of a copy that goes on where ``typed`` ends; None unless the copy begins with ``typed`` and goes on."""
    text = spelling.decode(token_ids)
    if not text.startswith(typed) or len(text) <= len(typed):
        return None
    new_ids = spelling.encode(text[len(typed) :])
    ends = _ends(token_ids, spelling)
    begins = [0, *_ends(new_ids, spelling)][: len(new_ids)]
    return Respelled(new_ids, [_index(ends, begin + len(typed)) for begin in begins])


def _any_of(words: dict[str, str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"


def _ends(token_ids: Sequence[int], spelling: Spelling) -> list[int]:
    """Where each token's text ends, in characters; off by a little where characters are divided between tokens."""
    return list(accumulate(len(spelling.decode([token_id])) for token_id in token_ids))


def _index(ends: Sequence[int], offset: int) -> int:
    return min(bisect.bisect_right(ends, offset), len(ends) - 1)
