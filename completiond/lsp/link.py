"""The shim's connection to the daemon, made again whenever it breaks. Standard library only."""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING

from completiond.errors import DaemonError
from completiond.launch import DaemonStarter
from completiond.lsp.relay import Relay
from completiond.lsp.stderr import warn
from completiond.lsp.wire import FrameParser
from completiond.paths import Paths

if TYPE_CHECKING:
    import socket

__all__ = ["DaemonLink"]

_READ_BYTES = 65536
_FIRST_POLL_S = 0.02
_LONGEST_POLL_S = 0.25
_FIRST_BACK_OFF_S = 0.1
_LONGEST_BACK_OFF_S = 5.0
_FAILURES_BEFORE_MESSAGE = 3
_HEALTHY_S = 30.0


class DaemonLink:
    """Starts or finds a daemon whenever ``relay`` wants one, and carries the relay's messages.

    After a failure it waits 0.1 s, twice as long after each further one, 5 s at most. Three failures in a row are told
    to the editor once. A daemon that has answered a request, or lived for 30 s, ends the row.
    """

    def __init__(self, paths: Paths, selector: selectors.BaseSelector, relay: Relay) -> None:
        self._paths = paths
        self._selector = selector
        self._relay = relay
        self._starter = DaemonStarter(paths)
        self._connection: socket.socket | None = None
        self._parser = FrameParser()
        self._outgoing = bytearray()
        self._next_attempt_s = 0.0
        self._poll_s = _FIRST_POLL_S
        self._num_failures = 0
        self._connected_s = 0.0
        self._num_answers_before = 0

    def step(self) -> float | None:
        """Go on connecting, if a daemon is wanted; return the seconds until the next step, None if there is none."""
        if self._connection is None and self._relay.wants_daemon:
            if time.monotonic() >= self._next_attempt_s:
                self._attempt()
            if self._connection is None:
                return max(0.0, self._next_attempt_s - time.monotonic())
        return None

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._selector.unregister(self._connection)
            self._connection.close()
            self._connection = None
        self._starter.disown()

    def _attempt(self) -> None:
        try:
            connection = self._starter.poll()
        except DaemonError as error:
            self._relay.start_failed(str(error))
            self._failed(str(error))
            return
        if connection is None:
            self._next_attempt_s = time.monotonic() + self._poll_s
            self._poll_s = min(1.1 * self._poll_s, _LONGEST_POLL_S)
            return
        connection.setblocking(False)
        self._poll_s = _FIRST_POLL_S
        self._connection, self._parser, self._outgoing = connection, FrameParser(), bytearray()
        self._connected_s, self._num_answers_before = time.monotonic(), self._relay.num_answers
        self._selector.register(connection, selectors.EVENT_READ, self._on_ready)
        self._relay.link_up(self._send)

    def _failed(self, reason: str) -> None:
        warn(reason)
        self._num_failures += 1
        back_off_s = min(_FIRST_BACK_OFF_S * 2 ** min(self._num_failures - 1, 10), _LONGEST_BACK_OFF_S)
        self._next_attempt_s = time.monotonic() + back_off_s
        self._poll_s = _FIRST_POLL_S
        if self._num_failures == _FAILURES_BEFORE_MESSAGE:
            self._relay.log_to_editor(
                f"completiond: {reason} No completions until this is solved; trying on. The log is"
                f" {self._paths.log_file}; `completiond serve` shows the same in a terminal."
            )

    def _send(self, data: bytes) -> None:
        if not self._outgoing and self._connection is not None:
            self._selector.modify(self._connection, selectors.EVENT_READ | selectors.EVENT_WRITE, self._on_ready)
        self._outgoing += data

    def _on_ready(self, mask: int) -> None:
        connection = self._connection
        assert connection is not None
        try:
            if mask & selectors.EVENT_WRITE:
                self._write(connection)
            if mask & selectors.EVENT_READ:
                self._read(connection)
        except BlockingIOError:
            pass
        except (OSError, EOFError, ValueError) as error:
            self._lost(connection, error)

    def _write(self, connection: socket.socket) -> None:
        del self._outgoing[: connection.send(self._outgoing)]
        if not self._outgoing:
            self._selector.modify(connection, selectors.EVENT_READ, self._on_ready)

    def _read(self, connection: socket.socket) -> None:
        data = connection.recv(_READ_BYTES)
        if not data:
            raise EOFError("it hung up")
        for body in self._parser.feed(data):
            self._relay.from_daemon(body)

    def _lost(self, connection: socket.socket, error: Exception) -> None:
        self._selector.unregister(connection)
        connection.close()
        self._connection = None
        self._relay.link_down()
        alive_s = time.monotonic() - self._connected_s
        if self._relay.num_answers > self._num_answers_before or alive_s > _HEALTHY_S:
            self._num_failures = 0
        if self._relay.wants_daemon:
            self._failed(f"The connection to the daemon broke: {error}.")
