"""What changed in a file: runs of lines, each small enough to be one edit of a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from completiond.bench.edits.cuts import cut_replacement, cut_tests, long_cuts
from completiond.bench.edits.source import Signature, Source, parse_source
from completiond.bench.edits.tokens import COMMON_NAMES, Token, are_formatted_alike, split_lines

__all__ = ["FileDiff", "Hunk", "diff_texts"]

_MAX_CHANGED_LINES: Final = 400


@dataclass(frozen=True, slots=True)
class Hunk:
    """``old_lines`` of the old file, from line ``old_start`` on, become ``new_lines``, which the new one has from
    ``new_start`` on. Either may be empty. Lines are counted from 0.
    """

    path: str
    old_start: int
    old_lines: tuple[str, ...]
    new_start: int
    new_lines: tuple[str, ...]

    @property
    def old_end(self) -> int:
        """The old line after the last."""
        return self.old_start + len(self.old_lines)

    @property
    def new_end(self) -> int:
        """The new line after the last."""
        return self.new_start + len(self.new_lines)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file in both releases, and its hunks from top to bottom. ``resigned``: its functions that are called in another
    way than before.
    """

    path: str
    old: Source
    new: Source
    hunks: tuple[Hunk, ...]
    resigned: tuple[Signature, ...]

    def old_tokens(self, hunk: Hunk) -> list[Token]:
        """The tokens that a hunk deletes."""
        return self.old.tokens(hunk.old_start, hunk.old_end)

    def new_tokens(self, hunk: Hunk) -> list[Token]:
        """The tokens that a hunk adds."""
        return self.new.tokens(hunk.new_start, hunk.new_end)

    def resigned_by(self, hunk: Hunk) -> Iterator[str]:
        """Names of functions whose arguments a hunk changes, or helps to change."""
        return (item.called for item in self.resigned if hunk.new_start < item.end and item.start < hunk.new_end)


def diff_texts(path: str, old_text: str, new_text: str) -> FileDiff | None:
    """Compare line by line, without context.

    No hunk adds more than ``MAX_ADDED_LINES``, unless it changes formatting only; several may be at one place, one
    after the other. None when more than 400 lines change, as then the file was rewritten rather than edited, when one
    of the texts is no Python, or when its lines are not those an editor would count.
    """
    if any("\r" in text.replace("\r\n", "") for text in (old_text, new_text)):
        return None
    old_lines, new_lines = split_lines(old_text), split_lines(new_text)
    spans = list(_slide(_changes(old_lines, new_lines), new_lines))
    if sum(i2 - i1 + j2 - j1 for i1, i2, j1, j2 in spans) > _MAX_CHANGED_LINES:
        return None
    # the neighbours too: a new line is compared with them
    old = parse_source(old_text, old_lines, {line for span in spans for line in range(span[0] - 1, span[1] + 1)})
    new = parse_source(new_text, new_lines, {line for span in spans for line in range(span[2] - 1, span[3] + 1)})
    if old is None or new is None:
        return None
    hunks = (Hunk(path, i1, old_lines[i1:i2], j1, new_lines[j1:j2]) for i1, i2, j1, j2 in spans)
    resigned = tuple(now for name, now in new.signatures.items() if _is_resigned(old.signatures.get(name), now))
    return FileDiff(path, old, new, tuple(piece for hunk in hunks for piece in _pieces(hunk, old, new)), resigned)


def _is_resigned(was: Signature | None, now: Signature) -> bool:
    return was is not None and was.arguments != now.arguments and now.called not in COMMON_NAMES | {""}


_Span = tuple[int, int, int, int]


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Span]:
    """Old and new ranges that differ. What both ends have in common is cut first: it is most of a file."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    return [
        (i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    ]


def _slide(spans: Sequence[_Span], new: Sequence[str]) -> Iterator[_Span]:
    """Move each pure insertion, where its lines could as well be some lines up or down, to where a person would begin
    it: at a line of text, as far left as can be, under a blank line. One line at least stays between two spans.
    """
    lowest = 0
    for number, (old_start, old_end, start, end) in enumerate(spans):
        shift = 0
        if old_start == old_end:
            highest = spans[number + 1][2] - 1 if number + 1 < len(spans) else len(new)
            up = down = 0
            while start - up > lowest and new[start - up - 1] == new[end - up - 1]:
                up += 1
            while end + down < highest and new[start + down] == new[end + down]:
                down += 1
            shift = min(range(-up, down + 1), key=lambda by: (_start_cost(new, start + by, end + by), -by))
        yield old_start + shift, old_end + shift, start + shift, end + shift
        lowest = end + shift + 1


def _start_cost(new: Sequence[str], start: int, end: int) -> tuple[int, int, bool]:
    """Indentation of the first line of text, blank lines before it, and whether it stands right under another."""
    first = next((line for line in range(start, end) if new[line].strip()), start)
    indent = len(new[first]) - len(new[first].lstrip())
    return indent, first - start, first > 0 and bool(new[first - 1].strip())


def _pieces(hunk: Hunk, old: Source, new: Source) -> Iterator[Hunk]:
    """The edits a person would make of one hunk, top to bottom. What a formatter did stays whole, to be recognised."""
    is_formatting = are_formatted_alike(
        old.tokens(hunk.old_start, hunk.old_end), new.tokens(hunk.new_start, hunk.new_end)
    )
    sizes = [(len(hunk.old_lines), len(hunk.new_lines))] if is_formatting else _piece_sizes(hunk)
    old_at, new_at = 0, 0
    for num_old, num_new in sizes:
        old_lines, new_lines = hunk.old_lines[old_at : old_at + num_old], hunk.new_lines[new_at : new_at + num_new]
        yield Hunk(hunk.path, hunk.old_start + old_at, old_lines, hunk.new_start + new_at, new_lines)
        old_at, new_at = old_at + num_old, new_at + num_new


def _piece_sizes(hunk: Hunk) -> Iterator[tuple[int, int]]:
    """How many old and new lines each piece takes."""
    for num_old, new_lines in cut_replacement(hunk.old_lines, hunk.new_lines):
        parts = [new_lines] if num_old else cut_tests(new_lines)
        sizes = [size for part in parts for size in long_cuts(part)]
        yield num_old, sizes[0]
        yield from ((0, size) for size in sizes[1:])
