"""Which tokens an answer must not begin with, for who wants another one than those there are (alternatives.py)."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from completiond.engine.constrained import Constraint

__all__ = ["Avoiding"]


class Avoiding:
    """A Constraint: at position ``start`` none of ``token_ids``, and besides what ``other`` says."""

    def __init__(self, token_ids: Collection[int], start: int, vocab_size: int, other: Constraint | None) -> None:
        self._start = start
        self._other = other
        self._allowed = torch.ones(vocab_size, dtype=torch.bool)
        self._allowed[list(token_ids)] = False

    def allowed(self, position: int) -> Tensor | None:
        """See Constraint.allowed. Where all were avoided, all may be chosen again."""
        found = self._other.allowed(position) if self._other is not None else None
        if position != self._start:
            return found
        kept = self._allowed.nonzero()[:, 0] if found is None else found[self._allowed[found.cpu()]]
        return kept if kept.numel() else found

    def chose(self, position: int, token_id: int) -> None:
        """See Constraint.chose."""
        if self._other is not None:
            self._other.chose(position, token_id)
