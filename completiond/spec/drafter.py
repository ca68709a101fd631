"""The contract of a drafter: something that guesses the next tokens.

A drafter may be wrong, never unsafe: the loop cuts what it may not use (ids out of the vocabulary, tokens over the
budget), and the target model decides every token, so no drafter can change an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from completiond.spec.tree import chain_parents

if TYPE_CHECKING:  # a program that only counts guesses needs no torch
    from torch import Tensor

    from completiond.cache.shift import Move

__all__ = ["NO_DRAFT", "Draft", "Drafter", "NoDrafter", "TextDrafter", "Verified"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A chain of guesses, or with ``parents`` (spec/tree.py) a tree of them.

    ``probabilities``: the drafter's estimate that each is accepted, given its ancestors. ``origin`` says within a
    source where the guess is from, and ``match`` how many tokens spoke for it: what a policy calibrates by and what is
    shown to explain a decision. ``confident``: the probabilities are a model's own, guess by guess, and guesses of like
    probability are calibrated together. The last ``num_carried`` tokens are no guesses: the drafter only wants the
    target's view of them (Lookahead's window); their parents are each other, or -1.
    """

    token_ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    source: str
    origin: str = ""
    match: int = 0
    parents: tuple[int, ...] = ()
    confident: bool = False
    num_carried: int = 0

    @property
    def num_guesses(self) -> int:
        """Tokens that may be accepted."""
        return len(self.token_ids) - self.num_carried

    def parent(self, node: int) -> int:
        """What guess ``node`` hangs below; -1 is what is known."""
        return self.parents[node] if self.parents else node - 1

    def cut(self, num_guesses: int) -> Draft:
        """The first ``num_guesses`` guesses of it, and all that is carried."""
        removed = self.num_guesses - num_guesses
        if removed <= 0:
            return self
        if not self.num_carried:
            return replace(
                self,
                token_ids=self.token_ids[:num_guesses],
                probabilities=self.probabilities[:num_guesses],
                parents=self.parents[:num_guesses],
            )
        kept = [*range(num_guesses), *range(self.num_guesses, len(self.token_ids))]
        return self.select(kept)

    def select(self, nodes: Sequence[int]) -> Draft:
        """Only ``nodes``, in ascending order; of each its parent too. What is carried is taken whole or not at all."""
        parents = self.parents or chain_parents(len(self.token_ids))
        place = {-1: -1} | {node: index for index, node in enumerate(nodes)}
        return replace(
            self,
            token_ids=tuple(self.token_ids[node] for node in nodes),
            probabilities=tuple(self.probabilities[node] for node in nodes),
            parents=tuple(place[parents[node]] for node in nodes) if self.parents else (),
            num_carried=sum(node >= self.num_guesses for node in nodes),
        )

    def follow(self, token_ids: Sequence[int]) -> list[int]:
        """The guesses, from the root downwards, that agree with ``token_ids``, as far as they do."""
        path: list[int] = []
        at = -1
        for token_id in token_ids:
            child = self.child(at, token_id)
            if child is None:
                break
            path.append(at := child)
        return path

    def child(self, node: int, token_id: int) -> int | None:
        """The guess below ``node`` (-1: below what is known) that is ``token_id``."""
        if not self.parents:
            below = node + 1
            return below if below < self.num_guesses and self.token_ids[below] == token_id else None
        for below in range(node + 1, self.num_guesses):
            if self.parents[below] == node and self.token_ids[below] == token_id:
                return below
        return None


NO_DRAFT = Draft((), (), "none")


@dataclass(frozen=True, slots=True)
class Verified:
    """What the target made of a draft. ``path``: the guesses that were accepted.

    ``logits`` float32 [1 + tokens, vocab_size]: what follows the known text, then what follows each token of the
    draft.
    """

    draft: Draft
    path: tuple[int, ...]
    logits: Tensor


class Drafter(Protocol):
    """One per generation stream; not shared between threads."""

    feature_layers: tuple[int, ...]
    """Which hidden states of the target it reads, as in TargetModel.forward."""

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """Begin a new answer.

        ``context_ids`` is the text the answer continues, in reading order (for a fill, the text before the cursor), and
        ``other_ids`` are further runs of text to draft from (the text after it). Neither holds control tokens.
        """

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """The target is about to read ``prompt_ids``, of which it holds the first already. Comes after ``reset``.

        The places of ``move``, if there is one, it will not read but take from the last prompt, as soon as it has read
        all before them.
        """

    def read(self, features: Tensor) -> None:
        """``features`` float32 [M, width] of the next M tokens that the target holds now; only for those who ask for
        features. Comes before ``observe``.
        """

    def propose(self, budget: int) -> Draft:
        """Guess at most ``budget`` tokens that follow. An empty draft means: decode plainly."""

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """Learn the tokens the last pass really produced, at least one, in order. ``verified``: what else it showed;
        None where text was written without a pass.
        """


class TextDrafter:
    """What all drafters share that need nothing but token ids."""

    feature_layers: tuple[int, ...] = ()

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        """See Drafter.begin."""

    def read(self, features: Tensor) -> None:
        """See Drafter.read."""


class NoDrafter(TextDrafter):
    """Plain decoding: the oracle every other drafter is tested against."""

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset."""

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: never a guess."""
        return NO_DRAFT

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe."""
