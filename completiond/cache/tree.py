"""What was read of other texts, to be gone on with: a tree over token ids, with a budget of memory.

The decoder needs the rows of one text side by side, so only that text lies in the cache it works on. Before another one
overwrites them, they are copied into pages of this tree, and copied back when a prompt begins with their tokens again.
A row that was copied is the same to the bit as one that is read again.

Pages are a tree and not a list because most texts share their beginning. They are of a fixed size (as in
PagedAttention, arXiv 2309.06180), so that none is ever split. Which leave first is a segmented LRU (Karedla, Love and
Wherry 1994): with each key the text behind the cursor makes a branch of its own that is never met again, and those may
not drive out the beginnings of other files, which are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

__all__ = ["PAGE_TOKENS", "Follower", "PrefixTree", "common_length"]

PAGE_TOKENS = 16
NEW_SHARE = 0.25
"""Of the budget: so much is left to pages that were met once only, before those met again have to go. Chosen, not
measured."""


class Follower(Protocol):
    """A drafter's state by token of the target's text, kept and brought back with the target's rows."""

    def held(self, token_ids: Sequence[int]) -> range:
        """The places of the text ``token_ids`` whose states it has."""

    def take(self, start: int, end: int) -> Tensor:
        """A copy of the states of those places, [end - start, width]."""

    def sit(self, seat: int) -> None:
        """The target goes on with the text on that seat (seats.py); the states of each text stay, apart."""

    def put(self, start: int, token_ids: Sequence[int], states: Tensor | None) -> None:
        """The target has ``token_ids`` from place ``start`` on again; None: it had read them without the follower."""


@dataclass(slots=True, eq=False)
class _Page:
    """``rows``: [2, layers, kv_heads, n, head_dim], keys and values of its n tokens."""

    token_ids: tuple[int, ...]
    parent: _Page | None
    rows: Tensor
    states: Tensor | None = None
    used: int = 0
    is_new: bool = True  # met once only
    children: list[_Page] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        return sum(t.numel() * t.element_size() for t in (self.rows, self.states) if t is not None)


class PrefixTree:
    """``budget_bytes`` is never exceeded by what it holds between two calls. ``follower``, if there is one, has its
    states kept too.
    """

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.size_bytes = 0
        self.follower: Follower | None = None
        self._roots: list[_Page] = []
        self._clock = 0

    def save(self, token_ids: Sequence[int], keys: Tensor, values: Tensor) -> None:
        """Copy what it lacks of ``token_ids``, whose rows are the first of ``keys`` and ``values``
        [layers, kv_heads, rows, head_dim].
        """
        self._clock += 1
        held = range(0) if self.follower is None else self.follower.held(token_ids)
        parent: _Page | None = None
        for start in range(0, len(token_ids), PAGE_TOKENS):
            ids = tuple(token_ids[start : start + PAGE_TOKENS])
            end = start + len(ids)
            page = self._page(parent, ids)
            if page is None:
                self._drop_beginnings(parent, ids)
                rows = torch.stack((keys[:, :, start:end], values[:, :, start:end]))
                page = _Page(ids, parent, rows)
                self._children(parent).append(page)
                self.size_bytes += page.size_bytes
            else:
                page.is_new = False
            page.used = self._clock
            is_held = held.start <= start and start + len(page.token_ids) <= held.stop
            if self.follower is not None and page.states is None and is_held:  # perhaps once read without it
                page.states = self.follower.take(start, end)
                self.size_bytes += page.states.numel() * page.states.element_size()
            parent = page
        self._make_room()

    def match(self, token_ids: Sequence[int]) -> int:
        """How many of the first ``token_ids`` it holds the rows of."""
        return sum(count for _, count in self._path(token_ids))

    def restore(self, token_ids: Sequence[int], start: int, keys: Tensor, values: Tensor) -> int:
        """Copy the rows of ``token_ids`` from place ``start`` on back to their places, as many as it holds.

        Returns where they end; that is ``start`` if it holds none behind it.
        """
        self._clock += 1
        end = 0
        for page, count in self._path(token_ids):
            begin, end = end, end + count
            page.used, page.is_new = self._clock, False
            skipped = max(0, start - begin)
            if skipped >= count:
                continue
            first = begin + skipped
            keys[:, :, first:end] = page.rows[0, :, :, skipped:count]
            values[:, :, first:end] = page.rows[1, :, :, skipped:count]
            if self.follower is not None:
                states = None if page.states is None else page.states[skipped:count]
                self.follower.put(first, token_ids[first:end], states)
        return max(start, end)

    def clear(self) -> None:
        """Forget all."""
        self._roots.clear()
        self.size_bytes = 0

    def _path(self, token_ids: Sequence[int]) -> Iterator[tuple[_Page, int]]:
        """The pages that ``token_ids`` begins with, and how many tokens of each agree: all, but for the last."""
        parent: _Page | None = None
        place = 0
        while place < len(token_ids):
            ids = tuple(token_ids[place : place + PAGE_TOKENS])
            best = max(
                self._children(parent),
                key=lambda page: (common_length(page.token_ids, ids), page.states is not None),
                default=None,
            )
            count = 0 if best is None else common_length(best.token_ids, ids)
            if best is None or count == 0:
                return
            yield best, count
            if count < PAGE_TOKENS:
                return
            parent, place = best, place + count

    def _page(self, parent: _Page | None, ids: tuple[int, ...]) -> _Page | None:
        """The page below ``parent`` that begins with ``ids``."""
        return next((page for page in self._children(parent) if page.token_ids[: len(ids)] == ids), None)

    def _children(self, parent: _Page | None) -> list[_Page]:
        return self._roots if parent is None else parent.children

    def _drop_beginnings(self, parent: _Page | None, ids: tuple[int, ...]) -> None:
        """Short pages, which end a text, go when the same text goes on: the longer page has all of them."""
        for page in [page for page in self._children(parent) if page.token_ids == ids[: len(page.token_ids)]]:
            self._drop(page)

    def _make_room(self) -> None:
        if self.size_bytes <= self.budget_bytes:
            return
        pages = list(self._all())
        new_bytes = sum(page.size_bytes for page in pages if page.is_new)
        while self.size_bytes > self.budget_bytes:
            leaves = [page for page in pages if not page.children]
            spare = [page for page in leaves if page.is_new] if new_bytes > NEW_SHARE * self.budget_bytes else []
            oldest = min(spare or leaves, key=lambda page: page.used)
            new_bytes -= oldest.size_bytes if oldest.is_new else 0
            pages.remove(oldest)
            self._drop(oldest)

    def _drop(self, page: _Page) -> None:
        self._children(page.parent).remove(page)
        self.size_bytes -= page.size_bytes

    def _all(self) -> Iterator[_Page]:
        rest = list(self._roots)
        while rest:
            page = rest.pop()
            yield page
            rest.extend(page.children)


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    limit = min(len(a), len(b))
    return next((i for i in range(limit) if a[i] != b[i]), limit)
