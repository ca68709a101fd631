"""N-gram drafter: copy what followed the longest earlier occurrence of the text's end.

Prompt-lookup decoding (Saxena 2023) over an index of everything at hand: the prompt, the answer so far, open
documents, recent edits and deleted text. Code repeats itself, so the copied run is often what the model is about to
write, and checking a run costs little more than writing one token. Where the model leaves the copied text, the
drafter looks for the place where it comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.parts import PartSwap, split_parts
from completiond.spec.spelling import Respelled, Spelling, WordSwap, beyond_seam, swap_words, unswap_words
from completiond.spec.template import Template, swap_parts
from completiond.spec.token_index import MAX_MATCH, MIN_MATCH, Match, Run, TokenIndex

__all__ = ["DraftText", "NGramDrafter", "longest_match_naive"]

SEAM_TOKENS = 32
BEHIND_CURSOR_TOKENS = 12
SUFFIX_TOKENS = 40
LINE_TOKENS = 80
SOURCE_TOKENS = 128
STRONG_MATCH = 4
MIN_COPIED = 2
MAX_CONTINUATIONS = 1


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
    analogies: tuple[PartSwap, ...] = ()
    spelling: Spelling | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """A place to copy from."""

    index: TokenIndex
    run: Run
    place: int
    match: int
    origin: str


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A draft, and where it was copied from."""

    draft: Draft
    copy: Copy | None


class NGramDrafter:
    """A Drafter over the prompt's text, the answer so far and ``text``."""

    source = "ngram"

    def __init__(self, text: DraftText | None = None, rank: Callable[[Draft], float] = lambda draft: 0.0) -> None:
        """``rank`` says what a draft is worth (a policy's estimate); without, places are tried in a fixed order."""
        self._text = text
        self._rank = rank
        self._spelling = text.spelling if text else None
        self._session = TokenIndex()
        self._own = self._session.add((), "prompt")
        self._ids: list[int] = []
        self._templates: dict[str, Template] = {}
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
        self._behind_cursor_text = self._spelling.decode(self._behind_cursor) if self._spelling else ""
        self._seam = self._seams()
        self._proposed = None
        self._templates = self._first_templates(other_ids[0] if other_ids else ())

    def _first_templates(self, suffix_ids: Sequence[int]) -> dict[str, Template]:
        """What stood at the cursor, and the line above it."""
        if self._text is None or self._spelling is None:
            return {}
        found: dict[str, Template] = {}
        behind = self._spelling.decode(suffix_ids[:SUFFIX_TOKENS])
        if (run := self._text.replaced) is not None:
            replaced = self._spelling.decode(self._text.index.tokens(run, run.start, SOURCE_TOKENS))
            found["replaced"] = Template("replaced", replaced + behind)
        *above, typed = self._spelling.decode(self._ids[-LINE_TOKENS:]).split("\n")
        indent = len(typed) - len(typed.lstrip())
        siblings = [line for line in above if line.strip() and len(line) - len(line.lstrip()) == indent]
        below = behind.lstrip("\n").split("\n")[0]
        if not siblings and below.strip() and len(below) - len(below.lstrip()) == indent:
            siblings = [below]
        if siblings:
            found["sibling"] = Template("sibling", siblings[-1] + behind, typed)
            parts = split_parts(siblings[-1])
            analogous = swap_parts(parts, self._text.analogies)
            if analogous != parts:
                found["analogous"] = Template("analogous", "".join(analogous) + behind, typed)
        return found

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose. Of several places to copy from, the one that ranks highest, the first of equals."""
        self._proposed = None
        if budget <= 0:
            return NO_DRAFT
        found = [self._draft(copy, budget) for copy in self._candidates()]
        if (near := self._near(budget)) is not None:
            found.append(near)
        found += [self._cut_draft(copy, cut, budget) for copy, cut in self._seam]
        found += [renamed for one in found if (renamed := self._renamed(one, budget)) is not None]
        templates = self._template_drafts(budget)
        strong = [one for one in found if one.draft.match >= STRONG_MATCH]
        weak = [one for one in found if one.draft.match < STRONG_MATCH]
        found = [one for one in [*strong, *templates, *weak] if one.draft.token_ids]
        if not found:
            return NO_DRAFT
        self._proposed = max(found, key=lambda one: self._rank(one.draft))
        return self._proposed.draft

    def _draft(self, copy: Copy, budget: int) -> _Proposal:
        """The text at ``copy``."""
        token_ids = copy.index.tokens(copy.run, copy.place, budget)
        return _Proposal(self._guess(token_ids, copy.origin, copy.match), copy)

    def _near(self, budget: int) -> _Proposal | None:
        """The nearest place of the last token alone."""
        ids = self._ids
        for i in range(len(ids) - 2, max(-1, len(ids) - 3000), -1):
            if ids[i] == ids[-1]:
                return _Proposal(self._guess(ids[i + 1 : i + 1 + min(budget, 8)], "near", 1), None)
        return None

    def _guess(self, token_ids: Sequence[int], origin: str, match: int) -> Draft:
        probabilities = (acceptance_guess(origin, match),) * len(token_ids)
        return Draft(tuple(token_ids), probabilities, self.source, origin, match)

    def _cut_draft(self, copy: Copy, cut: Respelled, budget: int) -> _Proposal:
        """A copy that begins with what stands before the cursor already, from the cursor on."""
        return _Proposal(self._guess(cut.token_ids[:budget], copy.origin, copy.match), None)

    def _renamed(self, proposal: _Proposal, budget: int) -> _Proposal | None:
        """The same draft with the names that the user is replacing."""
        if self._text is None or self._spelling is None:
            return None
        draft = proposal.draft
        new = swap_words(draft.token_ids, self._text.words, self._spelling)
        if new is None:
            return None
        token_ids = new.token_ids[:budget]
        renamed = replace(
            draft, token_ids=tuple(token_ids), probabilities=(draft.probabilities[0],) * len(token_ids),
            origin=f"{draft.origin}, renamed",
        )  # fmt: skip
        return _Proposal(renamed, None)

    def _template_drafts(self, budget: int) -> list[_Proposal]:
        """Continuations of the templates, in tokens."""
        if self._spelling is None:
            return []
        found = []
        for template in self._templates.values():
            for one in template.continuations():
                token_ids = self._spelling.encode(one.text)[:budget]
                found.append(_Proposal(self._guess(token_ids, one.origin, one.match), None))
        return found

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
        """See Drafter.observe. Follows the templates; a copy that was right becomes one."""
        text = self._spelling.decode(token_ids) if self._spelling else ""
        for template in self._templates.values():
            template.write(text)
        if "\n" in text and self._spelling is not None:
            *above, line = self._spelling.decode(self._ids[-LINE_TOKENS:] + list(token_ids)).split("\n")
            indent = len(line) - len(line.lstrip())
            whole = [one for one in above[1:] if one.strip()]
            if line.strip():
                whole = [one for one in whole if len(one) - len(one.lstrip()) == indent]
            if whole:
                self._templates["sibling"] = Template("sibling", whole[-1] + "\n", line)
        if self._spelling is not None and self._proposed is not None and (copy := self._proposed.copy) is not None:
            accepted = _agreement(self._proposed.draft.token_ids, token_ids)
            if accepted >= MIN_COPIED:
                source = self._spelling.decode(copy.index.tokens(copy.run, copy.place, SOURCE_TOKENS))
                self._templates["copied"] = Template("copied", source, text)
        self._proposed = None
        self._seam = []
        self._num_written += len(token_ids)
        self._ids += token_ids
        self._session.extend(self._own, token_ids)

    def _candidates(self) -> list[Copy]:
        """Places to copy from: the longest match, and that of the text as it would read without the replacements
        under way.
        """
        tail = self._ids[-MAX_MATCH:]
        best = self._places(tail)
        plain = None
        if self._text is not None and self._spelling is not None:
            plain = unswap_words(tail, self._text.words, self._spelling)
        other = self._longest(plain) if plain is not None and plain != tail else None
        return [*best[:1], *([other] if other is not None else []), *best[1:]]

    def _places(self, context_ids: Sequence[int], typed: str = "") -> list[Copy]:
        """Places of the longest match that go on differently, the most frequent first, the nearest of equals; of those
        that go on with more than ``typed``.
        """
        indexes = [self._session] if self._text is None else [self._session, self._text.index]
        matches: list[tuple[TokenIndex, Match]] = []
        for index in indexes:
            wanted = None if self._num_written else partial(self._is_news, index, typed)
            matches += [(index, match) for match in index.longest(context_ids, wanted)]
        if not matches:
            return []
        length = max(match.length for _, match in matches)
        firsts: dict[int, Copy] = {}
        counts: Counter[int] = Counter()
        for index, match in matches:
            if match.length == length:
                (token_id,) = index.tokens(match.run, match.place, 1)
                counts[token_id] += 1
                firsts.setdefault(token_id, Copy(index, match.run, match.place, match.length, match.run.origin))
        near = next(iter(firsts))
        ranked = [near, *(token_id for token_id, _ in counts.most_common() if token_id != near)][:MAX_CONTINUATIONS]
        return [
            firsts[token_id] if token_id == near
            else replace(firsts[token_id], origin=f"{firsts[token_id].origin}, other")
            for token_id in ranked
        ]  # fmt: skip

    def _longest(self, context_ids: Sequence[int], typed: str = "") -> Copy | None:
        """The place of the longest match, the nearest of equals."""
        return next(iter(self._places(context_ids, typed)), None)

    def _is_news(self, index: TokenIndex, typed: str, run: Run, place: int) -> bool:
        """Whether a copy goes on with ``typed`` and more, and not with what stands behind the cursor: the cursor's own
        place is where most of the text before it agrees, and says nothing of what is missing there.
        """
        spelling = self._text.spelling if self._text else None
        copied = index.tokens(run, place, BEHIND_CURSOR_TOKENS)
        if spelling is None:
            return copied != tuple(self._behind_cursor[: len(copied)])
        text = spelling.decode(copied)
        if not text.startswith(typed) or len(text) <= len(typed):
            return False
        # On a line of its own the cursor stands before a line end that the copy does not have.
        rest, behind = text[len(typed) :].lstrip(), self._behind_cursor_text.lstrip()
        size = min(len(rest), len(behind))
        return not size or rest[:size] != behind[:size]


TEMPLATE_GUESSES = {
    f"{name}, {move}": chance
    for name in ("replaced", "sibling", "analogous", "copied")
    for move, chance in (("agrees", 0.85), ("replaces", 0.5), ("inserts", 0.3))
}


def acceptance_guess(origin: str, match_length: int) -> float:
    """Chance that one copied token is right after ``match_length`` agreeing tokens, until a policy has measured it."""
    if origin in TEMPLATE_GUESSES:
        return TEMPLATE_GUESSES[origin]
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


def _agreement(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
