"""One open document as runs of tokens in an index, kept current edit by edit.

The text is indexed once when the document is opened. An edit does not touch that: the lines around it are indexed
anew as a run of their own, which the next edit at the same place replaces, and what was there before stays a source
too (the best draft for a rewrite is often the old text). Lines that hold a secret are left out of all of it. When
such runs have become many, the document is indexed afresh. Lines are tokenised once per distinct text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from completiond.complete.document_secrets import DocumentSecrets
from completiond.complete.encoder import Encoder
from completiond.complete.replacements import Replacement, analogies, between, replaced_words
from completiond.complete.request import LineEdit
from completiond.spec.parts import PartSwap
from completiond.spec.spelling import WordSwap
from completiond.spec.token_index import Run, TokenIndex

__all__ = ["MAX_WORDS", "DocumentRuns"]

LINES_BEFORE, LINES_AFTER = 3, 12
"""Unchanged lines around an edit that are indexed with it, so that matches reach into it and copies out of it."""
MAX_SPOT_LINES = 200
"""Where more was pasted in one place, the document is indexed afresh instead of the place at every key."""
MAX_EDIT_RUNS = 24
"""Runs of edits per document before it is indexed afresh."""
MAX_LINE_CHARS = 2000
"""Longer lines are left out: minified code is nothing to copy from, and tokenising it at each key would take too
long.
"""
MAX_REPLACED_CHARS = 4000
MAX_WORDS = 8
"""Names under replacement that are remembered."""
MAX_ANALOGOUS_LINES = 6
MAX_SIBLING_CHARS = 200
SPARE_MEMO_LINES = 1000


@dataclass(slots=True)
class _Spot:
    """The place that is being edited: its lines before, where they are now, and the run they are indexed as."""

    first_line: int
    num_lines: int
    original_lines: list[str]
    run: Run | None = None
    replaced: Run | None = None
    replacement: Replacement | None = None
    words: list[WordSwap] | None = None  # not asked for yet
    analogies: list[PartSwap] | None = None

    @property
    def runs(self) -> list[Run]:
        return [run for run in (self.run, self.replaced) if run is not None]


class DocumentRuns:
    """The text of one document in ``index``, where all its runs bear ``name``."""

    def __init__(self, index: TokenIndex, tokenizer: Encoder, name: str, lines: Sequence[str]) -> None:
        """Index a text. ``lines`` have no line ends."""
        self._index = index
        self._tokenizer = tokenizer
        self._name = name
        self.lines = list(lines)
        self._memo: dict[str, tuple[int, ...]] = {}
        self._words: deque[WordSwap] = deque(maxlen=MAX_WORDS)
        self._analogies: deque[PartSwap] = deque(maxlen=3 * MAX_WORDS)
        self._spot: _Spot | None = None
        self._old_runs: list[Run] = []
        self._secrets = DocumentSecrets()
        self._secrets.note(_readable(self.lines))
        self._base = self._add(self.lines, "file")

    @property
    def memo_lines(self) -> int:
        """Pieces of text whose tokens are remembered."""
        return len(self._memo)

    @property
    def readable_lines(self) -> tuple[str, ...]:
        """The text as it may be told to the model: what is left out of the index is empty here."""
        secrets = self._secrets
        return tuple(
            "" if len(line) > MAX_LINE_CHARS or secrets.any_in((line,)) else _clean(line) for line in self.lines
        )

    def masked(self, text: str) -> str:
        """Whole lines as the model may read them, without what is left of secrets that were in the document."""
        return "\n".join(map(self._secrets.masked, text.split("\n"))) if self._secrets else text

    @property
    def deleted(self) -> str:
        """What stood until lately where the last edit was, without the beginning and end that still stand there."""
        spot = self._spot
        if spot is None or spot.replaced is None or spot.replacement is None:
            return ""  # nothing, or something of a secret
        return _clean(spot.replacement.old[:MAX_REPLACED_CHARS])

    @property
    def words(self) -> list[WordSwap]:
        """Names that the user's edits here replaced, newest first."""
        newest: list[WordSwap] = []
        if (spot := self._spot) is not None:
            if spot.words is None:
                now = self.lines[spot.first_line : spot.first_line + spot.num_lines]
                spot.words = []
                if not self._secrets.any_in((*spot.original_lines, *now)):
                    spot.words = replaced_words("\n".join(spot.original_lines), "\n".join(now))
            newest = spot.words
        return [*newest, *(swap for swap in self._words if swap not in newest)]

    @property
    def analogies(self) -> list[PartSwap]:
        """What lines written here have in the places of the lines above them, newest first."""
        newest: list[PartSwap] = []
        if (spot := self._spot) is not None:
            if spot.analogies is None:
                spot.analogies = self._analogies_of(spot)
            newest = spot.analogies
        return [*newest, *self._analogies]

    def _analogies_of(self, spot: _Spot) -> list[PartSwap]:
        if spot.replacement is None or max(spot.num_lines, len(spot.original_lines)) > MAX_ANALOGOUS_LINES:
            return []
        now = self.lines[spot.first_line : spot.first_line + spot.num_lines]
        if self._secrets.any_in((*spot.original_lines, *now)):
            return []
        if spot.replacement.old.strip():
            if not spot.replacement.new.strip():
                return []
            old, new = _clean("\n".join(spot.original_lines)), _clean("\n".join(now))
            return analogies(old.strip(), new.strip())[:MAX_WORDS]
        found: list[PartSwap] = []
        for number in range(spot.first_line + len(now) - 1, spot.first_line - 1, -1):
            line = self.lines[number]
            if line.strip() and line not in spot.original_lines and (above := self._sibling(number)):
                found += analogies(_clean(above), _clean(line.strip()[:MAX_SIBLING_CHARS]))
        return found[:MAX_WORDS]

    def _sibling(self, number: int) -> str:
        """The nearest line above with the same indentation, "" if there is none near."""
        line = self.lines[number]
        indent = len(line) - len(line.lstrip())
        for above in reversed(self.lines[max(0, number - 8) : number]):
            if above.strip() and len(above) - len(above.lstrip()) == indent:
                return above.strip()[:MAX_SIBLING_CHARS]
        return ""

    def replaced_at(self, line: int) -> Run | None:
        """What stood until lately where ``line`` (from 0) is now."""
        spot = self._spot
        if spot is None or spot.replaced is None or spot.replacement is None:
            return None
        before = "\n".join(spot.original_lines)[: spot.replacement.start_chars]
        first = spot.first_line + before.count("\n")
        return spot.replaced if first <= line <= first + spot.replacement.new.count("\n") else None

    def edit(self, edit: LineEdit) -> None:
        """Follow a change."""
        first, end = edit.first_line, edit.first_line + edit.num_old_lines
        old_lines = self.lines[first:end]
        spot = self._spot
        if spot is None or not spot.first_line <= first <= end <= spot.first_line + spot.num_lines:
            self._leave_spot()  # before the lines move
            spot = self._spot = _Spot(first, len(old_lines), old_lines)
        self.lines[first:end] = edit.new_lines
        spot.num_lines += len(edit.new_lines) - len(old_lines)
        self._secrets.note_edited(_readable(edit.new_lines))
        self._secrets.note(_readable(self.lines[self._around(spot)]))
        if spot.num_lines > MAX_SPOT_LINES:
            self._leave_spot()
            self._index_afresh()
        else:
            if len(self._old_runs) > MAX_EDIT_RUNS:
                self._index_afresh()
            self._index_spot(spot)
        if len(self._memo) > 2 * len(self.lines) + SPARE_MEMO_LINES:
            self._forget_old_lines()

    def settle(self) -> None:
        """Free what only edits need, the tokens of each line. (They are still possible.)"""
        self._memo = {}

    def remove(self) -> None:
        """Take all of it out of the index."""
        for run in (self._base, *self._old_runs, *(self._spot.runs if self._spot else ())):
            self._index.remove(run)
        self._spot, self._old_runs = None, []

    def _index_afresh(self) -> None:
        """All but the place that is being edited, whose deleted text is still of use."""
        for run in (self._base, *self._old_runs):
            self._index.remove(run)
        self._old_runs = []
        self._forget_old_lines()
        self._base = self._add(self.lines, "file")

    def _around(self, spot: _Spot) -> slice:
        return slice(max(0, spot.first_line - LINES_BEFORE), spot.first_line + spot.num_lines + LINES_AFTER)

    def _index_spot(self, spot: _Spot) -> None:
        """Index the lines around the edit as they are now, and what was deleted there."""
        for run in spot.runs:
            self._index.remove(run)
        spot.run = self._add(self.lines[self._around(spot)], "edit")
        now = self.lines[spot.first_line : spot.first_line + spot.num_lines]
        spot.replacement = between("\n".join(spot.original_lines), "\n".join(now))
        spot.replaced = spot.words = spot.analogies = None
        old = spot.replacement.old[:MAX_REPLACED_CHARS]
        if old.strip() and not self._secrets.any_in(spot.original_lines):
            spot.replaced = self._index.add(self._tokenizer.encode_inside(_clean(old)), "edit", self._name)

    def _leave_spot(self) -> None:
        """The user edits somewhere else now: what the last place left behind becomes history."""
        if self._spot is None:
            return
        words, swaps = self.words, self.analogies
        self._words.clear()
        self._words.extend(words[:MAX_WORDS])
        self._analogies.clear()
        self._analogies.extend(swaps[: 3 * MAX_WORDS])
        self._old_runs += self._spot.runs
        self._spot = None

    def _add(self, lines: Sequence[str], origin: str) -> Run:
        ids = list(chain.from_iterable(map(self._encode, _pieces(self._secrets.without(lines)))))
        return self._index.add(ids, origin, self._name)

    def _encode(self, piece: str) -> tuple[int, ...]:
        ids = self._memo.get(piece)
        if ids is None:
            ids = self._memo[piece] = tuple(self._tokenizer.encode_inside(_clean(piece)))
        return ids

    def _forget_old_lines(self) -> None:
        self._secrets.forget_all_but(chain(self.lines, self._spot.original_lines if self._spot else ()))
        self._memo = {piece: self._memo[piece] for piece in _pieces(self.lines) if piece in self._memo}


def _clean(text: str) -> str:
    """Half a character of UTF-16, which an edit can leave for a moment, cannot be tokenised."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _readable(lines: Sequence[str]) -> list[str]:
    """``lines``, with nothing in place of those that are too long to be drafted from: no secret is looked for there."""
    return [line if len(line) <= MAX_LINE_CHARS else "" for line in lines]


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
