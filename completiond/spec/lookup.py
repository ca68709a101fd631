"""Places where the end of a text occurred before: in the prompt, in the answer so far, in documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from completiond.spec.spelling import Spelling, beyond_seam
from completiond.spec.token_index import MAX_MATCH, MIN_MATCH, Run, TokenIndex

__all__ = ["Copy", "Lookup"]

BEHIND_CURSOR_TOKENS = 12
"""Where a copy goes on with these, it goes on with what is there already."""
SEAM_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Copy:
    """A place to copy from: ``match`` tokens before it agree with the text's end."""

    index: TokenIndex
    run: Run
    place: int
    match: int
    origin: str

    def tokens(self, count: int) -> tuple[int, ...]:
        """What stands there, ``count`` tokens at most."""
        return self.index.tokens(self.run, self.place, count)


class Lookup:
    """Of one answer. ``documents`` is shared and not changed here."""

    def __init__(
        self,
        documents: TokenIndex | None,
        spelling: Spelling | None,
        context_ids: Sequence[int],
        other_ids: Sequence[Sequence[int]],
    ) -> None:
        """The answer continues ``context_ids``; the first of ``other_ids`` stands behind the cursor."""
        self._documents = documents
        self._spelling = spelling
        self._prompt = TokenIndex()
        for ids in other_ids:
            self._prompt.add(ids, "prompt")
        self._own = self._prompt.add(context_ids, "prompt")
        self._begun = False
        self._behind_cursor = tuple(other_ids[0][:BEHIND_CURSOR_TOKENS]) if other_ids else ()
        self._behind_cursor_text = spelling.decode(self._behind_cursor) if spelling else ""

    def extend(self, token_ids: Sequence[int]) -> None:
        """The answer goes on."""
        self._prompt.extend(self._own, token_ids)
        self._begun = True

    def longest(self, context_ids: Sequence[int], typed: str = "") -> Copy | None:
        """The place of the longest match, the nearest of equals: this prompt first, then newest.

        Until the answer has begun, of places that go on with more than ``typed``.
        """
        best: Copy | None = None
        for index in (self._prompt, self._documents):
            if index is None:
                continue
            wanted = None if self._begun else partial(self._is_news, index, typed)
            for match in index.longest(context_ids, wanted)[:1]:
                if best is None or match.length > best.match:
                    best = Copy(index, match.run, match.place, match.length, match.run.origin)
        return best

    def nearest(self) -> Copy | None:
        """The nearest earlier place of the last token alone, in the text before the cursor and the answer."""
        place = self._prompt.last_place(self._own)
        return None if place is None else Copy(self._prompt, self._own, place, 1, "near")

    def seams(self, context_ids: Sequence[int]) -> list[tuple[Copy, list[int]]]:
        """Copies for a cursor inside what the copied text has as one token: behind an indentation or half a word.

        The match is looked for before that token, and what the copy has beyond the cursor is spelled anew.
        """
        if self._spelling is None:
            return []
        found = []
        for back in (1, 2):
            typed = self._spelling.decode(context_ids[-back:])
            if len(context_ids) <= back + MIN_MATCH or (back > 1 and typed.strip(" \t")):
                break
            copy = self.longest(context_ids[-MAX_MATCH - back : -back], typed)
            if copy is not None and (cut := beyond_seam(typed, copy.tokens(SEAM_TOKENS), self._spelling)) is not None:
                found.append((replace(copy, origin=f"{copy.origin}, cut"), cut))
        return found

    def _is_news(self, index: TokenIndex, typed: str, run: Run, place: int) -> bool:
        """Whether a copy goes on with ``typed`` and more, and not with what stands behind the cursor: the cursor's own
        place is where most of the text before it agrees, and says nothing of what is missing there.
        """
        copied = index.tokens(run, place, BEHIND_CURSOR_TOKENS)
        if self._spelling is None:
            return copied != self._behind_cursor[: len(copied)]
        text = self._spelling.decode(copied)
        if not text.startswith(typed) or len(text) <= len(typed):
            return False
        # On a line of its own the cursor stands before a line end that the copy does not have.
        rest, behind = text[len(typed) :].lstrip(), self._behind_cursor_text.lstrip()
        size = min(len(rest), len(behind))
        return not size or rest[:size] != behind[:size]
