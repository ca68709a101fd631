"""Two texts side by side, so that to go on with the other one copies nothing: two windows, or two editors, typed in
in turn.

The decoder reads the rows that its cache points to. Each text has a seat: buffers of its own, and what is known of
them; a change of texts makes the cache point to other ones. A text that comes new takes the seat of the one that was
longest not gone on with, whose rows then go into the tree (tree.py). Seats belong to names and are not found by their
tokens: with each key typed near the beginning of a file, a text shares less with itself than with another one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from completiond.cache.tree import common_length

if TYPE_CHECKING:
    from completiond.cache.kv import KVCache

__all__ = ["NUM_SEATS", "Seats"]

NUM_SEATS = 2
"""Two who type at once are common, three are not; each seat takes the memory of a whole context."""


@dataclass(slots=True, eq=False)
class _Seat:
    """``keys``, ``values``, ``token_ids`` and ``moved_from`` are those of the cache while it is on this seat; what they
    were when it was left, at other times.
    """

    keys: Tensor
    values: Tensor
    token_ids: list[int] = field(default_factory=list)
    moved_from: int | None = None
    name: Hashable = None
    used: int = 0


class Seats:
    """Belongs to one cache, whose buffers are the first seat's. The buffers of the others are made when they are first
    needed, of memory that ``kv.others`` is to leave free.
    """

    def __init__(self, kv: KVCache, num_seats: int = NUM_SEATS) -> None:
        self._kv = kv
        self._num_seats = num_seats
        self._seats = [_Seat(kv.keys, kv.values)]
        self._clock = 0

    def take(self, name: Hashable) -> None:
        """Have the cache on the seat of the text ``name``, as it was left; on another's, if it has none."""
        self._clock += 1
        seats = self._seats
        number = next((number for number, seat in enumerate(seats) if seat.name == name and seat.used), None)
        if number is None:
            number = self._free_seat()
        seats[number].name, seats[number].used = name, self._clock
        if number != self._kv.seat:
            self._change(number)

    def num_beside(self, token_ids: Sequence[int]) -> int:
        """The most that a text on another seat shares of the first ``token_ids``, by rows that were not moved."""
        return max((self._shared(number, token_ids) for number in self._beside()), default=0)

    def save_beside(self, token_ids: Sequence[int]) -> None:
        """Copy what ``num_beside`` has found into ``kv.others``."""
        number = max(self._beside(), key=lambda number: self._shared(number, token_ids))
        seat, shared = self._seats[number], self._shared(number, token_ids)
        assert self._kv.others is not None, "seats come with a tree"
        self._sit(number)  # the states are of that text, too
        self._kv.others.save(token_ids[:shared], seat.keys, seat.values)
        self._sit(self._kv.seat)

    def forget(self) -> None:
        """Hold nothing of the texts on other seats."""
        for number in self._beside():
            self._seats[number].token_ids, self._seats[number].moved_from = [], None

    def _free_seat(self) -> int:
        """One that no text was on yet, or else the one that was left longest ago."""
        if self._seats[-1].used and len(self._seats) < self._num_seats:
            self._seats.append(_Seat(torch.zeros_like(self._kv.keys), torch.zeros_like(self._kv.values)))
        return min(range(len(self._seats)), key=lambda number: self._seats[number].used)

    def _change(self, number: int) -> None:
        kv, left, seat = self._kv, self._seats[self._kv.seat], self._seats[number]
        left.token_ids, left.moved_from = kv.token_ids, kv.moved_from
        kv.seat, kv.keys, kv.values = number, seat.keys, seat.values
        kv.token_ids, kv.moved_from = seat.token_ids, seat.moved_from
        self._sit(number)

    def _sit(self, number: int) -> None:
        others = self._kv.others
        if others is not None and others.follower is not None:
            others.follower.sit(number)

    def _beside(self) -> list[int]:
        return [number for number in range(len(self._seats)) if number != self._kv.seat]

    def _shared(self, number: int, token_ids: Sequence[int]) -> int:
        seat = self._seats[number]
        return common_length(seat.token_ids[: seat.moved_from], token_ids)
