"""N-gram drafter: copy what followed the longest earlier occurrence of the text's end.

Prompt-lookup decoding (Saxena 2023) over an index of everything at hand: the prompt, the answer so far, open
documents, recent edits and deleted text. Code repeats itself, so the copied run is often what the model is about to
write, and checking a run costs little more than writing one token. Where the model leaves the copied text, the
drafter looks for the place where it comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.spelling import Respelled, Spelling, WordSwap, beyond_seam, swap_words, unswap_words
from completiond.spec.swaps import apply_swaps, undo_swaps
from completiond.spec.token_index import MAX_MATCH, MIN_MATCH, Match, Run, TokenIndex
from completiond.spec.trail import STRONG_MATCH, Copy, Trail

__all__ = ["DraftText", "NGramDrafter", "longest_match_naive"]

SEAM_TOKENS = 32
BEHIND_CURSOR_TOKENS = 12


@dataclass(frozen=True, slots=True)
class DraftText:
    """What there is to draft from besides the prompt. ``index`` is shared and not changed here.

    ``document`` names the one being completed; ``replaced`` is the run of text that stood at the cursor until it was
    deleted, which is the likeliest source of what is written in its place; ``words`` are replacements the user has
    begun.
    """

    index: TokenIndex
    document: str = ""
    replaced: Run | None = None
    words: tuple[WordSwap, ...] = ()
    spelling: Spelling | None = None


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A draft, and for each of its tokens how far behind the copy's place it is from."""

    copy: Copy
    token_ids: list[int]
    places: list[int]


class NGramDrafter:
    """A Drafter over the prompt's text, the answer so far and ``text``."""

    source = "ngram"

    def __init__(self, text: DraftText | None = None, rank: Callable[[Draft], float] = lambda draft: 0.0) -> None:
        """``rank`` says what a draft is worth (a policy's estimate); without, places are tried in a fixed order."""
        self._text = text
        self._rank = rank
        self._session = TokenIndex()
        self._own = self._session.add((), "prompt")
        self._ids: list[int] = []
        self._trail = Trail()
        self._proposed: _Proposal | None = None
        self._seam: list[tuple[Copy, Respelled]] = []
        self._num_written = 0
        self._behind_cursor: list[int] = []
        self._behind_cursor_text = ""

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset. Costs one pass over the tokens."""
        self._session = TokenIndex()
        for ids in other_ids:
            self._session.add(ids, "prompt")
        self._own = self._session.add(context_ids, "prompt")
        self._ids = list(context_ids)
        self._num_written = 0
        self._behind_cursor = list(other_ids[0][:BEHIND_CURSOR_TOKENS]) if other_ids else []
        spelling = self._text.spelling if self._text else None
        self._behind_cursor_text = spelling.decode(self._behind_cursor) if spelling else ""
        self._seam = self._seams()
        self._proposed = None
        replaced = self._text.replaced if self._text else None
        start = Copy(self._text.index, replaced, replaced.start, 0, "replaced") if self._text and replaced else None
        self._trail = Trail(start)

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose. Of several places to copy from, the one that ranks highest, the first of equals."""
        self._proposed = None
        if budget <= 0:
            return NO_DRAFT
        drafts = [self._draft(copy, budget) for copy in self._candidates()]
        drafts += [self._cut_draft(copy, cut, budget) for copy, cut in self._seam]
        drafts += [renamed for draft in drafts if (renamed := self._renamed(*draft, budget)) is not None]
        drafts = [draft for draft in drafts if draft[0].token_ids]
        if not drafts:
            return NO_DRAFT
        draft, self._proposed = max(drafts, key=lambda one: self._rank(one[0]))
        return draft

    def _draft(self, copy: Copy, budget: int) -> tuple[Draft, _Proposal]:
        """The text at ``copy``, with the replacements that are under way made in it."""
        copied = copy.index.tokens(copy.run, copy.place, budget)
        token_ids, places = apply_swaps(copied, self._trail.swaps_for(copy))
        token_ids = token_ids[:budget]
        probabilities = (acceptance_guess(copy.origin, copy.match),) * len(token_ids)
        draft = Draft(tuple(token_ids), probabilities, self.source, copy.origin, copy.match)
        return draft, _Proposal(copy, token_ids, places)

    def _cut_draft(self, copy: Copy, cut: Respelled, budget: int) -> tuple[Draft, _Proposal]:
        """A copy that begins with what stands before the cursor already, from the cursor on."""
        token_ids = cut.token_ids[:budget]
        probabilities = (acceptance_guess(copy.origin, copy.match),) * len(token_ids)
        draft = Draft(tuple(token_ids), probabilities, self.source, copy.origin, copy.match)
        return draft, _Proposal(copy, token_ids, cut.places)

    def _renamed(self, draft: Draft, proposal: _Proposal, budget: int) -> tuple[Draft, _Proposal] | None:
        """The same draft with the names that the user is replacing."""
        if self._text is None or self._text.spelling is None:
            return None
        new = swap_words(draft.token_ids, self._text.words, self._text.spelling)
        if new is None:
            return None
        token_ids = new.token_ids[:budget]
        places = [proposal.places[place] for place in new.places]
        probabilities = (draft.probabilities[0],) * len(token_ids)
        renamed = replace(
            draft, token_ids=tuple(token_ids), probabilities=probabilities, origin=f"{draft.origin}, renamed"
        )
        return renamed, _Proposal(proposal.copy, token_ids, places)

    def _seams(self) -> list[tuple[Copy, Respelled]]:
        """Copies for a cursor inside what the copied text has as one token: behind an indentation or half a word.

        The match is looked for before that token, and what the copy has beyond the cursor is spelled anew.
        """
        if self._text is None or self._text.spelling is None:
            return []
        found = []
        for back in (1, 2):
            typed = self._text.spelling.decode(self._ids[-back:])
            if len(self._ids) <= back + MIN_MATCH or (back > 1 and typed.strip(" \t")):
                break
            copy = self._longest(self._ids[-MAX_MATCH - back : -back], typed)
            if copy is not None:
                ids = copy.index.tokens(copy.run, copy.place, SEAM_TOKENS)
                if (cut := beyond_seam(typed, ids, self._text.spelling)) is not None:
                    found.append((replace(copy, origin=f"{copy.origin}, cut"), cut))
        return found

    def observe(self, token_ids: Sequence[int]) -> None:
        """See Drafter.observe. Follows the copied text, and notes where the model left it."""
        if self._proposed is not None:
            copy, guessed, places = self._proposed.copy, self._proposed.token_ids, self._proposed.places
            self._trail.followed(copy, guessed, places, token_ids)
            self._proposed = None
        else:
            self._trail.wrote(token_ids)
        self._seam = []
        self._num_written += len(token_ids)
        self._ids += token_ids
        self._session.extend(self._own, token_ids)

    def _candidates(self) -> list[Copy]:
        """Places to copy from: a long match anywhere, the neighbourhood of the last place, a match of the text as it
        would read without the replacements under way, a short match.
        """
        tail = self._ids[-MAX_MATCH:]
        best = self._longest(tail)
        plain: list[int] | None = undo_swaps(tail, self._trail.swaps) if self._trail.swaps else None
        if self._text is not None and self._text.spelling is not None:
            plain = unswap_words(plain or tail, self._text.words, self._text.spelling) or plain
        other = self._longest(plain) if plain is not None and plain != tail else None
        found = [best, other, self._trail.resume]
        if best is None or best.match < STRONG_MATCH:
            found = [self._trail.resume, other, best]
        return [copy for copy in found if copy is not None]

    def _longest(self, context_ids: Sequence[int], typed: str = "") -> Copy | None:
        """The place of the longest match, the nearest of equals; of those that go on with more than ``typed``."""
        indexes = [self._session] if self._text is None else [self._session, self._text.index]
        matches: list[tuple[TokenIndex, Match]] = []
        for index in indexes:
            wanted = None if self._num_written else partial(self._is_news, index, typed)
            matches += [(index, match) for match in index.longest(context_ids, wanted)]
        if not matches:
            return None
        length = max(match.length for _, match in matches)
        ranked = [(index, match) for index, match in matches if match.length == length]
        index, match = self._preferred(ranked)
        return Copy(index, match.run, match.place, match.length, match.run.origin)

    def _is_news(self, index: TokenIndex, typed: str, run: Run, place: int) -> bool:
        """Whether a copy goes on with ``typed`` and more, and not with what stands behind the cursor: the cursor's own
        place is where most of the text before it agrees, and says nothing of what is missing there.
        """
        spelling = self._text.spelling if self._text else None
        copied = index.tokens(run, place, BEHIND_CURSOR_TOKENS)
        if spelling is None:
            return copied != tuple(self._behind_cursor[: len(copied)])
        text = spelling.decode(copied)
        behind = typed + self._behind_cursor_text
        size = min(len(text), len(behind))
        return (
            text.startswith(typed)
            and len(text) > len(typed)
            and not (size > len(typed) and text[:size] == behind[:size])
        )

    def _preferred(self, ranked: Sequence[tuple[TokenIndex, Match]]) -> tuple[TokenIndex, Match]:
        """``ranked`` is nearest first (this prompt, then newest); going on where the last copy was beats all."""
        left = self._trail.left
        for index, match in ranked:
            if left is not None and match.run is left.run and 0 <= match.place - left.place <= 1:
                return index, match
        return ranked[0]


def acceptance_guess(origin: str, match_length: int) -> float:
    """Chance that one copied token is right after ``match_length`` agreeing tokens, until a policy has measured it."""
    if origin == "replaced":
        return 0.8
    return min(0.95, 0.35 + 0.1 * match_length)


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
