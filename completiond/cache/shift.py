"""The text behind the cursor is not read again for every key: its rows are moved to where it lies now.

A fill-in-the-middle prompt has the text before the cursor in front of the text behind it, so a typed character moves
all of the latter. Its keys are rotated by the distance (RoPE is a rotation by the position, and rotations add up), its
values stay. This is the one approximation there is: the moved rows have not seen what was typed. So it is counted, it
is left alone once too much has changed, and a prompt that is read as a whole makes it exact again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from completiond.cache.kv import KVCache
from completiond.cache.tree import common_length

__all__ = ["Move", "SuffixShift", "turned"]

MAX_CHANGED_TOKENS = 48
"""Of the text before the block, since the block was read: with more, it is read again."""
MIN_MOVED_TOKENS = 48
"""Fewer are read: that costs 45 ms on two CPU cores, and answers are then what they would be (docs/log.md). The number
above is chosen, not measured.
"""


@dataclass(frozen=True, slots=True)
class Move:
    """``length`` tokens that the last exact reading has at ``source`` lie at ``start`` of the prompt now.

    The prompt before this one had them at ``last``.
    """

    source: int
    start: int
    length: int
    last: int

    @property
    def end(self) -> int:
        """The first place behind them."""
        return self.start + self.length


@dataclass(slots=True)
class _Origin:
    """The last prompt that was, or is about to be, read as a whole.

    ``rows``: keys and values of its block, once they were needed.
    """

    prompt_ids: tuple[int, ...]
    block: range
    rows: tuple[Tensor, Tensor] | None = None


class SuffixShift:
    """Belongs to one cache. A block is always moved from where it was read, so that no error adds up."""

    def __init__(self, kv: KVCache, max_changed_tokens: int = MAX_CHANGED_TOKENS) -> None:
        """Raises ValueError when keys of ``kv`` cannot be moved."""
        if kv.rope_theta is None:
            raise ValueError("these keys are not rotated by their places")
        self._kv = kv
        self._rope_theta = kv.rope_theta
        self._max_changed_tokens = max_changed_tokens
        self._origins: dict[int, _Origin | None] = {}  # by seat

    @property
    def _origin(self) -> _Origin | None:
        return self._origins.get(self._kv.seat)

    @_origin.setter
    def _origin(self, origin: _Origin | None) -> None:
        self._origins[self._kv.seat] = origin

    def forget(self) -> None:
        """Have no rows of any text."""
        self._origins.clear()

    def reuse(self, prompt_ids: Sequence[int], block: range) -> tuple[int, Move | None]:
        """Keep what the cache holds of the prompt's beginning, and return how many tokens; and how to get the rows of
        ``block``, a range of places in the prompt, without reading it, or None: by reading it, or they are there.

        With a Move, the prompt is read up to its start, then ``place`` is called, then the rest is read.
        """
        kv = self._kv
        move = self._plan(prompt_ids, block)
        cached_tokens = kv.reuse(prompt_ids)
        if move is not None and cached_tokens >= move.end:
            if kv.moved_from == move.start:
                return cached_tokens, None  # it lies there already
            if kv.moved_from is None:
                move = None  # it was read there before
        if kv.moved_from is not None:  # moved rows are no beginning to build on, even where the tokens agree
            cached_tokens = min(cached_tokens, kv.moved_from)
        if move is not None:
            cached_tokens = min(cached_tokens, move.start)
        else:
            self.note(prompt_ids, block)
        kv.rollback(cached_tokens)
        return cached_tokens, move

    def reuse_exact(self, prompt_ids: Sequence[int]) -> int:
        """Keep what the cache has read of the prompt's beginning, and return how many tokens. Once all of it is read,
        call ``note``; until then, what was read before can still be moved.
        """
        cached_tokens = self._kv.reuse(prompt_ids)
        if self._kv.moved_from is not None:
            cached_tokens = min(cached_tokens, self._kv.moved_from)
            self._kv.rollback(cached_tokens)
        return cached_tokens

    def note(self, prompt_ids: Sequence[int], block: range) -> None:
        """A prompt was read as a whole: its ``block`` is what is moved from now on."""
        self._origin = _Origin(tuple(prompt_ids), block) if len(block) >= MIN_MOVED_TOKENS else None

    def num_unread(self, prompt_ids: Sequence[int], block: range) -> int:
        """How many tokens of a prompt ``reuse`` would leave to compute; changes nothing that a caller sees."""
        move, moved_from = self._plan(prompt_ids, block), self._kv.moved_from
        cached_tokens = len(prompt_ids) - self._kv.num_unread(prompt_ids)
        is_there = move is not None and cached_tokens >= move.end and moved_from in (None, move.start)
        if not is_there and moved_from is not None:
            cached_tokens = min(cached_tokens, moved_from)
        if move is None or is_there:
            return len(prompt_ids) - cached_tokens
        return len(prompt_ids) - min(cached_tokens, move.start) - move.length

    def _plan(self, prompt_ids: Sequence[int], block: range) -> Move | None:
        origin = self._origin
        if origin is None or len(block) < MIN_MOVED_TOKENS:
            return None
        length = common_length(origin.prompt_ids[origin.block.start : origin.block.stop], prompt_ids[block.start :])
        length = min(length, len(block))
        before, before_then = prompt_ids[: block.start], origin.prompt_ids[: origin.block.start]
        # What has not changed is the text up to the cursor, and what is behind it but read anew with every key.
        same = common_length(before, before_then)
        same += common_length(before[same:][::-1], before_then[same:][::-1])
        num_changed = len(before) - same + len(before_then) - same
        if num_changed == 0 and self._kv.moved_from is None:
            return None  # it lies where it was read
        if length < MIN_MOVED_TOKENS or num_changed > self._max_changed_tokens or not self._hold(origin):
            return None
        last = origin.block.start if self._kv.moved_from is None else self._kv.moved_from
        return Move(origin.block.start, block.start, length, last)

    def place(self, move: Move) -> None:
        """Write the moved rows behind the valid ones, which end where they begin, and make them valid."""
        kv, origin = self._kv, self._origin
        assert origin is not None, "planned before"
        assert origin.rows is not None, "held when it was planned"
        assert kv.num_tokens == move.start, "what is before them is there"
        keys, values = origin.rows
        is_exact = tuple(kv.token_ids) == origin.prompt_ids[: move.start]  # all is as it was
        by = move.start - move.source
        kv.keys[:, :, move.start : move.end] = turned(keys[:, :, : move.length], by, self._rope_theta)
        kv.values[:, :, move.start : move.end] = values[:, :, : move.length]
        kv.extend(origin.prompt_ids[move.source : move.source + move.length])
        kv.moved_from = None if is_exact else move.start

    def _hold(self, origin: _Origin) -> bool:
        """Keep the block's rows while the cache still has them; False when it has them no more."""
        if origin.rows is None:
            end = origin.block.stop
            if tuple(self._kv.token_ids[:end]) != origin.prompt_ids[:end]:
                self._origin = None
                return False
            rows = slice(origin.block.start, end)
            origin.rows = self._kv.keys[:, :, rows].clone(), self._kv.values[:, :, rows].clone()
        return True


def turned(keys: Tensor, by: int, rope_theta: float) -> Tensor:
    """``keys`` [..., head_dim], rotated for their places, as they would be ``by`` places on (back, if negative)."""
    if by == 0:
        return keys
    half = keys.shape[-1] // 2
    angles = by / rope_theta ** (torch.arange(half, dtype=torch.float64, device=keys.device) / half)
    cos, sin = angles.cos().float(), angles.sin().float()
    first, second = keys[..., :half].float(), keys[..., half:].float()
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(keys.dtype)
