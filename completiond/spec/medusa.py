"""Medusa drafter (arXiv 2401.10774): heads on the target's last hidden state guess several tokens at once.

Nothing is kept of the text but the newest hidden state, so a draft costs the same anywhere. Because the heads do not
see each other's choices, one pass of them ranks tokens for every depth, and with ``width`` above 1 the draft is the
tree of the likeliest combinations. Where the target's passes grow dear with their tokens a chain pays more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from completiond.cache.shift import Move
from completiond.engine.target import NORMED
from completiond.spec.drafter import NO_DRAFT, Draft, Verified
from completiond.spec.medusa_heads import MedusaHeads
from completiond.spec.medusa_tree import RankCounts, choose_tree
from completiond.spec.tree import chain_parents

__all__ = ["MedusaDrafter"]

TIME_WEIGHT = 0.05
"""Of the newest measurement in the running time of a draft, once there are as many as make a mean of this weight."""


class MedusaDrafter:
    """A Drafter. ``counts`` live as long as it does: what one answer teaches serves the next.

    ``draft_ms``: running mean of the time a draft takes; 0.0 before the first.
    """

    source = "medusa"
    feature_layers: tuple[int, ...] = (NORMED,)

    def __init__(self, heads: MedusaHeads, width: int = 1) -> None:
        """``width``: tokens of a head that are taken into account, at most; 1 makes drafts chains.

        Raises ValueError for a width below 1.
        """
        if width < 1:
            raise ValueError(f"{width} tokens a head are no draft")
        self.heads = heads
        self.width = min(width, heads.draft_vocab_size)
        self.counts = RankCounts(heads.num_heads, self.width)
        self.draft_ms = 0.0
        self._num_timed = 0
        self._num_known = 0  # tokens of the text
        self._num_seen = 0  # of these, how many the target has read
        self._state: Tensor | None = None  # float32 [1, hidden_size], of the last one it has read since ``begin``
        self._ranked: list[list[int]] = []  # the tokens the last draft was made of, by depth and rank

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset: what counts here is what the target reads, see ``begin``."""

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """See Drafter.begin. The state of an earlier answer is forgotten: who knows where that one ended."""
        self._num_known = len(prompt_ids)
        self._num_seen = num_cached_tokens + (move.length if move else 0)
        self._state = None
        self._ranked = []

    def read(self, features: Tensor) -> None:
        """See Drafter.read."""
        if features.shape[0]:
            self._num_seen += features.shape[0]
            self._state = features[-1:].clone()  # a view would keep all rows of a long prompt alive

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe. Guesses that were not checked count too, as far as the target has written."""
        self._num_known += len(token_ids)
        ranked, self._ranked = self._ranked, []
        if verified is None:  # not what the target made of the state the heads read
            return
        for depth, (token_id, ranks) in enumerate(zip(token_ids, ranked, strict=False)):
            self.counts.observe(depth, ranks.index(token_id) if token_id in ranks else None)
            if token_id not in ranks:
                break  # below a wrong guess a head is not asked

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: the best nodes first, with the head's own probability of each.

        No guess unless the target's last state is that of the token before the newest: of a prompt that is fully cached
        there is none yet, and one that is read in pieces has it only after the last.
        """
        self._ranked = []
        depth = min(budget, self.heads.num_heads)
        if depth < 1 or self._state is None or self._num_seen != self._num_known - 1:
            return NO_DRAFT
        started = time.perf_counter()
        self._ranked, chances = self._rank(self._state, depth)
        nodes = choose_tree(self.counts.chances(depth), budget)
        parents = tuple(node.parent for node in nodes)
        draft = Draft(
            token_ids=tuple(self._ranked[node.depth][node.rank] for node in nodes),
            probabilities=tuple(chances[node.depth][node.rank] for node in nodes),
            source=self.source,
            parents=() if parents == chain_parents(len(nodes)) else parents,
            confident=True,
        )
        self._note_time((time.perf_counter() - started) * 1e3)
        return draft

    @property
    def max_depth(self) -> int:
        """Guesses one below the other."""
        return self.heads.num_heads

    @property
    def step_ms(self) -> float:
        """What a guess takes: all are made at once."""
        return self.draft_ms / self.heads.num_heads

    @torch.inference_mode()
    def _rank(self, state: Tensor, num_heads: int) -> tuple[list[list[int]], list[list[float]]]:
        """By head and rank: the target's token ids, and their probabilities."""
        logits = self.heads.logits(state, num_heads)
        # A whole softmax would be written out only to be thrown away, and a search for one is cheaper than for several.
        best, ids = logits.max(-1, keepdim=True) if self.width == 1 else logits.topk(self.width)
        chances = (best - logits.logsumexp(-1, keepdim=True)).exp()
        return self.heads.target_ids(ids).tolist(), chances.tolist()

    def _note_time(self, draft_ms: float) -> None:
        self._num_timed += 1  # a plain mean at first: the very first draft is the slowest
        self.draft_ms += max(TIME_WEIGHT, 1.0 / self._num_timed) * (draft_ms - self.draft_ms)
