"""Lookahead drafter: guesses from a pool of n-grams that the target itself writes, ahead of the text, in every pass.

Lookahead decoding (Fu et al., arXiv 2402.02057) without a draft model: a pass also carries a window of guesses at later
places (lookahead_window.py), and what the target writes behind them, right or not, are n-grams for the pool
(lookahead_pool.py). Those that begin with the newest token are the draft. The pool also gets every n-gram of the prompt
and of the answer, so that it serves, as prompt lookup with a memory, where a window is not carried: on targets that
take no trees, where a pass of many tokens is dear, and at the end of an answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from completiond.cache.shift import Move
from completiond.spec.drafter import NO_DRAFT, Draft, TextDrafter, Verified
from completiond.spec.lookahead_pool import NGramPool, merge_paths
from completiond.spec.lookahead_window import JacobiWindow, WindowPause
from completiond.spec.pass_costs import PassCosts
from completiond.spec.tree import chain_parents

__all__ = ["LookaheadDrafter", "LookaheadSizes", "choose_sizes"]

WINDOWS = range(8)
LEVELS = range(3, 6)
GUESSES = range(1, 8)
ASSUMED_ACCEPTANCE = 0.4
"""Chance that a token of a pool's guess is right if those before it are; code has more repetition than most text."""
ASSUMED_PASSES_PER_DRAFT = 3.0
"""Of so many passes, one finds n-grams for its newest token."""

FIRST_CHANCE = 0.3
"""Of the most recent continuation's first token, before anything was seen."""
CHANCE_PER_DEPTH = 0.8
CHANCE_PER_RANK = 0.5
MAX_RANK = 3
"""Siblings from here on are counted together."""
PRIOR_WEIGHT = 16.0
FADE = 0.98


@dataclass(frozen=True, slots=True)
class LookaheadSizes:
    """``window`` columns (0: only the pool), n-grams of ``levels`` tokens, and at most ``guesses`` of them in a draft.

    Raises ValueError for a negative window, n-grams of less than two tokens and no guess.
    """

    window: int
    levels: int
    guesses: int

    def __post_init__(self) -> None:
        if self.window < 0 or self.levels < 2 or self.guesses < 1:
            raise ValueError(f"sizes {self.window}, {self.levels}, {self.guesses}: too small")

    @property
    def num_rows(self) -> int:
        """Tokens of the largest draft, window included."""
        return (self.window + self.guesses) * (self.levels - 1)

    @property
    def num_paths(self) -> int:
        """Ways from the root to a leaf in the largest draft; 0 where that is a chain."""
        return self.window + self.guesses if self.window or self.guesses > 1 else 0


def choose_sizes(costs: PassCosts, path_ms: float = 0.0) -> LookaheadSizes:
    """The sizes with the most expected tokens per millisecond, the fewest rows among equals.

    ``path_ms``: what a path of a tree costs above its rows. An assumption takes the place of a measurement: the
    paper's scaling law (section 4.1) for b guesses of N - 1 tokens, each right with the chance
    a = ASSUMED_ACCEPTANCE, in one of f = ASSUMED_PASSES_PER_DRAFT passes,

        tokens per pass = (f - 1 + N - sum of (1 - a^i)^b for i = 1 .. N - 1) / f,

    where b is the number of guesses, but no more than there is something to guess from: one n-gram from the text itself
    and one more for each column. So a wider window brings slowly more, and guesses without a window nothing.
    """
    best, best_rate = LookaheadSizes(0, LEVELS[0], GUESSES[0]), 0.0
    candidates = [LookaheadSizes(w, n, g) for w in WINDOWS for n in LEVELS for g in GUESSES]
    for sizes in sorted(candidates, key=lambda one: one.num_rows):
        if sizes.num_rows + 1 > costs.max_tokens:
            break
        rate = _expected_tokens(sizes) / (costs.pass_ms(sizes.num_rows + 1) + path_ms * sizes.num_paths)
        if rate > best_rate:
            best, best_rate = sizes, rate
    return best


def _expected_tokens(sizes: LookaheadSizes) -> float:
    """Of a pass; see choose_sizes."""
    guesses = min(sizes.guesses, 1 + sizes.window)
    missed = sum((1.0 - ASSUMED_ACCEPTANCE**depth) ** guesses for depth in range(1, sizes.levels))
    return (ASSUMED_PASSES_PER_DRAFT - 1.0 + sizes.levels - missed) / ASSUMED_PASSES_PER_DRAFT


class LookaheadDrafter(TextDrafter):
    """A Drafter of trees. Pool and window begin anew with each answer; how often guesses are right is kept."""

    source = "lookahead"

    def __init__(self, sizes: LookaheadSizes, seed: int, costs: PassCosts | None = None) -> None:
        """``seed`` picks the tokens a window begins with. ``costs`` say when it does not pay; None: it always does."""
        self.sizes = sizes
        self._seed = seed
        self._pool = NGramPool(sizes.levels, sizes.guesses)
        self._pause = WindowPause(costs)
        self._counts: dict[tuple[int, int], tuple[float, float]] = {}
        self.reset(())

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset. The pool gets the text's n-grams, those before the cursor as the most recent."""
        self._pool.clear()
        for run in (*other_ids, context_ids):
            self._pool.add_run(run)
        self._tail = list(context_ids[-self.sizes.levels :])
        self._window = self._new_window([token_id for run in (context_ids, *other_ids) for token_id in run])
        self._proposed = NO_DRAFT
        self._kinds: list[tuple[int, int]] = []

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """See Drafter.begin. A window needs some tokens to begin with: the prompt's, where there was no text."""
        if not self._window.num_columns:
            self._window = self._new_window(prompt_ids)

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: the pool's guesses, likeliest first, and the window where it fits behind them."""
        token_ids, parents, chances, self._kinds = self._guesses()
        num_guesses = min(max(0, budget), len(token_ids))
        del parents[num_guesses:]
        carried = self._window.token_ids()
        if self._pause.is_on or num_guesses + len(carried) > budget:
            carried = []
        if carried:
            parents += self._window.parents(num_guesses)
        is_chain = not carried and tuple(parents) == chain_parents(num_guesses)
        self._proposed = Draft(
            (*token_ids[:num_guesses], *carried),
            (*chances[:num_guesses], *(0.0 for _ in carried)),
            self.source,
            "pool",
            match=1,
            parents=() if is_chain else tuple(parents),
            confident=True,  # in a tree, the place in the list says nothing: count by chance and depth
            num_carried=len(carried),
        )
        return self._proposed if self._proposed.token_ids else NO_DRAFT

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe. What was really written goes into the pool last, as the most recent."""
        self._count(self._proposed, token_ids)
        self._proposed = NO_DRAFT
        if verified is not None:
            self._look(verified)
        for token_id in token_ids:
            self._tail = [*self._tail[1 - self.sizes.levels :], token_id]
            if len(self._tail) == self.sizes.levels:
                self._pool.add(self._tail)

    def _new_window(self, source_ids: Sequence[int]) -> JacobiWindow:
        return JacobiWindow(self.sizes.window, self.sizes.levels - 1, source_ids, random.Random(self._seed))

    def _guesses(self) -> tuple[list[int], list[int], list[float], list[tuple[int, int]]]:
        """The tree of what the pool knows to follow, by the chance of the whole path: tokens, parents, chances, and
        what each is counted by.
        """
        paths = self._pool.continuations(self._tail[-1]) if self._tail else []
        token_ids, parents = merge_paths(paths)
        kinds = _kinds(parents)
        chances = [right / tried for right, tried in map(self._seen, kinds)]
        products: list[float] = []
        for parent, chance in zip(parents, chances, strict=True):
            products.append(chance * (products[parent] if parent >= 0 else 1.0))
        # Stable, and no child is likelier than its parent: parents stay before their children.
        order = sorted(range(len(token_ids)), key=lambda node: -products[node])
        place = {-1: -1} | {node: index for index, node in enumerate(order)}
        return (
            [token_ids[node] for node in order],
            [place[parents[node]] for node in order],
            [chances[node] for node in order],
            [kinds[node] for node in order],
        )

    def _look(self, verified: Verified) -> None:
        """Move the window on by what the pass showed below its last level; greedily, whatever the temperature."""
        draft = verified.draft
        num_carried, num_columns = draft.num_carried, self._window.num_columns
        if draft.source != self.source or not num_carried:  # another's pass, or not taken (spec/usable.py)
            self._pause.skipped()
            return
        successors = verified.logits[-num_columns:].argmax(-1).tolist()
        for ngram in self._window.advance(successors):
            self._pool.add(ngram)
        self._pause.carried(draft.num_guesses, num_carried, len(verified.path))

    def _count(self, proposed: Draft, written_ids: Sequence[int]) -> None:
        """Whether guesses were right, as far as the text shows, checked or not."""
        right_path = proposed.follow(written_ids)
        tested = (-1, *right_path)[: len(written_ids)]
        for node, kind in enumerate(self._kinds[: proposed.num_guesses]):
            if proposed.parent(node) in tested:
                right, tried = self._seen(kind)
                self._counts[kind] = (FADE * right + (node in right_path), FADE * tried + 1.0)

    def _seen(self, kind: tuple[int, int]) -> tuple[float, float]:
        """(right, tried) of guesses of a depth and rank; before anything was seen, what is assumed of them."""
        depth, rank = kind
        first = FIRST_CHANCE * CHANCE_PER_DEPTH**depth * CHANCE_PER_RANK**rank
        return self._counts.get(kind, (PRIOR_WEIGHT * first, PRIOR_WEIGHT))


def _kinds(parents: Sequence[int]) -> list[tuple[int, int]]:
    """What guesses are counted by: depth, and how many siblings were seen more recently, MAX_RANK at most."""
    kinds: list[tuple[int, int]] = []
    num_children: dict[int, int] = {}
    for parent in parents:
        rank = num_children[parent] = num_children.get(parent, -1) + 1
        kinds.append((kinds[parent][0] + 1 if parent >= 0 else 0, min(rank, MAX_RANK)))
    return kinds
