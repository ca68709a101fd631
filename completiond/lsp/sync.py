"""Text synchronisation: from ``textDocument/did…`` notifications, as they are in the message, to a document store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from completiond.complete.request import LineEdit
from completiond.lsp.documents import Change, DocumentStore, Snapshot
from completiond.lsp.line_edits import line_edits

__all__ = ["DID_CHANGE", "DID_CLOSE", "DID_OPEN", "SYNC_METHODS", "Follower", "apply", "did_open_params"]

DID_OPEN: Final = "textDocument/didOpen"
DID_CHANGE: Final = "textDocument/didChange"
DID_CLOSE: Final = "textDocument/didClose"
SYNC_METHODS: Final = frozenset({DID_OPEN, DID_CHANGE, DID_CLOSE})


class Follower(Protocol):
    """Told of what happens to the text of documents, line by line."""

    def opened(self, document: Snapshot) -> None:
        """A document was opened, or all of its text replaced."""

    def changed(self, uri: str, edits: Sequence[LineEdit]) -> None:
        """Lines of a document were replaced, in this order."""

    def closed(self, uri: str) -> None:
        """A document was closed."""


def apply(documents: DocumentStore, method: str, params: object, follower: Follower | None = None) -> None:
    """Bring ``documents`` up to date with one notification (LSP 3.17 "Text Document Synchronization").

    Raises ValueError, with nothing of the text in it, for parameters that are not those of ``method``. After such a
    ``didChange`` the document counts as closed: nothing is known of its text any more.
    """
    document = _member(params, "textDocument", Mapping)
    uri: str = _member(document, "uri", str)
    if method == DID_OPEN:
        language_id = document.get("languageId")
        opened = documents.open(
            uri,
            language_id if isinstance(language_id, str) else "",
            _version(document),
            _member(document, "text", str),
        )
        if follower is not None:
            follower.opened(opened)
    elif method == DID_CHANGE:
        try:
            changes = [_change(value) for value in _member(params, "contentChanges", list)]
        except ValueError:
            _close(documents, uri, follower)
            raise
        before = documents.get(uri)
        after = documents.change(uri, _version(document), changes)
        if follower is not None and before is not None and after is not None:
            edits = line_edits(before.text, changes)
            follower.opened(after) if edits is None else follower.changed(uri, edits)
    elif method == DID_CLOSE:
        _close(documents, uri, follower)


def _close(documents: DocumentStore, uri: str, follower: Follower | None) -> None:
    documents.close(uri)
    if follower is not None:
        follower.closed(uri)


def did_open_params(document: Snapshot) -> dict[str, Any]:
    """Return the parameters of the ``didOpen`` that hands over ``document`` as it is now."""
    return {
        "textDocument": {
            "uri": document.uri,
            "languageId": document.language_id,
            "version": document.version,
            "text": document.text.slice(0, document.text.num_chars),
        }
    }


def _change(value: object) -> Change:
    if not isinstance(value, Mapping):
        raise ValueError("content change: not an object")
    return Change.from_json(value)


def _version(document: Mapping[str, Any]) -> int:
    # Some clients leave it out or send null, as older versions of the protocol allowed.
    version = document.get("version")
    return version if isinstance(version, int) else 0


def _member(value: object, name: str, kind: type) -> Any:
    member = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(member, kind):
        raise ValueError(f"{name} is missing or of the wrong kind")
    return member
