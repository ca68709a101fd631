"""The open documents as tokens to draft from, kept current edit by edit on the engine's thread.

A document's text is indexed once when it is opened. An edit does not touch that: the lines around it are indexed anew
as a run of their own, which the next edit at the same place replaces, and what was there before stays a source too
(the best draft for a rewrite is often the old text). When such runs have become many, the document is indexed afresh.
Lines are tokenised once per distinct text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from completiond.complete.replacements import Replacement, between, swaps_of
from completiond.complete.request import LineEdit
from completiond.complete.tokens import TextTokenizer
from completiond.spec.ngram import DraftText
from completiond.spec.swaps import Swap
from completiond.spec.token_index import Run, TokenIndex

__all__ = ["Dictionary"]

LINES_BEFORE, LINES_AFTER = 3, 12
"""Unchanged lines around an edit that are indexed with it, so that matches reach into it and copies out of it."""
MAX_EDIT_RUNS = 24
"""Runs of edits per document before it is indexed afresh."""
MAX_LINE_CHARS = 2000
"""Longer lines are left out: minified code is nothing to copy from, and tokenising it at each key would take too
long.
"""
MAX_SWAPS = 6
MAX_MEMO_LINES = 200_000


DocumentKey = tuple[str, str]
"""(client, document): two editors may have different texts of one file."""


@dataclass(slots=True)
class _Spot:
    """The place that is being edited: its lines before, where they are now, and the run they are indexed as."""

    first_line: int
    num_lines: int
    original_lines: list[str]
    run: Run | None = None
    replaced: Run | None = None
    replacement: Replacement | None = None


@dataclass(slots=True)
class _Document:
    lines: list[str]
    base: Run
    spot: _Spot | None = None
    old_runs: deque[Run] = field(default_factory=deque)


class Dictionary:
    """Documents by key. ``budget_bytes`` bounds the index: the documents used longest ago are left out first."""

    def __init__(self, tokenizer: TextTokenizer, budget_bytes: int = 64_000_000) -> None:
        self._tokenizer = tokenizer
        self._budget_bytes = budget_bytes
        self._memo: dict[str, tuple[int, ...]] = {}
        self._documents: dict[DocumentKey, _Document] = {}  # least recently used first
        self._swaps: deque[Swap] = deque(maxlen=MAX_SWAPS)
        self.index = TokenIndex()

    def __contains__(self, key: DocumentKey) -> bool:
        return key in self._documents

    def open(self, key: DocumentKey, lines: Sequence[str]) -> None:
        """Index a document, or index it anew. ``lines`` have no line ends."""
        self.close(key)
        self._documents[key] = _Document(list(lines), self._add(lines, "file", key))
        self._evict(keep=key)

    def edit(self, key: DocumentKey, edits: Sequence[LineEdit]) -> None:
        """Follow changes, in order. A document that is not (or no longer) in the index is left out."""
        for edit in edits:
            if (document := self._touch(key)) is not None:
                self._follow(key, document, edit)

    def close_client(self, client_id: str) -> None:
        """Close all documents of a client."""
        for key in [key for key in self._documents if key[0] == client_id]:
            self.close(key)

    def _follow(self, key: DocumentKey, document: _Document, edit: LineEdit) -> None:
        first, end = edit.first_line, edit.first_line + edit.num_old_lines
        old_lines = document.lines[first:end]
        document.lines[first:end] = edit.new_lines
        spot = document.spot
        if spot is None or not spot.first_line <= first <= end <= spot.first_line + spot.num_lines:
            self._leave_spot(document)
            spot = document.spot = _Spot(first, len(old_lines), list(old_lines))
        spot.num_lines += len(edit.new_lines) - edit.num_old_lines
        self._index_spot(key, document, spot)
        if len(document.old_runs) > MAX_EDIT_RUNS:
            self.open(key, document.lines)

    def close(self, key: DocumentKey) -> None:
        """Take a document out, with all that its edits left."""
        document = self._documents.pop(key, None)
        if document is None:
            return
        runs = [document.base, *document.old_runs]
        if document.spot is not None:
            runs += [run for run in (document.spot.run, document.spot.replaced) if run is not None]
        for run in runs:
            self.index.remove(run)
        if not self._documents:
            self._memo.clear()
            self._swaps.clear()
            self.index = TokenIndex()

    def draft_text(self, key: DocumentKey, line: int) -> DraftText:
        """What to draft from for a completion in document ``key`` with the cursor in ``line`` (from 0)."""
        document = self._touch(key)
        spot = document.spot if document else None
        at_spot = spot is not None and spot.first_line <= line < spot.first_line + max(1, spot.num_lines)
        own = swaps_of(spot.replacement, self._tokenizer) if spot and spot.replacement else []
        replaced = spot.replaced if spot is not None and at_spot else None
        return DraftText(self.index, "\n".join(key), replaced, (*own, *self._swaps))

    def _index_spot(self, key: DocumentKey, document: _Document, spot: _Spot) -> None:
        """Index the lines around the edit as they are now, and what was deleted there."""
        for run in (spot.run, spot.replaced):
            if run is not None:
                self.index.remove(run)
        begin, end = max(0, spot.first_line - LINES_BEFORE), spot.first_line + spot.num_lines + LINES_AFTER
        spot.run = self._add(document.lines[begin:end], "edit", key)
        now = document.lines[spot.first_line : spot.first_line + spot.num_lines]
        spot.replacement = between("\n".join(spot.original_lines), "\n".join(now))
        spot.replaced = None
        if spot.replacement.old.strip():
            spot.replaced = self.index.add(self._tokenizer.encode(spot.replacement.old), "edit", "\n".join(key))

    def _leave_spot(self, document: _Document) -> None:
        """The user edits somewhere else now: what the last place left behind becomes history."""
        spot, document.spot = document.spot, None
        if spot is None:
            return
        document.old_runs += [run for run in (spot.run, spot.replaced) if run is not None]
        if spot.replacement is not None:
            for swap in swaps_of(spot.replacement, self._tokenizer):
                if swap in self._swaps:
                    self._swaps.remove(swap)
                self._swaps.appendleft(swap)

    def _touch(self, key: DocumentKey) -> _Document | None:
        document = self._documents.pop(key, None)
        if document is not None:
            self._documents[key] = document
        return document

    def _evict(self, keep: DocumentKey) -> None:
        while self.index.size_bytes > self._budget_bytes and len(self._documents) > 1:
            self.close(next(key for key in self._documents if key != keep))

    def _add(self, lines: Sequence[str], origin: str, key: DocumentKey) -> Run:
        ids = list(chain.from_iterable(map(self._encode, _pieces(lines))))
        return self.index.add(ids, origin, "\n".join(key))

    def _encode(self, piece: str) -> tuple[int, ...]:
        ids = self._memo.get(piece)
        if ids is None:
            if len(self._memo) >= MAX_MEMO_LINES:
                self._memo.clear()
            ids = self._memo[piece] = tuple(self._tokenizer.encode(piece))
        return ids


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """Text cut where tokenisers never join: a non-blank line with the line ends and blank lines behind it.

    Byte-level pre-tokenisers attach a run of line ends to what stands before it, so a cut before the next line's first
    character changes nothing. (Those that attach them to what follows lose matches at a line's first token only.)
    """
    piece: list[str] = []
    for line in lines:
        if line.strip() and piece:
            yield "".join(piece)
            piece = []
        if len(line) <= MAX_LINE_CHARS:
            piece.append(line + "\n")
    if piece:
        yield "".join(piece)
