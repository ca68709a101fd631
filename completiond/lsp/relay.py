"""What the shim says to both sides: an editor that must not notice when daemons come and go, and the daemon of the day.

No input or output here. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from completiond import __version__
from completiond.lsp import sync, wire
from completiond.lsp.capabilities import choose_position_encoding, initialize_result
from completiond.lsp.configuration import DID_CHANGE_CONFIGURATION
from completiond.lsp.documents import DocumentStore
from completiond.lsp.folders import DID_CHANGE_FOLDERS, change_folders, folders_of
from completiond.lsp.stderr import warn

__all__ = ["Relay"]

_NOTHING: Final[dict[str, Any]] = {
    "textDocument/inlineCompletion": {"items": []},
    "textDocument/completion": {"isIncomplete": True, "items": []},
}
"""What is answered where there is no daemon, since an error would be a popup at each key."""

_STOPPING: Final = "$/completiond/stopping"
_INITIALIZE_ID: Final = "completiond shim: initialize"

# LSP 3.17 "ErrorCodes" and "MessageType"
_INVALID_REQUEST: Final = -32600
_REQUEST_CANCELLED: Final = -32800
_REQUEST_FAILED: Final = -32803
_LOG_ERROR: Final = 1
_LOG_WARNING: Final = 2
_MAX_WARNINGS: Final = 200

_Id = int | str


class Relay:
    """The conversation of one editor.

    Answers ``initialize`` and ``shutdown`` itself, passes everything else on, and knows what a new daemon must be told:
    the initialisation, and the open documents as they are now. Without a daemon, inline completion gets no items, and
    other requests wait for the next one or for the news that it could not be started.
    """

    def __init__(self, send_to_editor: Callable[[bytes], None]) -> None:
        """``send_to_editor`` takes framed messages."""
        self.exit_received = False
        self.shutdown_received = False
        self.editor_pid: int | None = None
        """The process that must not be outlived (LSP 3.17 "InitializeParams.processId")."""
        self.wants_daemon = False
        """Whether a daemon is of use now: from the first message on, but not after one was stopped on purpose."""
        self.num_answers = 0
        """Requests that daemons have answered."""
        self._send_to_editor = send_to_editor
        self._send_to_daemon: Callable[[bytes], None] | None = None  # None while there is no daemon
        self._initialize_params: Any = None
        self._initialize_seen = False
        self._initialized_seen = False
        self._documents = DocumentStore()
        self._pending: dict[_Id, str] = {}  # requests of the editor that the daemon has, by id: their methods
        self._waiting: dict[_Id, bytes] = {}  # requests of the editor for the next daemon: their bodies
        self._daemon_requests: set[_Id] = set()  # that the editor has not answered yet
        self._open_progress: set[_Id] = set()  # tokens of progress reports that have not ended
        self._version_told = False
        self._configuration: Any = None  # the parameters of the last change, for the next daemon
        self._warnings: set[str] = set()  # that were shown: the next daemon finds the same wrong with the same settings

    # The editor's messages

    def from_editor(self, body: bytes) -> None:
        """Take a message from the editor."""
        try:
            message = wire.parse(body)
        except ValueError as error:
            warn(f"Ignored what the editor sent: {error}")
            return
        method, message_id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if isinstance(message_id, _Id) and message_id in self._daemon_requests:
                self._daemon_requests.discard(message_id)
                self._pass_to_daemon(body)
        elif "id" not in message:
            self._notification(method, message.get("params"), body)
        elif isinstance(message_id, _Id):
            self._request(message_id, method, message.get("params"), body)
        else:
            self._fail(None, _INVALID_REQUEST, "The id of a request is a number or a string.")

    def _request(self, message_id: _Id, method: str, params: Any, body: bytes) -> None:
        if method == "shutdown":
            self.shutdown_received = True
            self.wants_daemon = False
            self._answer(message_id, None)
        elif self.shutdown_received:
            self._fail(message_id, _INVALID_REQUEST, "The client has asked for shutdown.")
        elif method == "initialize":
            self._initialize(message_id, params)
        else:
            self.wants_daemon = True
            if self._send_to_daemon is not None:
                self._pending[message_id] = method
                self._pass_to_daemon(body)
            elif method in _NOTHING:
                self._answer(message_id, _NOTHING[method])
            else:
                self._waiting[message_id] = body

    def _initialize(self, message_id: _Id, params: Any) -> None:
        params = params if isinstance(params, dict) else {}
        encoding = choose_position_encoding(params.get("capabilities"))
        self._answer(message_id, initialize_result(encoding, params.get("initializationOptions")))
        self._documents = DocumentStore(encoding)
        self._initialize_params, self._initialize_seen = params, True
        pid = params.get("processId")
        self.editor_pid = pid if isinstance(pid, int) and pid > 0 else None
        self.wants_daemon = True
        self._tell("initialize", params, _INITIALIZE_ID)

    def _notification(self, method: str, params: Any, body: bytes) -> None:
        if method == "exit":
            self.exit_received = True
            return
        if method == "initialized":
            self._initialized_seen = True
        elif method in sync.SYNC_METHODS:
            try:
                sync.apply(self._documents, method, params)
            except ValueError as error:
                warn(f"Malformed {method}: {error}")
        elif method == DID_CHANGE_CONFIGURATION:
            self._configuration = params
        elif method == DID_CHANGE_FOLDERS and self._initialize_seen:
            # The next daemon learns the folders from ``initialize``.
            folders = change_folders(folders_of(self._initialize_params), params)
            self._initialize_params = {**self._initialize_params, "rootUri": None, "workspaceFolders": folders}
        elif method == "$/cancelRequest":
            message_id = params.get("id") if isinstance(params, dict) else None
            if isinstance(message_id, _Id) and self._waiting.pop(message_id, None) is not None:
                self._fail(message_id, _REQUEST_CANCELLED, "Cancelled.")
                return
        self._pass_to_daemon(body)

    # The daemon's messages

    def from_daemon(self, body: bytes) -> None:
        """Take a message from the daemon. Raises ValueError for one that is not JSON."""
        message = wire.parse(body)
        method, message_id = message.get("method"), message.get("id")
        if method is None:
            if message_id == _INITIALIZE_ID:
                self._check_version(message.get("result"))
            elif isinstance(message_id, _Id) and self._pending.pop(message_id, None) is not None:
                self.num_answers += 1
                self._send_to_editor(wire.frame(body))
        elif method == _STOPPING:
            self.wants_daemon = False
        else:
            if message_id is not None:
                self._daemon_requests.add(message_id)
            elif method == "$/progress":
                self._note_progress(message.get("params"))
            elif method == "window/showMessage" and not self._is_first_warning(message.get("params")):
                return
            self._send_to_editor(wire.frame(body))

    def _note_progress(self, params: Any) -> None:
        match params:
            case {"token": int() | str() as token, "value": {"kind": "begin"}}:
                self._open_progress.add(token)
            case {"token": int() | str() as token, "value": {"kind": "end"}}:
                self._open_progress.discard(token)

    def _is_first_warning(self, params: Any) -> bool:
        text = str(params.get("message")) if isinstance(params, dict) else ""
        is_first = text not in self._warnings
        if len(self._warnings) >= _MAX_WARNINGS:
            self._warnings.clear()
        self._warnings.add(text)
        return is_first

    def _check_version(self, result: Any) -> None:
        match result:
            case {"serverInfo": {"version": running}} if running != __version__ and not self._version_told:
                self._version_told = True
                self.log_to_editor(
                    f"completiond: the daemon that runs is version {running}, and this is version {__version__}."
                    " `completiond stop` ends it.",
                    _LOG_WARNING,
                )

    # Daemons come and go

    def link_up(self, send_to_daemon: Callable[[bytes], None]) -> None:
        """A daemon is connected: tell it all that the one before knew. ``send_to_daemon`` takes framed messages."""
        self._send_to_daemon = send_to_daemon
        if self._initialize_seen:
            self._tell("initialize", self._initialize_params, _INITIALIZE_ID)
        if self._initialized_seen:
            self._tell("initialized", {})
        if self._configuration is not None:
            self._tell(DID_CHANGE_CONFIGURATION, self._configuration)
        for document in self._documents:
            self._tell(sync.DID_OPEN, sync.did_open_params(document))
        for message_id, body in self._waiting.items():
            self._pending[message_id] = wire.parse(body)["method"]
            self._pass_to_daemon(body)
        self._waiting.clear()

    def link_down(self) -> None:
        """The daemon has gone: end what it leaves open."""
        self._send_to_daemon = None
        for message_id, method in self._pending.items():
            if method in _NOTHING:
                self._answer(message_id, None)
            else:
                self._fail(message_id, _REQUEST_FAILED, "The completion daemon ended before it answered.")
        self._pending.clear()
        self._daemon_requests.clear()
        for token in self._open_progress:
            value = {"kind": "end", "message": "The completion daemon ended"}
            self._send_to_editor(
                wire.encode({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": value}})
            )
        self._open_progress.clear()

    def start_failed(self, reason: str) -> None:
        """No daemon could be started this time: answer the requests that wait for it."""
        for message_id in self._waiting:
            self._fail(message_id, _REQUEST_FAILED, reason)
        self._waiting.clear()

    def log_to_editor(self, message: str, kind: int = _LOG_ERROR) -> None:
        """Write a line in the editor's log (LSP 3.17 "window/logMessage")."""
        params = {"type": kind, "message": message}
        self._send_to_editor(wire.encode({"jsonrpc": "2.0", "method": "window/logMessage", "params": params}))

    def _answer(self, message_id: _Id, result: object) -> None:
        self._send_to_editor(wire.encode(wire.response(message_id, result)))

    def _fail(self, message_id: _Id | None, code: int, message: str) -> None:
        self._send_to_editor(wire.encode(wire.error_response(message_id, code, message)))

    def _tell(self, method: str, params: Any, message_id: _Id | None = None) -> None:
        message: wire.Json = {"jsonrpc": "2.0", "method": method, "params": params}
        if message_id is not None:
            message["id"] = message_id
        if self._send_to_daemon is not None:
            self._send_to_daemon(wire.encode(message))

    def _pass_to_daemon(self, body: bytes) -> None:
        if self._send_to_daemon is not None:
            self._send_to_daemon(wire.frame(body))
