"""Keys and values of one sequence, with rollback and reuse of a common prefix.

A static buffer never moves: a pass writes rows ``[start, start + M)`` and ``num_tokens`` says how many are valid.
What lies beyond is stale but finite, and attention masks it exactly, so rolling back is a change of one number.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from completiond.cache.seats import Seats
from completiond.cache.tree import PrefixTree, common_length

__all__ = ["KVCache", "SequenceCache", "TreeRows"]


class SequenceCache:
    """Which tokens a cache stands for. Subclasses add the storage; ``rollback`` is all they may have to override."""

    def __init__(self, capacity_tokens: int) -> None:
        self.capacity_tokens = capacity_tokens
        self.token_ids: list[int] = []

    @property
    def num_tokens(self) -> int:
        """How many leading rows are valid."""
        return len(self.token_ids)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Declare the rows of ``token_ids``, just written behind the valid ones, valid."""
        self.token_ids.extend(token_ids)

    def rollback(self, num_tokens: int) -> None:
        """Forget all but the first ``num_tokens`` rows."""
        del self.token_ids[num_tokens:]

    def forget(self) -> None:
        """Hold nothing, as when it was new: the next prompt is read from its first token."""
        self.rollback(0)

    def num_unread(self, prompt_ids: Sequence[int]) -> int:
        """How many tokens of a prompt ``reuse`` would leave to compute; changes nothing."""
        return len(prompt_ids) - common_length(self.token_ids, prompt_ids[:-1])

    def accept(self, path: Sequence[int], token_ids: Sequence[int]) -> None:
        """After a pass with a tree: make its nodes ``path``, from the root downwards, with those ids the next rows.

        Until then, none of the tree's rows is valid.
        """
        raise NotImplementedError

    def reuse(self, prompt_ids: Sequence[int]) -> int:
        """Keep the longest common prefix with ``prompt_ids`` and return its length, in tokens.

        At least the prompt's last token is left to compute, because its logits are what the caller is after.
        """
        common = common_length(self.token_ids, prompt_ids[:-1])
        self.rollback(common)
        return common


class TreeRows:
    """Keys and values of a tree's tokens, layer by layer, until it is known which of them become rows."""

    def __init__(self, num_chain: int) -> None:
        """The first ``num_chain`` rows of the pass are not the tree's."""
        self._num_chain = num_chain
        self._layers: list[tuple[Tensor, Tensor]] = []

    def add(self, keys: Tensor, values: Tensor) -> None:
        """The next layer's, of the whole pass: [M, kv_heads, head_dim]."""
        self._layers.append((keys[self._num_chain :], values[self._num_chain :]))

    def write(self, path: Sequence[int], keys: Tensor, values: Tensor, start: int) -> None:
        """Put the nodes of ``path`` at ``start`` and behind, in all layers' ``keys`` and ``values``."""
        nodes = torch.tensor(path, dtype=torch.int64, device=keys.device)
        end = start + len(path)
        for index, (new_keys, new_values) in enumerate(self._layers):
            keys[index, :, start:end] = new_keys[nodes].transpose(0, 1)
            values[index, :, start:end] = new_values[nodes].transpose(0, 1)


class KVCache(SequenceCache):
    """``keys`` and ``values``: float [layers, kv_heads, rows, head_dim], ``capacity_tokens`` rows and up to
    ``row_multiple`` - 1 more, which are never valid but may be read under a mask.
    """

    def __init__(
        self,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        capacity_tokens: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        row_multiple: int = 1,
        rope_theta: float | None = None,
    ) -> None:
        """``rope_theta``: by which base the keys are rotated to their places (RoFormer, arXiv 2104.09864; half-split);
        None where they cannot be moved.
        """
        super().__init__(capacity_tokens)
        self.rope_theta = rope_theta
        shape = (num_layers, num_kv_heads, -(-capacity_tokens // row_multiple) * row_multiple, head_dim)
        # Zeros, not empty: a masked row is multiplied by an exact 0, and 0 x NaN would still be NaN.
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.tree: TreeRows | None = None
        self.others: PrefixTree | None = None
        """Rows of texts that this one took the place of."""
        self.seats: Seats | None = None
        """Other texts that lie beside this one; only together with ``others``."""
        self.seat = 0
        """Which of the seats this one is on."""
        self.moved_from: int | None = None
        """The place from which on the valid rows are not those of a reading, but were moved (cache/shift.py)."""

    def rollback(self, num_tokens: int) -> None:
        """See SequenceCache.rollback."""
        super().rollback(num_tokens)
        if self.moved_from is not None and num_tokens <= self.moved_from:
            self.moved_from = None

    def forget(self) -> None:
        """See SequenceCache.forget: nor of other texts."""
        super().forget()
        if self.others is not None:
            self.others.clear()
        if self.seats is not None:
            self.seats.forget()

    def reuse(self, prompt_ids: Sequence[int]) -> int:
        """See SequenceCache.reuse; what is lost by that is saved in ``others``, and the prefix may be from there.

        Moved rows are neither saved nor a beginning to build on.
        """
        common = common_length(self.token_ids, prompt_ids[:-1])
        if self.others is None:
            self.rollback(common)
            return common
        exact = common if self.moved_from is None else min(common, self.moved_from)
        if common < self.num_tokens:
            self.others.save(self.token_ids[: self.moved_from], self.keys, self.values)
        held = self.others.match(prompt_ids[:-1])
        if self.seats is not None and self.seats.num_beside(prompt_ids[:-1]) > max(held, common):
            self.seats.save_beside(prompt_ids[:-1])
            held = self.others.match(prompt_ids[:-1])
        if held > exact and held >= common:
            self.rollback(exact)
            self.others.restore(prompt_ids[:held], exact, self.keys, self.values)
            self.extend(prompt_ids[exact:held])
            return held
        self.rollback(common)
        return common

    def num_unread(self, prompt_ids: Sequence[int]) -> int:
        """See SequenceCache.num_unread; more, if ``others`` has to make room for what this holds."""
        common = common_length(self.token_ids, prompt_ids[:-1])
        held = common if self.others is None else max(common, self.others.match(prompt_ids[:-1]))
        beside = 0 if self.seats is None else self.seats.num_beside(prompt_ids[:-1])
        return len(prompt_ids) - max(held, beside)

    def accept(self, path: Sequence[int], token_ids: Sequence[int]) -> None:
        """See SequenceCache.accept."""
        if path:
            assert self.tree is not None, "the last pass had a tree"
            self.tree.write(path, self.keys, self.values, self.num_tokens)
        self.tree = None
        self.extend(token_ids)

    @property
    def size_bytes(self) -> int:
        """Memory of both buffers."""
        return 2 * self.keys.numel() * self.keys.element_size()
