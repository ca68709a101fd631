"""``completiond lsp``: a language server that an editor starts, which is only a pipe to the daemon.

It starts fast, starts the daemon if none runs, and outlives it. Standard library only. One thread, one poll loop: it
sleeps unless there is something to read, and while it waits for a daemon to start.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import time
from collections.abc import Callable

from completiond.errors import DaemonError
from completiond.launch import DaemonStarter
from completiond.lsp.relay import Relay
from completiond.lsp.wire import FrameParser, FramingError
from completiond.paths import Paths

__all__ = ["run_shim"]

log = logging.getLogger(__name__)

_READ_BYTES = 65536
_WRITE_BYTES = 4096
"""How much can be written to a pipe that polls as writable without blocking: PIPE_BUF on Linux."""
_START_POLL_S = 0.02
_FIRST_BACK_OFF_S = 0.1
_LONGEST_BACK_OFF_S = 5.0
_FAILURES_BEFORE_MESSAGE = 3
_HEALTHY_S = 30.0
_FLUSH_S = 1.0


def run_shim(paths: Paths, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve the editor at the other ends of the two files until it says ``exit``, hangs up or dies.

    Returns the exit status of the process: 0 after ``shutdown`` and ``exit``, else 1 (LSP 3.17 "Exit Notification").
    """
    logging.basicConfig(format="completiond lsp: %(message)s")
    return _Shim(paths, stdin_fd, stdout_fd).run()


class _Shim:
    """The poll loop: the editor, the daemon, and the editor's process."""

    def __init__(self, paths: Paths, stdin_fd: int, stdout_fd: int) -> None:
        self._stdin_fd, self._stdout_fd = stdin_fd, stdout_fd
        self._editor_parser = FrameParser()
        self._to_editor = bytearray()
        self._editor_gone = False
        self._process_fd: int | None = None
        # Poll and not epoll, which refuses a standard input that is a file.
        self._selector = selectors.PollSelector()
        self._selector.register(stdin_fd, selectors.EVENT_READ, self._read_editor)
        self._link = _DaemonLink(paths, self._selector, self._on_daemon_body)
        self._relay = Relay(self._send_to_editor, self._link.send)
        self._link.relay = self._relay

    def run(self) -> int:
        """Return the exit status when the editor is done with us."""
        while self._relay.exit_status is None and not self._editor_gone:
            for key, mask in self._selector.select(self._link.step()):
                key.data(mask)
            self._watch_editor_process()
        self._link.close()
        deadline_s = time.monotonic() + _FLUSH_S
        while self._to_editor and not self._editor_gone and time.monotonic() < deadline_s:
            for key, mask in self._selector.select(_FLUSH_S):
                if key.fd == self._stdout_fd:
                    key.data(mask)
        return 1 if self._relay.exit_status is None else self._relay.exit_status

    def _read_editor(self, _mask: int) -> None:
        data = os.read(self._stdin_fd, _READ_BYTES)
        if not data:
            self._leave()
            return
        try:
            for body in self._editor_parser.feed(data):
                self._relay.from_editor(body)
                if self._relay.exit_status is not None:
                    return
        except FramingError as error:
            log.error("The editor's messages cannot be read: %s", error)
            self._leave()

    def _leave(self) -> None:
        self._editor_gone = True
        self._relay.exit_status = 0 if self._relay.shutdown_received else 1
        self._selector.unregister(self._stdin_fd)

    def _send_to_editor(self, data: bytes) -> None:
        if not self._to_editor and not self._editor_gone:
            self._selector.register(self._stdout_fd, selectors.EVENT_WRITE, self._write_editor)
        self._to_editor += data

    def _write_editor(self, _mask: int) -> None:
        try:
            num_written = os.write(self._stdout_fd, self._to_editor[:_WRITE_BYTES])
        except BlockingIOError:
            return
        except OSError:  # the editor does not read any more
            self._editor_gone = True
            num_written = len(self._to_editor)
        del self._to_editor[:num_written]
        if not self._to_editor:
            self._selector.unregister(self._stdout_fd)
