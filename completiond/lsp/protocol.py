"""pygls's protocol object, without what does not suit a daemon that serves many editors.

What differs: our own document store in place of pygls's workspace; a request sees the text as it was when the request
arrived; a malformed request is answered; requests after ``shutdown`` are answered; ``exit`` ends the connection and
not the process; nothing of a message is logged.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from completiond.logs import describe
from completiond.lsp import sync, wire
from completiond.lsp.capabilities import choose_position_encoding, initialize_result
from completiond.lsp.client_name import client_name
from completiond.lsp.configuration import DID_CHANGE_CONFIGURATION, pulls_configuration
from completiond.lsp.documents import DocumentStore, Position, Snapshot
from completiond.lsp.folders import DID_CHANGE_FOLDERS, Folder, change_folders, folders_of

if TYPE_CHECKING:
    from cattrs import Converter

    from completiond.lsp.server import CompletionServer

__all__ = ["CompletionProtocol", "InlineCompletionCall", "ItemsCall"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InlineCompletionCall:
    """A request for inline completion and the document as it was when the request arrived; None if it is not open."""

    params: types.InlineCompletionParams
    document: Snapshot | None


@dataclass(frozen=True, slots=True)
class ItemsCall:
    """A request for completion items, as above; None: there is no such document, or no position."""

    document: Snapshot | None
    position: Position | None

    @classmethod
    def from_json(cls, params: Any, documents: DocumentStore) -> ItemsCall:
        """Read ``CompletionParams``. What is malformed is no error: this comes with each key."""
        match params:
            case {"textDocument": {"uri": str() as uri}, "position": {"line": int() as line, "character": int() as at}}:
                return cls(documents.get(uri), Position(line, at))
        return cls(None, None)


@dataclass(frozen=True, slots=True)
class _Malformed:
    """A message that is not what its method, or JSON-RPC, asks for."""

    message_id: object
    method: object


class CompletionProtocol(LanguageServerProtocol):
    """One client's side of the conversation."""

    _server: CompletionServer

    def __init__(self, server: CompletionServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.documents = DocumentStore()
        self._folders: list[Folder] = []
        self.client_capabilities_json: wire.Json = {}
        self._pulling: asyncio.Task[None] | None = None  # the loop itself keeps no task alive
        self.ended = threading.Event()  # pygls's reading loop wants a threading.Event; nobody waits for it

    @property
    def shutdown_received(self) -> bool:
        """True after ``shutdown``: then ``exit`` means success (LSP 3.17 "Exit Notification")."""
        return self._shutdown

    # What comes in

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """Return the class of messages whose parameters are structured; all others stay plain JSON.

        Not cached as in pygls, whose cache keeps closed connections, and their documents, in memory.
        """
        return types.InlineCompletionRequest if method == types.TEXT_DOCUMENT_INLINE_COMPLETION else None

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """Return None: the few answers of clients are not looked into."""
        return None

    def structure_message(self, data: wire.Json) -> Any:
        """Turn a JSON object into a message; objects inside of messages stay as they are."""
        if "jsonrpc" not in data:
            return data
        method = data.get("method")
        try:
            if data["jsonrpc"] != self.VERSION or not isinstance(data.get("id", 0), int | str):
                return _Malformed(data.get("id"), method)
            if not isinstance(method, str) or self.get_message_type(method):
                return super().structure_message(data)
        except JsonRpcException:
            return _Malformed(data.get("id"), method)
        if "id" in data:
            return JsonRPCRequestMessage(data["id"], method, self.VERSION, data.get("params"))
        return JsonRPCNotification(method, self.VERSION, data.get("params"))

    def handle_message(self, message: Any) -> None:
        """Dispatch a message; whatever it is, a request gets an answer."""
        if isinstance(message, dict):  # no "jsonrpc" member
            message = _Malformed(message.get("id"), message.get("method"))
        if isinstance(message, _Malformed):
            self._answer_malformed(message)
        elif self._shutdown and isinstance(message, JsonRPCRequestMessage | types.InlineCompletionRequest):
            error = JsonRpcInvalidRequest("the client has asked for shutdown")
            self._send_response(message.id, error=error.to_response_error())
        else:
            super().handle_message(message)

    def _answer_malformed(self, message: _Malformed) -> None:
        method = message.method if isinstance(message.method, str) else None
        log.warning("Malformed message, method %.80r", method)
        if method is None or not isinstance(message.message_id, int | str):
            return  # not a request
        if method == types.TEXT_DOCUMENT_INLINE_COMPLETION:
            # VS Code shows a popup for any error on this path.
            self._send_response(message.message_id, types.InlineCompletionList(items=[]))
        else:
            self._send_response(message.message_id, error=JsonRpcInvalidParams().to_response_error())

    def _handle_request(self, msg_id: int | str, method_name: str, params: Any) -> None:
        # Handlers are tasks, and start after the messages that came in the same packet. So the text is taken now.
        if isinstance(params, types.InlineCompletionParams):
            self._server.host.counters.requests += 1
            params = InlineCompletionCall(params, self.documents.get(params.text_document.uri))
        elif method_name == types.TEXT_DOCUMENT_COMPLETION:
            self._server.host.counters.requests += 1
            params = ItemsCall.from_json(params, self.documents)
        super()._handle_request(msg_id, method_name, params)

    def _handle_notification(self, method_name: str, params: Any) -> None:
        if method_name == types.CANCEL_REQUEST:
            message_id = params.get("id") if isinstance(params, dict) else None
            if isinstance(message_id, int | str):
                self._handle_cancel_notification(message_id)
            return
        super()._handle_notification(method_name, params)

    # What goes out

    def _send_data(self, data: Any) -> None:
        writer = self.writer
        if not isinstance(writer, asyncio.StreamWriter) or writer.is_closing():
            return  # the client has gone; nobody waits for this
        writer.write(wire.encode(self._serialize_message(data)))

    # Methods that pygls has built in

    def _register_builtin_features(self) -> None:
        builtin: dict[str, Callable[[Any], Any]] = {
            types.INITIALIZE: self._initialize,
            types.INITIALIZED: self._initialized,
            DID_CHANGE_FOLDERS: lambda params: self._set_folders(change_folders(self._folders, params)),
            DID_CHANGE_CONFIGURATION: self._change_configuration,
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda _params: self._server.on_watched_files(),
            types.SHUTDOWN: self._shut_down,
            types.EXIT: self._exit,
            types.SET_TRACE: self._ignore,
            types.TEXT_DOCUMENT_DID_OPEN: lambda params: self._sync(sync.DID_OPEN, params),
            types.TEXT_DOCUMENT_DID_CHANGE: lambda params: self._sync(sync.DID_CHANGE, params),
            types.TEXT_DOCUMENT_DID_CLOSE: lambda params: self._sync(sync.DID_CLOSE, params),
        }
        for method, handler in builtin.items():
            self.fm.add_builtin_feature(method, handler)

    def _initialize(self, params: Any) -> wire.Json:
        capabilities = params.get("capabilities") if isinstance(params, dict) else None
        self.client_capabilities_json = capabilities if isinstance(capabilities, dict) else {}
        self.documents = DocumentStore(choose_position_encoding(capabilities))
        self._server.on_client(client_name(params))
        options = params.get("initializationOptions") if isinstance(params, dict) else None
        if isinstance(params, dict):
            self._server.on_settings("initializationOptions", options)
        self._set_folders(folders_of(params))
        return initialize_result(self.documents.encoding, options)

    def _set_folders(self, folders: list[Folder]) -> None:
        self._folders = folders
        self._server.on_folders([folder["uri"] for folder in folders])

    def _initialized(self, _params: Any) -> None:
        self._server.on_initialized()

    def _change_configuration(self, params: Any) -> None:
        settings = params.get("settings") if isinstance(params, dict) else None
        if settings is None and pulls_configuration(self.client_capabilities_json):
            self._pulling = asyncio.ensure_future(self._pull_configuration())
        else:
            self._server.on_settings("didChangeConfiguration", settings)

    async def _pull_configuration(self) -> None:
        """Ask for what has changed (LSP 3.17 "Configuration Request"): some editors do not send it by themselves."""
        try:
            answer = await self.send_request_async(
                types.WORKSPACE_CONFIGURATION,
                types.ConfigurationParams(items=[types.ConfigurationItem(section="completiond")]),
            )
        except JsonRpcException as error:
            log.info("The client refused to tell its settings: error %d", error.code)
            return
        found = answer[0] if isinstance(answer, list) and answer else None
        self._server.on_settings("didChangeConfiguration", {"completiond": found})

    def _shut_down(self, _params: Any) -> None:
        self.cancel_requests()
        self._shutdown = True

    def _exit(self, _params: Any) -> None:
        self.ended.set()

    def _ignore(self, _params: Any) -> None:
        pass

    def _sync(self, method: str, params: Any) -> None:
        try:
            sync.apply(self.documents, method, params, self._server)
        except ValueError as error:
            log.warning("Ignored a malformed %s: %s", method, error)

    # The end of requests

    def cancel_requests(self) -> None:
        """Cancel all that the client has asked for and that has not been answered, and what it was asked."""
        if self._pulling is not None:
            self._pulling.cancel()
        for future in tuple(self._request_futures.values()):
            future.cancel()

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        if future.cancelled():
            self._server.host.counters.cancelled += 1
        elif (error := future.exception()) and not isinstance(error, JsonRpcException):
            log.error("Request failed: %s", describe(error))
        super()._send_handler_result(future, msg_id=msg_id)
