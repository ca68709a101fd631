"""The documents an editor has open, exactly as the Language Server Protocol describes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from completiond.lsp.text import Position, PositionEncoding, PositionLike, Text

__all__ = ["Change", "DocumentStore", "Position", "PositionEncoding", "Snapshot"]


@dataclass(frozen=True, slots=True)
class Change:
    """Text that takes the place of what is from ``start`` up to ``end``.

    LSP 3.17 "TextDocumentContentChangeEvent". With ``start`` None it takes the place of the whole document, with only
    ``end`` None it is inserted; an ``end`` before ``start`` is read as the same range the other way round.
    """

    start: PositionLike | None
    end: PositionLike | None
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Change:
        """Read a content change as it is in the message; the deprecated ``rangeLength`` is not looked at.

        Raises ValueError for anything that is not such a change.
        """
        text = value.get("text")
        if not isinstance(text, str):
            raise ValueError("content change: text is not a string")
        span = value.get("range")
        if span is None:
            return cls(None, None, text)
        if not isinstance(span, Mapping):
            raise ValueError("content change: range is not an object")
        return cls(_position_from_json(span.get("start")), _position_from_json(span.get("end")), text)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A document at one version. It never changes: the edits that follow make new snapshots.

    Positions are clamped into the document, as ``Text.offset_at`` says, and count in the encoding of ``text``.
    """

    uri: str
    language_id: str
    version: int
    text: Text

    def apply(self, changes: Iterable[Change], version: int) -> Snapshot:
        """Return the document after ``changes``, each made in what the one before it left (LSP 3.17 "didChange")."""
        text = self.text
        for change in changes:
            if change.start is None:
                text = text.replace(0, text.num_chars, change.text)
                continue
            start_chars = text.offset_at(change.start)
            end_chars = start_chars
            if change.end is not None and change.end != change.start:
                end_chars = text.offset_at(change.end)
            text = text.replace(start_chars, end_chars, change.text)
        return replace(self, text=text, version=version)

    def split(self, position: PositionLike) -> tuple[str, str]:
        """Return the whole text before and after ``position``."""
        offset_chars = self.text.offset_at(position)
        return self.text.slice(0, offset_chars), self.text.slice(offset_chars, self.text.num_chars)

    def around(self, position: PositionLike, max_before: int, max_after: int) -> tuple[str, str]:
        """Return at most ``max_before`` and ``max_after`` characters before and after ``position``.

        The cost follows the size of the window, not of the document. A window may begin or end within a ``\\r\\n``.
        """
        offset_chars = self.text.offset_at(position)
        before = self.text.slice(offset_chars - max(max_before, 0), offset_chars)
        return before, self.text.slice(offset_chars, offset_chars + max(max_after, 0))

    def offset_at(self, position: PositionLike) -> int:
        """Return the offset in characters of ``position``."""
        return self.text.offset_at(position)

    def position_at(self, offset_chars: int) -> Position:
        """Return the position of an offset in characters."""
        return self.text.position_at(offset_chars)


class DocumentStore:
    """Open documents by URI (the strings the client sends, compared as they are), with positions in one encoding.

    Messages about documents that are not open change nothing and are not errors: clients do send them.
    """

    def __init__(self, encoding: PositionEncoding = "utf-16") -> None:
        """Start with no document; ``encoding`` is the one the server announced (LSP 3.17 "positionEncoding").

        Raises ValueError for an encoding LSP does not have.
        """
        self._empty_text = Text("", encoding)
        self._documents: dict[str, Snapshot] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def __iter__(self) -> Iterator[Snapshot]:
        """Iterate over the documents open now, in the order they were opened."""
        return iter(tuple(self._documents.values()))

    @property
    def encoding(self) -> PositionEncoding:
        """What ``character`` counts in the positions of these documents."""
        return self._empty_text.encoding

    def open(self, uri: str, language_id: str, version: int, text: str) -> Snapshot:
        """Take over a document (LSP 3.17 "didOpen"); one already open under this URI is replaced."""
        self._documents.pop(uri, None)
        document = Snapshot(uri, language_id, version, Text(text, self.encoding))
        self._documents[uri] = document
        return document

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> Snapshot | None:
        """Apply ``changes`` in order and return the new state; None, and nothing done, if the document is not open."""
        document = self._documents.get(uri)
        if document is None:
            return None
        document = document.apply(changes, version)
        self._documents[uri] = document
        return document

    def close(self, uri: str) -> None:
        """Forget a document (LSP 3.17 "didClose")."""
        self._documents.pop(uri, None)

    def get(self, uri: str) -> Snapshot | None:
        """Return the document as it is now, which costs nothing; None if it is not open."""
        return self._documents.get(uri)


def _position_from_json(value: object) -> Position:
    if isinstance(value, Mapping):
        line, character = value.get("line"), value.get("character")
        if isinstance(line, int) and isinstance(character, int):
            return Position(line, character)
    raise ValueError("content change: position is not {line, character}")
