"""The contract of a drafter: something that guesses the next tokens.

A drafter may be wrong, never unsafe: the loop cuts what it may not use (ids out of the vocabulary, tokens over the
budget), and the target model decides every token, so no drafter can change an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

__all__ = ["NO_DRAFT", "Draft", "Drafter", "NoDrafter"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A chain of guesses. ``probabilities``: the drafter's estimate that each is accepted, given those before.

    ``origin`` says within a source where the guess is from, and ``match`` how many tokens spoke for it: what a policy
    calibrates by and what is shown to explain a decision.
    """

    token_ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    source: str
    origin: str = ""
    match: int = 0

    def cut(self, num_tokens: int) -> Draft:
        """The first ``num_tokens`` of it."""
        if num_tokens >= len(self.token_ids):
            return self
        return replace(self, token_ids=self.token_ids[:num_tokens], probabilities=self.probabilities[:num_tokens])


NO_DRAFT = Draft((), (), "none")


class Drafter(Protocol):
    """One per generation stream; not shared between threads."""

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """Begin a new answer.

        ``context_ids`` is the text the answer continues, in reading order (for a fill, the text before the cursor), and
        ``other_ids`` are further runs of text to draft from (the text after it). Neither holds control tokens.
        """

    def propose(self, budget: int) -> Draft:
        """Guess at most ``budget`` tokens that follow. An empty draft means: decode plainly. Does not change state."""

    def observe(self, token_ids: Sequence[int]) -> None:
        """Learn the tokens the last pass really produced, at least one, in order."""


class NoDrafter:
    """Plain decoding: the oracle every other drafter is tested against."""

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset."""

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose: never a guess."""
        return NO_DRAFT

    def observe(self, token_ids: Sequence[int]) -> None:
        """See Drafter.observe."""
