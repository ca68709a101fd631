"""A small synchronous client of the daemon, for the command line. Standard library only."""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from completiond import __version__, errors
from completiond.errors import CompletiondError, DaemonError, DaemonUnreachableError
from completiond.launch import DaemonStarter, try_connect
from completiond.lsp import wire
from completiond.paths import Paths

__all__ = ["STATUS_TIMEOUT_S", "Client", "connect"]

STATUS_TIMEOUT_S = 10.0
"""A daemon answers such questions in milliseconds, however busy its engine is; one that does not is stuck."""
_START_TIMEOUT_S = 60.0
_POLL_S = 0.02
_RECEIVE_BYTES = 65536


class Client:
    """A connection to the daemon that runs one request at a time. A context manager."""

    def __init__(self, connection: socket.socket, paths: Paths) -> None:
        self._connection = connection
        self._paths = paths
        self._ids = itertools.count(1)
        self._messages = self._receive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; the daemon then cancels what is still running for this client."""
        self._connection.close()

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        on_notification: Callable[[str, Any], None] | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Send a request and wait for its result; ``on_notification`` gets method and parameters of what comes before.

        ``timeout_s`` bounds each wait for the daemon. Raises the CompletiondError that the daemon raised, of the same
        class, or DaemonUnreachableError when the daemon goes away, and DaemonError for anything else that is not a
        result.
        """
        message_id = next(self._ids)
        request: wire.Json = {"jsonrpc": "2.0", "id": message_id, "method": method}
        if params is not None:
            request["params"] = params
        self._connection.settimeout(timeout_s)
        try:
            self._connection.sendall(wire.encode(request))
            for message in self._messages:
                if "method" not in message and message.get("id") == message_id:
                    if "error" in message:
                        raise _error(message["error"])
                    return message.get("result")
                if "id" not in message and on_notification is not None:
                    on_notification(str(message.get("method")), message.get("params"))
        except TimeoutError as error:
            raise DaemonUnreachableError(
                f"The daemon does not answer within {timeout_s:.0f} s.",
                "`completiond stop` ends it, by force if need be.",
            ) from error
        except OSError as error:
            raise self._gone() from error
        except ValueError as error:  # not JSON, or not framed
            raise DaemonError(f"The daemon's answer cannot be read: {error}.", "`completiond stop` ends it.") from error
        raise self._gone()

    def wait_until_closed(self, timeout_s: float) -> None:
        """Wait until the daemon has hung up, ``timeout_s`` at most."""
        self._connection.settimeout(timeout_s)
        with suppress(OSError):
            while self._connection.recv(_RECEIVE_BYTES):
                pass

    def _receive(self) -> Iterator[wire.Json]:
        parser = wire.FrameParser()
        while data := self._connection.recv(_RECEIVE_BYTES):
            for body in parser.feed(data):
                yield wire.parse(body)

    def _gone(self) -> DaemonUnreachableError:
        return DaemonUnreachableError(
            "The daemon went away before it answered.",
            f"Its log, if it runs in the background, is {self._paths.log_file}.",
        )


def connect(paths: Paths, *, start: bool, check_version: bool = True) -> Client:
    """Connect to the daemon; with ``start``, start one in the background if none runs.

    Raises DaemonUnreachableError if none runs and none is to be started, DaemonError if the runtime folder is not safe,
    if the daemon ends while it starts (with the last lines of its log), or if it is of another version than this
    package (unless ``check_version`` is False).
    """
    paths.make_runtime_dir()
    connection = _start(paths) if start else try_connect(paths)
    if connection is None:
        raise DaemonUnreachableError("No daemon is running.", "`completiond serve` starts one; so does an editor.")
    client = Client(connection, paths)
    if check_version:
        try:
            _check_version(client)
        except BaseException:
            client.close()
            raise
    return client


def _start(paths: Paths) -> socket.socket:
    starter = DaemonStarter(paths)
    try:
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline_s:
            if (connection := starter.poll()) is not None:
                return connection
            time.sleep(_POLL_S)
    finally:
        starter.disown()
    raise DaemonError(f"The daemon does not answer after {_START_TIMEOUT_S:.0f} s.", f"Look into {paths.log_file}.")


def _check_version(client: Client) -> None:
    running = client.call("completiond/status", timeout_s=STATUS_TIMEOUT_S).get("version")
    if running != __version__:
        raise DaemonError(
            f"The daemon that runs is version {running}, and this is version {__version__}.",
            "`completiond stop` ends it; the next command or editor starts the right one.",
        )


def _error(error: Any) -> CompletiondError:
    data = error.get("data") if isinstance(error, dict) else None
    if isinstance(data, dict):
        kind = getattr(errors, str(data.get("type")), None) if data.get("type") in errors.__all__ else None
        if kind is not None:
            raised: CompletiondError = kind(str(data.get("message")), str(data.get("advice")))
            return raised
    message = error.get("message") if isinstance(error, dict) else json.dumps(error)
    return DaemonError(f"The daemon failed: {message}.")
