"""What the tokens of a vocabulary spell, sorted, so that all that begin with some text are found at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import torch
from torch import Tensor

__all__ = ["Vocabulary", "allowed_naive"]


class Vocabulary:
    """Made from the bytes that each token writes (``TextTokenizer.spellings``), none of them empty."""

    def __init__(self, spellings: Mapping[int, bytes]) -> None:
        order = sorted(sorted(spellings), key=spellings.__getitem__)
        self._spelled = [spellings[index] for index in order]
        self._ids = torch.tensor(order, dtype=torch.int64)
        self._by_id = [spellings.get(index) for index in range(max(spellings, default=-1) + 1)]

    def spelling(self, token_id: int) -> bytes | None:
        """What it writes; None for a token that writes no text."""
        return self._by_id[token_id] if token_id < len(self._by_id) else None

    def extends(self, text: bytes) -> bool:
        """Whether a token begins with ``text`` and goes on."""
        begin, end = self._range(text)
        return begin < end and self._spelled[end - 1] != text  # what equals it comes before what goes on from it

    def allowed(self, text: bytes) -> Tensor:
        """Ids, int64 and ascending, of the tokens that ``text`` begins with, and of those that begin with ``text``."""
        begin, end = self._range(text)
        ids = [self._ids[begin:end]]
        for length in range(1, len(text)):
            first, last = self._equal(text[:length])
            ids.append(self._ids[first:last])
        return torch.cat(ids).sort().values

    def _range(self, text: bytes) -> tuple[int, int]:
        """Of the spellings that begin with ``text``."""
        begin = bisect_left(self._spelled, text)
        stem = text.rstrip(b"\xff")
        if not stem:
            return begin, len(self._spelled)
        return begin, bisect_left(self._spelled, stem[:-1] + bytes([stem[-1] + 1]))

    def _equal(self, text: bytes) -> tuple[int, int]:
        return bisect_left(self._spelled, text), bisect_left(self._spelled, text + b"\x00")


def allowed_naive(spellings: Mapping[int, bytes], text: bytes) -> list[int]:
    """The oracle of ``Vocabulary.allowed``: look at every token."""
    return sorted(index for index, spelled in spellings.items() if spelled.startswith(text) or text.startswith(spelled))
