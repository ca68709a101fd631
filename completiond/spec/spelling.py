"""Copies that have to be spelled anew, because the text at the cursor is cut or worded differently from the text
copied.

Token ids alone cannot say that `` return`` begins with the blank the user has typed, or that ``(stock`` is a use of
``stock``. Here runs of ids go to text and back; the tokenizer that does so is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

__all__ = ["Spelling", "WordSwap", "beyond_seam", "swap_words", "unswap_words"]

WordSwap = tuple[str, str]
"""(old, new): a name that the user is replacing."""


class Spelling(Protocol):
    """Token ids to text and back."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of whole tokens."""

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``."""


def swap_words(token_ids: Sequence[int], swaps: Sequence[WordSwap], spelling: Spelling) -> list[int] | None:
    """``token_ids`` with each old name replaced, or None when none occurs."""
    return _swapped(token_ids, dict(reversed(swaps)), spelling)  # the first of two for one name wins


def unswap_words(token_ids: Sequence[int], swaps: Sequence[WordSwap], spelling: Spelling) -> list[int] | None:
    """How a text would read before the replacement: each new name turned back, or None when none occurs."""
    return _swapped(token_ids, {new: old for old, new in reversed(swaps)}, spelling)


def beyond_seam(typed: str, token_ids: Sequence[int], spelling: Spelling) -> list[int] | None:
    """The part of a copy that goes on where ``typed`` ends; None unless the copy begins with ``typed`` and goes on."""
    text = spelling.decode(token_ids)
    if not text.startswith(typed) or len(text) <= len(typed):
        return None
    return spelling.encode(text[len(typed) :])


def _swapped(token_ids: Sequence[int], words: dict[str, str], spelling: Spelling) -> list[int] | None:
    if not words:
        return None
    longest_first = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    text = spelling.decode(token_ids)
    swapped = re.sub(rf"\b(?:{longest_first})\b", lambda found: words[found[0]], text)
    return None if swapped == text else spelling.encode(swapped)
