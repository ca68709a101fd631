"""EAGLE drafter: a small head that continues from the target's own hidden states.

Its keys and values follow the text: whatever drafted a pass, the target's true features of the accepted tokens replace
what the head made up for them, and a prompt that shares its beginning with the last one keeps the rows of that
beginning. The head runs only when a draft is asked for; what it missed until then it reads in one block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from completiond.cache.shift import Move
from completiond.cache.tree import common_length
from completiond.spec.drafter import NO_DRAFT, Draft, Verified
from completiond.spec.eagle_head import EagleHead
from completiond.spec.eagle_tree import grow_tree
from completiond.spec.head_cache import HeadCache

__all__ = ["EagleDrafter"]

MAX_DEPTH = 8
"""Acceptance falls with depth; public heads are trained for seven steps at most."""
STEP_WEIGHT = 0.05
"""Of the newest measurement in the running time of a step."""


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is known of a text on another seat; see EagleDrafter.__init__."""

    cache: HeadCache
    states: Tensor
    ids: list[int]
    num_seen: int
    num_rows: int


class EagleDrafter:
    """A Drafter. ``goes_on`` is asked before each step whether one more guess is worth its time."""

    source = "eagle"

    def __init__(
        self,
        head: EagleHead,
        capacity_tokens: int,
        goes_on: Callable[[Draft, float], bool] = lambda draft, step_ms: True,
        max_depth: int = MAX_DEPTH,
        width: int = 1,
    ) -> None:
        """``capacity_tokens``: of the target's cache. ``goes_on`` gets the draft so far and the time of a step.
        ``width`` above 1 drafts trees (eagle_tree.py), without asking ``goes_on``.
        """
        self.head = head
        self.feature_layers = head.shape.feature_layers
        self.step_ms = 0.0
        self._num_steps = 0
        self._goes_on = goes_on
        self.max_depth = max_depth
        self._width = width
        self._cache = head.new_cache(capacity_tokens + max_depth * width + 1)
        width = head.shape.target_hidden_size if head.shape.version == 1 else head.shape.hidden_size
        self._states = torch.zeros(capacity_tokens, width, dtype=head.kernels.dtype, device=head.device)
        self._ids: list[int] = []
        self._num_seen = 0  # positions whose features are in _states, from the cache's first on
        self._num_rows = 0  # entries that are in the cache
        self._moving: tuple[Move, Tensor | None] | None = None  # with the features of what will be moved
        self._seat = 0
        self._beside: dict[int, _Beside] = {}

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset: what counts here is what the target reads, see ``begin``."""

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """See Drafter.begin. Keeps what is known of the part that the target keeps."""
        moved_states = None if move is None else self._states_of(move, prompt_ids)
        limit = min(num_cached_tokens, self._num_seen)
        same = common_length(self._ids[:limit], prompt_ids)
        if same < num_cached_tokens:  # the target read something without us: nothing is known of it, begin behind it
            same = self._cache.first = num_cached_tokens
        self._cache.first = min(self._cache.first, same)  # what is read from here on is known again
        self._num_seen = same
        # The last entry of the shared part was made with the token that followed then.
        self._num_rows = max(self._cache.first, min(self._num_rows, same - 1))
        self._moving = None if move is None else (move, moved_states)
        self._ids = list(prompt_ids)
        self._move()

    def read(self, features: Tensor) -> None:
        """See Drafter.read."""
        end = self._num_seen + features.shape[0]
        self._states[self._num_seen : end] = self.head.fuse(features)
        self._num_seen = end
        self._move()

    def held(self, token_ids: Sequence[int]) -> range:
        """See cache/tree.py, as ``take`` and ``put``."""
        return range(self._cache.first, min(self._num_seen, common_length(self._ids, token_ids)))

    def take(self, start: int, end: int) -> Tensor:
        """The target's features of those places, fused, and keys and values: of the places before them each, since
        those hold the token of the place, too. NaN where there are none yet: the head runs when it is asked to.
        """
        first = max(start - 1, self._cache.first)
        rows = self._cache.read(first, end - 1 if self._num_rows >= end - 1 else first)
        unknown = rows.new_full((end - start - rows.shape[0], rows.shape[1]), torch.nan)
        return torch.cat((self._states[start:end], torch.cat((unknown, rows))), -1)

    def sit(self, seat: int) -> None:
        """See cache/tree.py."""
        if seat == self._seat:
            return
        self._beside[self._seat] = _Beside(self._cache, self._states, self._ids, self._num_seen, self._num_rows)
        text = self._beside.pop(seat, None)
        if text is None:
            cache = self.head.new_cache(self._cache.capacity_tokens)
            text = _Beside(cache, torch.zeros_like(self._states), [], 0, 0)
        self._seat, self._moving = seat, None
        self._cache, self._states, self._ids = text.cache, text.states, text.ids
        self._num_seen, self._num_rows = text.num_seen, text.num_rows

    def put(self, start: int, token_ids: Sequence[int], states: Tensor | None) -> None:
        """Comes before ``begin``, which sees what of it belongs to the prompt."""
        self._ids[start:] = token_ids
        if states is None:
            self._num_seen = min(self._num_seen, start)  # what it had there was of another text
        if states is None or self._num_seen < start:
            return
        end, width = start + len(token_ids), self._states.shape[1]
        self._states[start:end] = states[:, :width]
        self._num_seen = end
        self._cache.first = min(self._cache.first, start)
        self._num_rows = max(self._cache.first, min(self._num_rows, start - 1))
        rows = states[:, width:]
        unknown = int(rows[:, 0].isnan().sum())
        if unknown < len(rows) and start - 1 + unknown <= self._num_rows:  # none is missing in front of them
            self._cache.put(start - 1 + unknown, rows[unknown:])
            self._num_rows = max(self._num_rows, end - 1)

    def _states_of(self, move: Move, prompt_ids: Sequence[int]) -> Tensor | None:
        """What is known of the tokens that will be moved, before what comes in front of them is written there."""
        rows = slice(move.last, move.last + move.length)
        known = self._cache.first <= rows.start and rows.stop <= self._num_seen
        if not known or self._ids[rows] != list(prompt_ids[move.start : move.end]):
            return None
        return self._states[rows].clone()

    def _move(self) -> None:
        """If all in front of them has been read: take the moved tokens' features along."""
        if self._moving is None or self._num_seen != self._moving[0].start:
            return
        move, states = self._moving
        self._moving = None
        if states is None:  # begin behind them
            self._cache.first = self._num_rows = move.end
        else:
            self._states[move.start : move.end] = states
        self._num_seen = move.end

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe."""
        self._ids.extend(token_ids)

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: the likeliest token of each step, with the head's probability of it."""
        known = len(self._ids) - 1  # the newest token has no feature yet
        budget = budget if self._width > 1 else min(budget, self.max_depth)
        if budget < 1 or self._num_seen < known or known <= self._cache.first:
            return NO_DRAFT
        state = self._catch_up(known)
        if self._width > 1:
            first_key = self._first_key(known)
            return grow_tree(self.head, state, self._cache, known, first_key, budget, self.max_depth, self._width)
        guess, chance = self._guess(state)
        draft = NO_DRAFT
        while chance > 0.0:  # which NaN is not
            draft = Draft((*draft.token_ids, guess), (*draft.probabilities, chance), self.source, confident=True)
            if draft.num_guesses == budget or not self._goes_on(draft, self.step_ms):
                break
            started = time.perf_counter()
            row = known + draft.num_guesses - 1
            state = self.head.step([guess], state, self._cache, row, [row], None, self._first_key(row))
            guess, chance = self._guess(state)
            self._note_step((time.perf_counter() - started) * 1e3)
        return draft

    def measure_step_ms(self, rounds: int = 6) -> float:
        """Time a step on this machine, the shortest of ``rounds``, and remember it; to be called before any text."""
        state = self._states[:1]
        best_ms = float("inf")
        for row in range(rounds):
            started = time.perf_counter()
            state = self.head.step([0], state, self._cache, row, [row], None, 0)
            self._guess(state)
            best_ms = min(best_ms, (time.perf_counter() - started) * 1e3)
        self.step_ms, self._num_steps = best_ms, rounds
        return best_ms

    def _guess(self, state: Tensor) -> tuple[int, float]:
        """The likeliest token behind ``state`` and its probability; waits for the device."""
        chance, draft_id = torch.softmax(self.head.logits(state)[0], -1).max(-1)
        return self.head.target_id(int(draft_id)), float(chance)

    def _catch_up(self, known: int) -> Tensor:
        """Enter all tokens up to the newest; the state behind it, [1, hidden_size].

        Of those before it only keys and values are needed: a long prompt costs a fraction of the layer.
        """
        last = known - 1
        self._enter(last)
        self._num_rows = known
        states = self._states[last:known]
        return self.head.step(self._ids[known:], states, self._cache, last, [last], None, self._first_key(last))

    def _enter(self, end: int) -> None:
        """Have keys and values of all places before ``end``, whose tokens and features are known."""
        start = self._num_rows
        if start < end:
            self.head.enter(
                self._ids[start + 1 : end + 1], self._states[start:end], self._cache, start, range(start, end)
            )
            self._num_rows = end

    def _first_key(self, row: int) -> int:
        """A head sees no more of the text than it was trained on."""
        return max(self._cache.first, row + 1 - self.head.shape.max_positions)

    def _note_step(self, step_ms: float) -> None:
        self._num_steps += 1
        self.step_ms += max(STEP_WEIGHT, 1.0 / self._num_steps) * (step_ms - self.step_ms)
