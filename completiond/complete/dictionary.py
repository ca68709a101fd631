"""The open documents of every client as tokens to draft from, within a budget of memory. Used on the engine's thread.

Each client has an index of its own: what one editor has open is never drafted for another.
"""

from __future__ import annotations

from collections.abc import Sequence

from completiond.complete.document_runs import MAX_WORDS, DocumentRuns
from completiond.complete.encoder import Encoder
from completiond.complete.request import LineEdit
from completiond.spec.draft_text import DraftText
from completiond.spec.parts import PartSwap
from completiond.spec.spelling import WordSwap
from completiond.spec.token_index import BYTES_PER_TOKEN, TokenIndex

__all__ = ["BUDGET_BYTES", "Dictionary", "DocumentKey"]

BUDGET_BYTES = 64_000_000

DocumentKey = tuple[str, str]
"""(client, document): two editors may have different texts of one file."""


class Dictionary:
    """Documents by key. ``budget_bytes`` bounds the indexes: the documents used longest ago are left out first."""

    def __init__(self, tokenizer: Encoder, budget_bytes: int = BUDGET_BYTES) -> None:
        self._tokenizer = tokenizer
        self._budget_bytes = budget_bytes
        self._packed_bytes = 0
        self._num_changes = 0
        self._versions: dict[DocumentKey, int] = {}
        self._indexes: dict[str, TokenIndex] = {}
        self._documents: dict[DocumentKey, DocumentRuns] = {}  # least recently used first

    def __contains__(self, key: DocumentKey) -> bool:
        return key in self._documents

    @property
    def num_documents(self) -> int:
        """Documents to draft from, of all clients."""
        return len(self._documents)

    @property
    def num_tokens(self) -> int:
        """Tokens to draft from, of all clients."""
        return sum(index.num_tokens for index in self._indexes.values())

    @property
    def size_bytes(self) -> int:
        """Memory of the indexes."""
        return sum(index.size_bytes for index in self._indexes.values())

    @property
    def is_half_full(self) -> bool:
        """Whether half of the memory is used: then only what is open is added."""
        return self.size_bytes * 2 >= self._budget_bytes

    @property
    def memo_lines(self) -> int:
        """Pieces of text whose tokens are remembered, of all documents."""
        return sum(document.memo_lines for document in self._documents.values())

    def lines(self, key: DocumentKey) -> tuple[str, ...]:
        """The text of a document as the edits left it. Raises KeyError for one that is not here."""
        return tuple(self._documents[key].lines)

    def version(self, key: DocumentKey) -> int | None:
        """Another number for each text that a document had, None for one that is not here."""
        return self._versions.get(key)

    def readable_lines(self, key: DocumentKey) -> tuple[str, ...]:
        """The text of a document with empty lines for what nothing may be told of: secrets, and lines that are too
        long. Raises KeyError for one that is not here.
        """
        return self._documents[key].readable_lines

    def masked(self, key: DocumentKey, prefix: str, suffix: str, near_chars: int) -> tuple[str, str]:
        """``prefix`` and ``suffix``, the text on both sides of a cursor, without what is left of secrets that were in
        the document, as far as ``near_chars`` from the cursor. Lines and lengths stay.
        """
        if (document := self._documents.get(key)) is None:
            return prefix, suffix
        start = prefix.rfind("\n", 0, max(0, len(prefix) - near_chars)) + 1
        end = suffix.find("\n", near_chars) if len(suffix) > near_chars else len(suffix)
        end = len(suffix) if end < 0 else end
        cursor = len(prefix) - start
        near = document.masked(prefix[start:] + suffix[:end])
        return prefix[:start] + near[:cursor], near[cursor:] + suffix[end:]

    def deleted(self, key: DocumentKey) -> str:
        """What the last edits of a document deleted or replaced, "" if that is nothing, or a secret."""
        document = self._documents.get(key)
        return document.deleted if document is not None else ""

    def open(self, key: DocumentKey, lines: Sequence[str]) -> None:
        """Index a document, or index it anew. ``lines`` have no line ends."""
        self.close(key)
        index = self._indexes.setdefault(key[0], TokenIndex())
        self._documents[key] = DocumentRuns(index, self._tokenizer, key[1], lines)
        self._note_change(key)
        self._keep_budget(key)

    def settle(self, key: DocumentKey) -> None:
        """Free what edits of a document would need: it is not edited."""
        if key in self._documents:
            self._documents[key].settle()

    def edit(self, key: DocumentKey, edits: Sequence[LineEdit]) -> None:
        """Follow changes, in order. A document that is not (or no longer) in the index is left out."""
        document = self._touch(key)
        if document is None:
            return
        for edit in edits:
            document.edit(edit)
        self._note_change(key)
        self._keep_budget(key)

    def close(self, key: DocumentKey) -> None:
        """Take a document out, with all that its edits left."""
        document = self._documents.pop(key, None)
        if document is None:
            return
        del self._versions[key]
        document.remove()
        if all(client != key[0] for client, _ in self._documents):
            del self._indexes[key[0]]

    def close_client(self, client_id: str) -> None:
        """Close all documents of a client."""
        for key in [key for key in self._documents if key[0] == client_id]:
            self.close(key)

    def draft_text(self, key: DocumentKey, line: int) -> DraftText:
        """What to draft from for a completion in document ``key`` with the cursor in ``line`` (from 0)."""
        document = self._touch(key)
        replaced = document.replaced_at(line) if document else None
        index = self._indexes.get(key[0]) or TokenIndex()
        return DraftText(
            index, key[1], replaced, self._words(key[0]), self._analogies(key[0]), self._tokenizer
        )  # fmt: skip

    def _note_change(self, key: DocumentKey) -> None:
        self._num_changes += 1
        self._versions[key] = self._num_changes

    def _words(self, client_id: str) -> tuple[WordSwap, ...]:
        """Names under replacement, those of the document used last first; of several for one name the newest."""
        found: dict[str, WordSwap] = {}
        for (client, _), document in reversed(self._documents.items()):
            if client == client_id:
                for swap in document.words:
                    found.setdefault(swap[0], swap)
        return tuple(found.values())[:MAX_WORDS]

    def _analogies(self, client_id: str) -> tuple[PartSwap, ...]:
        """Those of the document used last first."""
        found: list[PartSwap] = []
        for (client, _), document in reversed(self._documents.items()):
            if client == client_id:
                found += document.analogies
        return tuple(found[: 4 * MAX_WORDS])

    def _touch(self, key: DocumentKey) -> DocumentRuns | None:
        document = self._documents.pop(key, None)
        if document is not None:
            self._documents[key] = document
        return document

    def _keep_budget(self, keep: DocumentKey) -> None:
        """Over the budget, leave out documents until a quarter of it is free, so that this is seldom needed."""
        if self.size_bytes <= max(self._budget_bytes, self._packed_bytes * 5 // 4):
            return
        while self.num_tokens * BYTES_PER_TOKEN > self._budget_bytes * 3 // 4 and len(self._documents) > 1:
            self.close(next(key for key in self._documents if key != keep))
        for index in self._indexes.values():
            index.pack()
        self._packed_bytes = self.size_bytes
