"""N-gram drafter: copy what followed the longest earlier occurrence of the text's end.

Prompt-lookup decoding (Saxena 2023) over an index of everything at hand: the prompt, the answer so far, open
documents, recent edits and deleted text. Code repeats itself, so the copied run is often what the model is about to
write, and checking a run costs little more than writing one token. Where the answer only resembles its source, an
alignment finds where it comes back to it (``template``). Of all places that may go on, the one is drafted that the
policy expects most of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from completiond.spec.acceptance_guess import acceptance_guess
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import NO_DRAFT, Draft, TextDrafter, Verified
from completiond.spec.lookup import Copy, Lookup
from completiond.spec.spelling import swap_words, unswap_words
from completiond.spec.templates import Templates
from completiond.spec.token_index import MAX_MATCH, MIN_MATCH

__all__ = ["NGramDrafter", "longest_match_naive"]

STRONG_MATCH = 4
"""From here on a match goes before templates, where nothing ranks them."""
MIN_COPIED = 2
"""Right guesses after which a copied text is a template."""


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A draft, and where it was copied from."""

    draft: Draft
    copy: Copy | None = None


class NGramDrafter(TextDrafter):
    """A Drafter over the prompt's text, the answer so far and ``text``."""

    source = "ngram"

    def __init__(self, text: DraftText | None = None, rank: Callable[[Draft], float] = lambda draft: 0.0) -> None:
        """``rank`` says what a draft is worth (a policy's estimate); without, places are tried in a fixed order."""
        self._text = text
        self._rank = rank
        self._spelling = text.spelling if text else None
        self.reset(())

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset. Costs one pass over the tokens."""
        self._tail = list(context_ids[-MAX_MATCH:])
        self._lookup = Lookup(self._text.index if self._text else None, self._spelling, context_ids, other_ids)
        self._seams = self._lookup.seams(context_ids)
        self._templates: Templates | None = None
        if self._text is not None and self._spelling is not None:
            suffix_ids = other_ids[0] if other_ids else ()
            self._templates = Templates(self._text, self._spelling, context_ids, suffix_ids)
        self._proposed: _Proposal | None = None

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose. Of several places to copy from, the one that ranks highest, the first of equals."""
        self._proposed = None
        if budget <= 0:
            return NO_DRAFT
        found = [self._draft(copy, budget) for copy in self._copies()]
        found += [self._cut_draft(copy, cut, budget) for copy, cut in self._seams]
        # First, since who has begun to rename goes on.
        found = [*(renamed for one in found if (renamed := self._renamed(one, budget)) is not None), *found]
        strong = [one for one in found if one.draft.match >= STRONG_MATCH]
        weak = [one for one in found if one.draft.match < STRONG_MATCH]
        found = [one for one in [*strong, *self._template_drafts(budget), *weak] if one.draft.token_ids]
        if not found:
            return NO_DRAFT
        self._proposed = max(found, key=lambda one: self._rank(one.draft))
        return self._proposed.draft

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe. Follows the templates; a copy that was right becomes one."""
        if self._templates is not None:
            copied = None
            if (one := self._proposed) is not None and _agreement(one.draft.token_ids, token_ids) >= MIN_COPIED:
                copied = one.copy
            self._templates.write(token_ids, copied)
        self._proposed = None
        self._seams = []
        self._tail = [*self._tail, *token_ids][-MAX_MATCH:]
        self._lookup.extend(token_ids)

    def _copies(self) -> list[Copy]:
        """The longest match, that of the text as it would read without the replacements under way, and the nearest
        place of the last token.
        """
        plain = None
        if self._text is not None and self._spelling is not None:
            plain = unswap_words(self._tail, self._text.words, self._spelling)
        found = [self._lookup.longest(self._tail)]
        if plain is not None and plain != self._tail:
            found.append(self._lookup.longest(plain))
        return [copy for copy in (*found, self._lookup.nearest()) if copy is not None]

    def _draft(self, copy: Copy, budget: int) -> _Proposal:
        return _Proposal(self._guess(copy.tokens(budget), copy.origin, copy.match), copy)

    def _cut_draft(self, copy: Copy, cut: list[int], budget: int) -> _Proposal:
        """A copy that begins with what stands before the cursor already, from the cursor on."""
        return _Proposal(self._guess(cut[:budget], copy.origin, copy.match))

    def _renamed(self, proposal: _Proposal, budget: int) -> _Proposal | None:
        """The same draft with the names that the user is replacing."""
        if self._text is None or self._spelling is None:
            return None
        draft = proposal.draft
        new = swap_words(draft.token_ids, self._text.words, self._spelling)
        if new is None:
            return None
        guess = self._guess(new[:budget], draft.origin, draft.match)
        return _Proposal(replace(guess, origin=f"{draft.origin}, renamed"))

    def _template_drafts(self, budget: int) -> list[_Proposal]:
        """Continuations of the templates, in tokens."""
        if self._templates is None or self._spelling is None:
            return []
        return [
            _Proposal(self._guess(self._spelling.encode(one.text)[:budget], one.origin, one.match))
            for one in self._templates.continuations()
        ]

    def _guess(self, token_ids: Sequence[int], origin: str, match: int) -> Draft:
        probabilities = tuple(acceptance_guess(origin, match, depth) for depth in range(len(token_ids)))
        return Draft(tuple(token_ids), probabilities, self.source, origin, match)


def longest_match_naive(context_ids: Sequence[int], runs: Sequence[Sequence[int]]) -> int:
    """The oracle: length of the longest end of ``context_ids`` (MIN_MATCH to MAX_MATCH, else 0) that occurs in one of
    ``runs``, or earlier in the context, with a token behind it.
    """
    for length in range(min(MAX_MATCH, len(context_ids)), MIN_MATCH - 1, -1):
        tail = list(context_ids[-length:])
        for run in (context_ids, *runs):
            if any(list(run[i : i + length]) == tail for i in range(len(run) - length)):
                return length
    return 0


def _agreement(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
