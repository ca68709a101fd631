"""One language server per connection: thin handlers between LSP and the completion service."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from completiond import __version__
from completiond.complete.request import LineEdit
from completiond.config.settings import ClientSource
from completiond.logs import describe
from completiond.lsp import extensions
from completiond.lsp.documents import Snapshot
from completiond.lsp.host import Host
from completiond.lsp.inline import inline_completion
from completiond.lsp.items import completion_items
from completiond.lsp.line_edits import all_lines
from completiond.lsp.loading import LoadingReport
from completiond.lsp.protocol import CompletionProtocol
from completiond.lsp.settings_report import report_problems, watch_settings
from completiond.lsp.uris import path_of

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["STOPPING", "CompletionServer", "create_server"]

log = logging.getLogger(__name__)

STOPPING = "$/completiond/stopping"
"""Notification before the process ends on purpose: who restarts it otherwise need not, until it is wanted again."""


class CompletionServer(LanguageServer):
    """The state of one connection."""

    protocol: CompletionProtocol

    def __init__(self, host: Host, converter: Converter) -> None:
        super().__init__(
            "completiond", __version__, protocol_cls=CompletionProtocol, converter_factory=lambda: converter
        )
        self.host = host
        self.client_id = host.add_client(self._on_stop)
        self.client_name = ""
        """What the client calls itself; empty: it did not say ``initialize``."""
        self.is_at_work = False
        """Whether it has asked for more than how the daemon is."""
        self._loading: LoadingReport | None = None
        self._folders: list[str] = []

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong outside of a request. Never a popup, as pygls makes by default."""
        if not isinstance(error, JsonRpcException):  # those are answers that were meant
            log.error("%s: %s", getattr(source, "__name__", source), describe(error))

    def opened(self, document: Snapshot) -> None:
        """See sync.Follower."""
        lines, path = all_lines(document.text), path_of(document.uri)
        if self.host.settings is not None:  # for what is wrong with those of a repository, which is told at once
            self.host.settings.of_file(self.client_id, path, self._folders)
        self.host.service.open_document(self.client_id, document.uri, lines, path)

    def changed(self, uri: str, edits: Sequence[LineEdit]) -> None:
        """See sync.Follower."""
        self.host.service.edit_document(self.client_id, uri, edits)

    def closed(self, uri: str) -> None:
        """See sync.Follower."""
        self.host.service.close_document(self.client_id, uri)

    def on_client(self, name: str) -> None:
        """The client has said ``initialize``."""
        self.client_name, self.is_at_work = name, True

    def on_folders(self, uris: Sequence[str]) -> None:
        """The folders the editor has open are these."""
        self._folders = [path for path in map(path_of, uris) if path.startswith("/")]
        self.host.service.set_folders(self.client_id, list(self._folders))

    def on_settings(self, source: ClientSource, options: Any) -> None:
        """The editor's own settings are these now."""
        if self.host.settings is not None:
            self.host.settings.set_client(self.client_id, source, options)

    def on_watched_files(self) -> None:
        """Files that the editor watches for us have changed."""
        if self.host.settings is not None:
            self.host.settings.look(now=True)
            for document in self.protocol.documents:
                self.host.settings.of_file(self.client_id, path_of(document.uri), self._folders)

    def on_initialized(self) -> None:
        """Begin to tell the editor how the model loads (LSP 3.17 "Initialized Notification")."""
        if self._loading is None:
            self._loading = LoadingReport(self.protocol, self.host.service)
            if self.host.settings is not None:
                report_problems(self.protocol, self.host.settings, self.client_id)
                watch_settings(self.protocol, self.host.settings)

    def close(self) -> None:
        """Cancel what is running and forget the client."""
        self.protocol.cancel_requests()
        if self._loading is not None:
            self._loading.close()
        self.host.remove_client(self.client_id)

    def _on_stop(self) -> None:
        if self._loading is not None:  # an editor, or a shim
            self.protocol.notify(STOPPING)


def create_server(host: Host, converter: Converter) -> CompletionServer:
    """Return the server for a new connection."""
    server = CompletionServer(host, converter)
    server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())(inline_completion)
    server.feature(types.TEXT_DOCUMENT_COMPLETION)(completion_items)
    server.feature(extensions.COMPLETE)(extensions.complete)
    server.feature(extensions.STATUS)(extensions.status)
    server.feature(extensions.STOP)(extensions.stop)
    return server
