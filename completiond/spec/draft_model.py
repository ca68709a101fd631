"""Draft-target speculation: a smaller model with the same vocabulary writes ahead, the target checks.

Leviathan et al., arXiv 2211.17192, and Chen et al., arXiv 2302.01318; that the draft ends where the small model is no
longer sure of itself follows the assisted generation of transformers. The draft model has a cache of its own, which
follows the text: tokens it did not draft itself, or drafted without reading them, it reads when the next draft is asked
for, a long prompt chunk by chunk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from typing import Any

import torch

from completiond.cache.kv import SequenceCache
from completiond.cache.shift import Move
from completiond.engine.generate import PREFILL_CHUNK_TOKENS
from completiond.engine.target import TargetModel
from completiond.spec.drafter import NO_DRAFT, Draft, TextDrafter, Verified

__all__ = ["DraftModelDrafter"]

MAX_DEPTH = 16
MIN_CONFIDENCE = 0.4
"""A guess that is more likely wrong than right rarely pays for its place in the pass, and those behind it never do."""
SHORT_READ_TOKENS = 64
"""As much of the text is read on the way to a draft; more takes turns with the target."""
STEP_WEIGHT = 0.05
"""Of the newest measurement in the running time of a step."""


class DraftModelDrafter(TextDrafter):
    """A Drafter of chains, each guess the draft model's likeliest token. Lives as long as the model, so that what it
    has read serves the next answer too.

    ``kv`` is its cache: always a beginning of the known text, and after a draft the guesses that were read.
    ``step_ms``: what a guess takes, a running mean.
    """

    source = "draft"

    def __init__(
        self,
        model: TargetModel[Any],
        capacity_tokens: int,
        goes_on: Callable[[Draft, float], bool] = lambda draft, step_ms: True,
        max_depth: int = MAX_DEPTH,
        min_confidence: float = MIN_CONFIDENCE,
        stop_ids: Container[int] = (),
    ) -> None:
        """``capacity_tokens``: of the target's cache; cut to the positions that ``model`` has. ``goes_on`` gets the
        draft so far, at least one guess, and the time of a step. A guess that the model gives less than
        ``min_confidence`` (0.0 to 1.0) is left out, and ends the draft; one of ``stop_ids`` is its last.
        """
        self.model = model
        self.kv: SequenceCache = model.new_cache(min(capacity_tokens, model.max_positions))
        self.step_ms = 0.0
        self._goes_on = goes_on
        self.max_depth = max_depth
        self._min_confidence = min_confidence
        self._stop_ids = stop_ids
        self._ids: list[int] = []
        self._is_first = True  # nothing was proposed for this prompt yet
        self._readable = True  # no known id is outside of the model's vocabulary

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset: what counts here is what the target reads, see ``begin``."""

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """See Drafter.begin. Keeps the rows of what this prompt shares with the last text, whatever the target kept."""
        self.kv.reuse(prompt_ids)
        self._ids = list(prompt_ids)
        self._is_first = True
        self._readable = self._can_read(prompt_ids)

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe. Keeps the rows of the guesses that turned out right."""
        drafted = self.kv.token_ids[len(self._ids) :]
        pairs = zip(drafted, token_ids, strict=False)
        right = next((i for i, (guess, token) in enumerate(pairs) if guess != token), min(len(drafted), len(token_ids)))
        self.kv.rollback(len(self._ids) + right)
        self._ids.extend(token_ids)
        self._readable = self._readable and self._can_read(token_ids)

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose. Greedy at every temperature: verification is lossless for whatever was guessed.

        No draft where the text has an id that the model does not have, or has outgrown the model's cache, and until the
        prompt has been read.
        """
        # The last guess is not read, and so needs no row.
        budget = min(budget, self.max_depth, self.kv.capacity_tokens - len(self._ids) + 1)
        if budget < 1 or not self._ids or not self._readable:
            return NO_DRAFT
        # One token is always read: its logits are the first guess. A draft that nobody observed goes, too.
        self.kv.rollback(len(self._ids) - 1)
        unread = self._ids[self.kv.num_tokens :]
        first, self._is_first = self._is_first, False
        if len(unread) > SHORT_READ_TOKENS:
            # A prompt is read a chunk at a time, between the target's passes: the first token comes no later for it.
            if first:
                return NO_DRAFT
            self.model.forward(unread[: min(PREFILL_CHUNK_TOKENS, len(unread) - 1)], self.kv, 0)
            unread = self._ids[self.kv.num_tokens :]
            if len(unread) > SHORT_READ_TOKENS:
                return NO_DRAFT
        is_step = len(unread) == 1
        draft = NO_DRAFT
        while True:
            started = time.perf_counter()
            guess, chance = self._guess(unread)
            if is_step:
                self._note_step((time.perf_counter() - started) * 1e3)
            if not chance >= self._min_confidence:  # the form that NaN fails
                return draft
            draft = Draft((*draft.token_ids, guess), (*draft.probabilities, chance), self.source, confident=True)
            if draft.num_guesses == budget or guess in self._stop_ids or not self._goes_on(draft, self.step_ms):
                return draft
            unread, is_step = [guess], True

    def _guess(self, unread: Sequence[int]) -> tuple[int, float]:
        """Read ``unread``; the likeliest token behind it and its probability."""
        logits = self.model.forward(unread, self.kv, 1).logits[0]
        guess = int(logits.argmax())  # of the logits: what is nearly equal may be equal behind the softmax
        return guess, float(torch.softmax(logits, -1)[guess])

    def _can_read(self, token_ids: Sequence[int]) -> bool:
        """Vocabularies of one family are padded to different sizes, and a larger model may have tokens of its own."""
        return all(0 <= token_id < self.model.vocab_size for token_id in token_ids)

    def _note_step(self, step_ms: float) -> None:
        self.step_ms += (STEP_WEIGHT if self.step_ms else 1.0) * (step_ms - self.step_ms)
