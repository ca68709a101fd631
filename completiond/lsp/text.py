"""A long text with fast edits, and the positions that the Language Server Protocol counts in it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Final, Literal, Protocol

__all__ = ["Position", "PositionEncoding", "PositionLike", "Text", "num_units"]

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]

# LSP 3.17 "Text Documents": these three and nothing else. str.splitlines would also break at form feed, NEL, U+2028...
_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
_CODECS: Final[dict[PositionEncoding, tuple[str, int]]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}
_CHUNK_CHARS: Final = 8192


class PositionLike(Protocol):
    """Anything with the two numbers of a position: ours, or the one of an LSP library."""

    @property
    def line(self) -> int:
        """Line, from 0."""

    @property
    def character(self) -> int:
        """Units of the position encoding from the start of the line, from 0."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between two characters (LSP 3.17 "Position"): ``line`` from 0, ``character`` in units of the encoding."""

    line: int
    character: int


def num_units(text: str, encoding: PositionEncoding) -> int:
    """Return the length of ``text`` as ``character`` counts it: bytes in utf-8, code units in utf-16, else characters.

    A lone surrogate counts as 3 bytes or 1 unit. Raises KeyError for an encoding LSP does not have.
    """
    codec, unit_bytes = _CODECS[encoding]
    if unit_bytes == 4 or text.isascii():
        return len(text)
    return len(text.encode(codec, "surrogatepass")) // unit_bytes


class Text:
    """An immutable text: an edit returns a new one, which shares what was not touched, so any value can be kept.

    Lines end at ``\\n``, ``\\r\\n`` and ``\\r`` only (LSP 3.17 "Text Documents"), and line ends stay as they came.
    Offsets count characters (Python str indices). Offsets and positions outside the text are clamped, never an error.

    The text is a list of chunks with running totals, so an edit or a look-up costs one bisection, one scan of one chunk
    and a copy of the lists, whether the text has 100,000 lines or a single one. No chunk ends within a ``\\r\\n``.
    """

    __slots__ = ("_chunk_chars", "_chunks", "_encoding", "_sums_breaks", "_sums_chars", "_sums_units")

    _encoding: PositionEncoding
    _chunks: list[str]
    _sums_chars: list[int]  # before each chunk, and in all: characters, position units, line breaks
    _sums_units: list[int]
    _sums_breaks: list[int]

    def __init__(self, text: str, encoding: PositionEncoding, *, chunk_chars: int = _CHUNK_CHARS) -> None:
        """Hold ``text``, with positions counted in ``encoding``; chunks have about ``chunk_chars`` characters.

        Raises ValueError for an encoding LSP does not have and for ``chunk_chars`` below 1.
        """
        if encoding not in _CODECS:
            raise ValueError(f"position encoding {encoding!r}: LSP has utf-8, utf-16 and utf-32")
        if chunk_chars < 1:
            raise ValueError("chunk_chars must be at least 1")
        self._encoding = encoding
        self._chunk_chars = chunk_chars
        self._chunks = _cut(_join_surrogates(text), chunk_chars)
        self._sums_chars = list(accumulate(map(len, self._chunks), initial=0))
        self._sums_units = list(accumulate((num_units(chunk, encoding) for chunk in self._chunks), initial=0))
        self._sums_breaks = list(accumulate(map(_num_breaks, self._chunks), initial=0))

    def __str__(self) -> str:
        return "".join(self._chunks)

    @property
    def encoding(self) -> PositionEncoding:
        """What ``character`` counts."""
        return self._encoding

    @property
    def num_chars(self) -> int:
        """Length in characters."""
        return self._sums_chars[-1]

    @property
    def num_lines(self) -> int:
        """Number of lines; the empty one after a final line break is one too."""
        return self._sums_breaks[-1] + 1

    def slice(self, start_chars: int, end_chars: int) -> str:
        """Return the characters from ``start_chars`` up to ``end_chars``; only the chunks between them are read."""
        if start_chars >= end_chars:
            return ""
        (first, inner_start), (last, inner_end) = self._locate(start_chars), self._locate(end_chars)
        if first == last:
            return self._chunks[first][inner_start:inner_end]
        between = self._chunks[first + 1 : last]
        return "".join((self._chunks[first][inner_start:], *between, self._chunks[last][:inner_end]))

    def replace(self, start_chars: int, end_chars: int, text: str) -> Text:
        """Return the text with the characters from ``start_chars`` up to ``end_chars`` replaced by ``text``.

        The two halves of a surrogate pair that become neighbours become one character, as they are for the editor.
        """
        first, inner_start = self._locate(min(start_chars, end_chars))
        last, inner_end = self._locate(max(start_chars, end_chars))
        merged = self._chunks[first][:inner_start] + text + self._chunks[last][inner_end:]
        min_chars = (self._chunk_chars + 1) // 2
        chunks = self._chunks
        while last + 1 < len(chunks) and (len(merged) < min_chars or _are_glued(merged[-1], chunks[last + 1][0])):
            last += 1
            merged += chunks[last]
        while first > 0 and (len(merged) < min_chars or _are_glued(chunks[first - 1][-1], merged[0])):
            first -= 1
            merged = chunks[first] + merged
        pieces = _cut(_join_surrogates(merged), self._chunk_chars)

        result = Text.__new__(Text)
        result._encoding = self._encoding
        result._chunk_chars = self._chunk_chars
        result._chunks = chunks[:first] + pieces + chunks[last + 1 :]
        result._sums_chars = _splice(self._sums_chars, first, last, map(len, pieces))
        result._sums_units = _splice(self._sums_units, first, last, (num_units(p, self._encoding) for p in pieces))
        result._sums_breaks = _splice(self._sums_breaks, first, last, map(_num_breaks, pieces))
        return result

    def offset_at(self, position: PositionLike) -> int:
        """Return the offset in characters of ``position``.

        A character past the end of its line is the line's length, without its line end (LSP 3.17 "Position"); a line
        past the last is the end of the text, a negative line its start, a negative character the start of the line.
        A character within a surrogate pair or a utf-8 sequence, which LSP leaves open, is the start of that sequence.
        """
        if position.line < 0:
            return 0
        if position.line >= self.num_lines:
            return self.num_chars
        start_chars = self._line_break(position.line)[1]
        if position.character <= 0:
            return start_chars
        end_chars = self._line_break(position.line + 1)[0]
        target_units = self._units_at(start_chars) + position.character
        if target_units >= self._units_at(end_chars):
            return end_chars
        index = bisect_right(self._sums_units, target_units) - 1
        inner_units = target_units - self._sums_units[index]
        return self._sums_chars[index] + self._num_chars(index, inner_units)

    def position_at(self, offset_chars: int) -> Position:
        """Return the position of an offset; one within a ``\\r\\n`` is the end of its line, as LSP cannot name it."""
        index, inner_chars = self._locate(offset_chars)
        chunk = self._chunks[index]
        if inner_chars and chunk[inner_chars - 1 : inner_chars + 1] == "\r\n":
            inner_chars -= 1
        line = self._sums_breaks[index] + _num_breaks(chunk[:inner_chars])
        units = self._sums_units[index] + self._num_units(index, inner_chars)
        return Position(line, units - self._units_at(self._line_break(line)[1]))

    def _locate(self, offset_chars: int) -> tuple[int, int]:
        """Return the chunk with the character after an offset (at the end of the text the last) and the place in it."""
        offset_chars = min(max(offset_chars, 0), self.num_chars)
        index = min(bisect_right(self._sums_chars, offset_chars), len(self._chunks)) - 1
        return index, offset_chars - self._sums_chars[index]

    def _units_at(self, offset_chars: int) -> int:
        index, inner_chars = self._locate(offset_chars)
        return self._sums_units[index] + self._num_units(index, inner_chars)

    def _counts_alike(self, index: int) -> bool:
        """Say whether each character of a chunk is one unit."""
        return len(self._chunks[index]) == self._sums_units[index + 1] - self._sums_units[index]

    def _num_units(self, index: int, inner_chars: int) -> int:
        """Return the units of the first ``inner_chars`` characters of a chunk."""
        if self._counts_alike(index):
            return inner_chars
        return num_units(self._chunks[index][:inner_chars], self._encoding)

    def _num_chars(self, index: int, inner_units: int) -> int:
        """Return how many whole characters are in the first ``inner_units`` units of a chunk, which is longer."""
        if self._counts_alike(index):
            return inner_units
        codec, unit_bytes = _CODECS[self._encoding]
        data = self._chunks[index].encode(codec, "surrogatepass")
        end = inner_units * unit_bytes
        if self._encoding == "utf-8":
            while data[end] & 0xC0 == 0x80:
                end -= 1
        elif end and 0xDC <= data[end + 1] <= 0xDF and 0xD8 <= data[end - 1] <= 0xDB:
            end -= 2
        return len(data[:end].decode(codec, "surrogatepass"))

    def _line_break(self, number: int) -> tuple[int, int]:
        """Return start and end, in characters, of the break before line ``number``; the text's two ends are breaks."""
        if number == 0:
            return 0, 0
        if number == self.num_lines:
            return self.num_chars, self.num_chars
        index = bisect_left(self._sums_breaks, number) - 1
        num_skipped = number - self._sums_breaks[index] - 1
        match = next(islice(_LINE_BREAK.finditer(self._chunks[index]), num_skipped, None))
        return self._sums_chars[index] + match.start(), self._sums_chars[index] + match.end()


def _cut(text: str, chunk_chars: int) -> list[str]:
    """Cut into pieces of up to 2 * ``chunk_chars`` characters (one more to keep a ``\\r\\n`` whole), at least one."""
    if len(text) <= 2 * chunk_chars:
        return [text]
    piece_chars = -(-len(text) // (len(text) // chunk_chars))
    pieces = []
    start = 0
    while start < len(text):
        end = start + piece_chars
        if text[end - 1 : end + 1] == "\r\n":
            end += 1
        pieces.append(text[start:end])
        start = end
    return pieces


def _splice(sums: list[int], first: int, last: int, counts: Iterable[int]) -> list[int]:
    """Return the running totals after chunks ``first`` to ``last`` gave way to pieces with these counts."""
    new_sums = list(accumulate(counts, initial=sums[first]))
    shift = new_sums[-1] - sums[last + 1]
    tail = sums[last + 2 :]
    return sums[:first] + new_sums + ([total + shift for total in tail] if shift else tail)


def _num_breaks(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _are_glued(left: str, right: str) -> bool:
    """Say whether two neighbouring characters must be in one chunk, because together they are something else."""
    return (left == "\r" and right == "\n") or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")


def _join_surrogates(text: str) -> str:
    """Make one character of each high and low surrogate side by side: JSON may bring the halves in two changes."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
