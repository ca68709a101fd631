"""Prompts for an engine whose tokenizer is elsewhere: each letter is an id, and so is each control token.

So budgets, windows, templates and what is told of other files are made by the same code as for a model of our own, and
become text again at the end. What the user's file spells like a control token would become one on the other side; it is
broken by a blank.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["LETTERS_PER_TOKEN", "LetterEncoder", "SilentEncoder"]

LETTERS_PER_TOKEN: Final = 3
"""Budgets count the server's tokens, which are not known here: code has some more letters in each, mostly, so that no
more is sent than the settings want.
"""
_FIRST_CONTROL: Final = sys.maxunicode + 1


class LetterEncoder:
    """An Encoder. ``controls`` are spelled as the server's tokenizer reads them."""

    def __init__(self, controls: Iterable[str], unsafe: Iterable[str] = ()) -> None:
        """``unsafe``: what else must not get into a prompt as it is."""
        self._controls = tuple(dict.fromkeys(controls))
        spelled = sorted({*self._controls, *unsafe}, key=len, reverse=True)
        self._spelled = re.compile("|".join(map(re.escape, spelled)) or r"(?!)")

    @property
    def bos_ids(self) -> list[int]:
        """See Encoder.bos_ids: the server puts it there itself."""
        return []

    def encode(self, text: str) -> list[int]:
        """See Encoder.encode."""
        return [ord(letter) for letter in self._spelled.sub(lambda found: f"{found[0][:2]} {found[0][2:]}", text)]

    def encode_inside(self, text: str) -> list[int]:
        """See Encoder.encode_inside."""
        return self.encode(text)

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[int]]:
        """See Encoder.encode_with_offsets: of the text as it is."""
        return [ord(letter) for letter in text], list(range(len(text)))

    def decode(self, token_ids: Sequence[int]) -> str:
        """See Encoder.decode; control tokens are spelled."""
        return "".join(
            chr(index) if index < _FIRST_CONTROL else self._controls[index - _FIRST_CONTROL] for index in token_ids
        )

    def control_id(self, content: str) -> int | None:
        """See Encoder.control_id."""
        return _FIRST_CONTROL + self._controls.index(content) if content in self._controls else None


class SilentEncoder(LetterEncoder):
    """For a dictionary that holds documents to tell of, and nothing to draft from: the server drafts by itself."""

    def __init__(self) -> None:
        super().__init__(())

    def encode_inside(self, text: str) -> list[int]:
        """Nothing."""
        return []
