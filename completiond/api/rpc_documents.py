"""The documents of one connection, and what the service is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from completiond.api.rpc_params import ChangeParams, CompleteParams, EditParams, OpenParams
from completiond.complete.service_protocol import Service
from completiond.errors import UsageError
from completiond.lsp.documents import Change, DocumentStore, Position, PositionEncoding, Snapshot
from completiond.lsp.line_edits import all_lines, line_edits
from completiond.lsp.uris import path_of

__all__ = ["MAX_DOCUMENTS", "RpcDocuments"]

MAX_DOCUMENTS: Final = 1000
"""Open documents of one connection."""


class RpcDocuments:
    """Texts by the names that the client gives them."""

    def __init__(self, service: Service, client_id: str, on_open: Callable[[str], None]) -> None:
        """``on_open`` is called with the path of each document that is opened."""
        self._service = service
        self._client_id = client_id
        self._on_open = on_open
        self._store = DocumentStore("utf-8")
        self._paths: dict[str, str] = {}

    @property
    def encoding(self) -> PositionEncoding:
        """What ``character`` counts."""
        return self._store.encoding

    def set_encoding(self, encoding: PositionEncoding) -> None:
        """Count in ``encoding``. Raises UsageError if documents are open that are counted in another."""
        if encoding == self.encoding:
            return
        if len(self._store):
            raise UsageError("The encoding cannot change while documents are open.", "Say hello first.")
        self._store = DocumentStore(encoding)

    def open(self, params: OpenParams) -> None:
        """Take over a document, in the place of one that has the same name. Raises UsageError for too many."""
        name = params.document
        if self._store.get(name) is None and len(self._store) >= MAX_DOCUMENTS:
            raise UsageError(f"{MAX_DOCUMENTS} documents are open.", "Close some that are not edited.")
        path = path_of(params.path if params.path is not None else name)
        self._paths[name] = path
        document = self._store.open(name, params.language, params.version, params.text)
        self._on_open(path)
        self._service.open_document(self._client_id, name, all_lines(document.text), path)

    def change(self, params: ChangeParams) -> None:
        """Make edits. Raises UsageError for a document that is not open."""
        self._change(self._get(params.document), params.edits, params.version)

    def close(self, name: str) -> None:
        """Forget a document; one that is not open is no mistake."""
        self._store.close(name)
        self._paths.pop(name, None)
        self._service.close_document(self._client_id, name)

    def place(self, params: CompleteParams) -> tuple[Snapshot, str, Position]:
        """Make the edits that came with a request and return its document, path and position.

        Raises UsageError for a document that is not open, or that is at another version.
        """
        assert params.document is not None
        assert params.position is not None
        document = self._get(params.document)
        version = document.version if params.version is None else params.version
        if params.edits:
            document = self._change(document, params.edits, version)
        elif version != document.version:
            raise UsageError(
                f"The document is at version {document.version}, not {version}.", "Send its changes first."
            )
        return document, self._paths[params.document], Position(params.position.line, params.position.character)

    def _get(self, name: str) -> Snapshot:
        document = self._store.get(name)
        if document is None:
            raise UsageError("The document is not open.", "Send open first, with its text.")
        return document

    def _change(self, before: Snapshot, edits: Sequence[EditParams], version: int) -> Snapshot:
        changes = [_change_of(edit) for edit in edits]
        after = self._store.change(before.uri, version, changes)
        assert after is not None, "it is open"
        told = line_edits(before.text, changes)
        if told is None:
            path = self._paths[before.uri]
            self._service.open_document(self._client_id, before.uri, all_lines(after.text), path)
        else:
            self._service.edit_document(self._client_id, before.uri, told)
        return after


def _change_of(edit: EditParams) -> Change:
    if edit.range is None:
        return Change(None, None, edit.text)
    start, end = edit.range.start, edit.range.end
    return Change(Position(start.line, start.character), Position(end.line, end.character), edit.text)
