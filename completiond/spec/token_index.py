"""An index over many runs of tokens that finds the longest earlier occurrence of a text's end.

Log-structured: runs are appended to one array and never moved; every so often the newest part becomes a *block*, its
places sorted by the pair of tokens that ends there, and blocks of like size are merged (O'Neil et al., "The
log-structured merge-tree", 1996). A look-up finds the places of the last pair by binary search in each block and by
scanning the small unsorted rest, then narrows them token by token backwards. Against a suffix automaton
(SAM-Decoding) this costs a few binary searches more per look-up, but takes 16 bytes a token instead of hundreds,
allows runs to be taken out again, and gives all places of the longest match, which ranking needs.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_MATCH", "MIN_MATCH", "Match", "Run", "TokenIndex"]

MIN_MATCH = 2
"""Tokens that must agree; also the length of the sorted key."""
MAX_MATCH = 64
"""Longer agreement says nothing more."""
MAX_PLACES = 24
"""Places of the longest match that are handed out, newest first."""
TAIL_TOKENS = 4096
"""Unsorted tokens at most: scanning them costs some 10 microseconds."""
BYTES_PER_TOKEN = 4 + 8 + 4
"""Token, sorted key, sorted place."""

_BORDER = -1  # between runs; equals no token, so that no match crosses it

Ints = NDArray[np.int32]
_BACK: Ints = np.arange(1, MAX_MATCH + 1, dtype=np.int32)
_NOWHERE: Ints = np.empty(0, dtype=np.int32)


@dataclass(slots=True)
class Run:
    """Tokens that stand together: ``tokens[start:end]`` of the index. ``origin`` says what they are (file, open, edit
    ...).
    """

    start: int
    end: int
    origin: str
    document: str
    alive: bool = True


@dataclass(frozen=True, slots=True)
class Match:
    """``length`` tokens before ``place`` agree with the text's end; what followed is ``tokens[place:run.end]``."""

    place: int
    length: int
    run: Run


@dataclass(frozen=True, slots=True)
class _Block:
    """The keys of all pairs whose second token is in ``tokens[start:end]``, sorted, and the place behind each pair;
    equal keys oldest first.
    """

    start: int
    end: int
    keys: NDArray[np.int64]
    places: Ints


class TokenIndex:
    """Runs can be added and removed at any time. Not thread-safe."""

    def __init__(self) -> None:
        self._tokens: Ints = np.full(2 * TAIL_TOKENS, _BORDER, dtype=np.int32)
        self._size = 1  # a border first, so that a place always has a token before it
        self._blocks: list[_Block] = []
        self._runs: list[Run] = []
        self._starts: list[int] = []
        self._dead_tokens = 0
        self._num_tokens = 0

    @property
    def num_tokens(self) -> int:
        """Tokens of runs that have not been removed."""
        return self._num_tokens

    @property
    def size_bytes(self) -> int:
        """Memory of the arrays in use."""
        return self._tokens.nbytes + sum(block.keys.nbytes + block.places.nbytes for block in self._blocks)

    def add(self, token_ids: Sequence[int], origin: str, document: str = "") -> Run:
        """Append a run; an empty one is fine. Amortised cost is a sort of its tokens, log(total) times."""
        start, end = self._size, self._size + len(token_ids)
        self._reserve(end + 1)
        self._tokens[start:end] = token_ids
        self._tokens[end] = _BORDER
        self._size = end + 1
        self._num_tokens += len(token_ids)
        run = Run(start, end, origin, document)
        self._runs.append(run)
        self._starts.append(start)
        self._sort_tail()
        return run

    def extend(self, run: Run, token_ids: Sequence[int]) -> None:
        """Let the newest run grow. Raises ValueError for any other, behind which there is no room."""
        if run.end + 1 != self._size or not run.alive:
            raise ValueError("only the newest run can grow")
        end = run.end + len(token_ids)
        self._reserve(end + 1)
        self._tokens[run.end : end] = token_ids
        self._tokens[end] = _BORDER
        run.end, self._size = end, end + 1
        self._num_tokens += len(token_ids)
        self._sort_tail()

    def remove(self, run: Run) -> None:
        """Take a run out; when half of all is dead, the rest is packed and the memory freed. Places become invalid
        then.
        """
        if not run.alive:
            return
        run.alive = False
        self._num_tokens -= run.end - run.start
        self._tokens[run.start : run.end] = _BORDER  # sorted places stay behind, and match nothing now
        self._dead_tokens += run.end - run.start + 1
        if 2 * self._dead_tokens >= self._size:
            self.pack()

    def tokens(self, run: Run, place: int, count: int) -> tuple[int, ...]:
        """At most ``count`` tokens of ``run`` from ``place`` on."""
        return tuple(self._tokens[place : min(place + count, run.end)].tolist())

    def last_place(self, run: Run) -> int | None:
        """The place behind the newest earlier occurrence in ``run`` of its own last token."""
        tokens = self._tokens[run.start : run.end]
        if len(tokens) < 2:
            return None
        places = np.flatnonzero(tokens[:-1] == tokens[-1])
        return run.start + int(places[-1]) + 1 if len(places) else None

    def longest(self, context_ids: Sequence[int], wanted: Callable[[Run, int], bool] | None = None) -> list[Match]:
        """All places (MAX_PLACES at most, newest first) of the longest end of ``context_ids`` with a token behind it.

        Empty when not even MIN_MATCH tokens agree anywhere. ``wanted`` may refuse places: those that are
        left, the longest of them. (It is asked about few places only, and of very many that agree alike the newest.)
        """
        if len(context_ids) < MIN_MATCH:
            return []
        places = self._pair_places(context_ids[-2], context_ids[-1])
        if self._dead_tokens and len(places):
            places = places[self._tokens[places - 1] == context_ids[-1]]
        # A pair that ends a run has nothing behind it.
        places = places[self._tokens[places] != _BORDER]
        length, limit = MIN_MATCH, min(MAX_MATCH, len(context_ids))
        while len(places) > MAX_PLACES and length < limit:
            kept = places[self._tokens[np.maximum(places - length - 1, 0)] == context_ids[-1 - length]]
            if len(kept) <= MAX_PLACES:
                kept = self._wanted(kept, wanted)
            if not len(kept):
                break
            places, length = kept, length + 1
        return self._best(self._wanted(places[::-1][:MAX_PLACES], wanted), context_ids, limit)

    def _wanted(self, places: Ints, wanted: Callable[[Run, int], bool] | None) -> Ints:
        if wanted is None or not len(places):
            return places
        return places[[wanted(self._run_at(place), place) for place in places.tolist()]]

    def _best(self, places: Ints, context_ids: Sequence[int], limit: int) -> list[Match]:
        """Of few places, those that agree longest."""
        if not len(places):
            return []
        # Backwards from each place. Before the array's first place there is only its border, which agrees with nothing.
        tail = np.array(context_ids[: -limit - 1 : -1], dtype=np.int32)
        before = np.maximum(places[:, None] - _BACK[:limit], 0)
        differs = self._tokens[before] != tail
        lengths = np.where(differs.any(axis=1), differs.argmax(axis=1), limit)
        best = int(lengths.max())
        return [Match(place, best, self._run_at(place)) for place in places[lengths == best].tolist()]

    def _pair_places(self, first: int, second: int) -> Ints:
        """Every place behind the pair, oldest first."""
        key = (first << 32) | second
        found = []
        both = np.array((key, key + 1))
        for block in self._blocks:
            low, high = block.keys.searchsorted(both).tolist()
            if high > low:
                found.append(block.places[low:high])
        start = self._sorted_end
        tail = self._tokens[start - 1 : self._size]
        ends = (tail[1:] == second).nonzero()[0]
        if len(ends):
            found.append((ends[tail[ends] == first] + (start + 1)).astype(np.int32))
        if len(found) == 1:
            return found[0]
        if not found:
            return _NOWHERE
        return np.concatenate(found)

    @property
    def _sorted_end(self) -> int:
        return self._blocks[-1].end if self._blocks else 1

    def _run_at(self, place: int) -> Run:
        return self._runs[bisect.bisect_right(self._starts, place) - 1]

    def _reserve(self, size: int) -> None:
        if size + 1 > len(self._tokens):
            grown = np.full(max(size + 1, len(self._tokens) * 3 // 2), _BORDER, dtype=np.int32)
            grown[: self._size] = self._tokens[: self._size]
            self._tokens = grown

    def _sort_tail(self) -> None:
        """Make a block of the unsorted rest when it is long, with the blocks before it that are not twice as long."""
        # The border behind the newest run stays out: that run can still grow, and then it is none any more.
        start, end = self._sorted_end, self._size - 1
        if end - start <= TAIL_TOKENS:
            return
        while self._blocks and self._blocks[-1].end - self._blocks[-1].start < 2 * (end - start):
            start = self._blocks.pop().start
        self._blocks.append(self._block(start, end))

    def _block(self, start: int, end: int) -> _Block:
        tokens = self._tokens[start - 1 : end].astype(np.int64)
        keys = (tokens[:-1] << 32) | tokens[1:]
        inside = np.flatnonzero((tokens[:-1] != _BORDER) & (tokens[1:] != _BORDER))
        keys = keys[inside]
        order = np.argsort(keys, kind="stable")
        return _Block(start, end, keys[order], (inside[order] + (start + 1)).astype(np.int32))

    def pack(self) -> None:
        """Free the memory of removed runs now. Places become invalid."""
        alive = [(run, self._tokens[run.start : run.end].copy()) for run in self._runs if run.alive]
        room = sum(run.end - run.start + 1 for run, _ in alive)
        self._tokens = np.full(max(2 * TAIL_TOKENS, room + 2), _BORDER, dtype=np.int32)
        self._size, self._blocks, self._runs, self._starts, self._dead_tokens = 1, [], [], [], 0
        for run, token_ids in alive:
            run.start, run.end = self._size, self._size + len(token_ids)
            self._tokens[run.start : run.end] = token_ids
            self._tokens[run.end] = _BORDER
            self._size = run.end + 1
            self._runs.append(run)
            self._starts.append(run.start)
        self._sort_tail()
