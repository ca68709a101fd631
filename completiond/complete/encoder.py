"""What prompts and dictionaries need of a tokenizer: TextTokenizer (tokens.py) is one; LetterEncoder (letters.py)
another, for engines whose tokenizer is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Encoder"]


class Encoder(Protocol):
    """Text to ids. Text never becomes a control token, whatever it spells."""

    @property
    def bos_ids(self) -> list[int]:
        """What every prompt begins with."""

    def encode(self, text: str) -> list[int]:
        """Ids of ``text`` as text."""

    def encode_inside(self, text: str) -> list[int]:
        """Ids of ``text`` inside another one."""

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[int]]:
        """Ids of ``text`` and, for each, the character offset where it begins."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of whole tokens."""

    def control_id(self, content: str) -> int | None:
        """Id of the control token that is spelled ``content``, where there is one."""
