"""Tokens to text, one at a time, whole characters only."""

from __future__ import annotations

from tokenizers import Tokenizer

__all__ = ["TextStream"]


class TextStream:
    """Text as tokens come: a character is released when its last byte is there."""

    def __init__(self, tokenizer: Tokenizer, skipped_chars: int = 0) -> None:
        """Of all text, the first ``skipped_chars`` are left out."""
        self._tokenizer = tokenizer
        self._skipped_chars = skipped_chars
        # Decoded behind other text: at the beginning of a text, some decoders drop a blank.
        self._before: list[int] = tokenizer.encode("a", add_special_tokens=False).ids
        self._before_chars = len(self._decode([]))
        self._pending: list[int] = []

    def push(self, token_id: int) -> str:
        """The text that ``token_id`` completes, possibly none."""
        self._pending.append(token_id)
        text = self._decode(self._pending)[self._before_chars :]
        if text.endswith("\ufffd"):
            return ""
        self._pending.clear()
        shown = text[self._skipped_chars :]
        self._skipped_chars -= len(text) - len(shown)
        return shown

    def _decode(self, token_ids: list[int]) -> str:
        text: str = self._tokenizer.decode([*self._before, *token_ids], skip_special_tokens=True)
        return text
