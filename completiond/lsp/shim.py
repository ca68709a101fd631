"""``completiond lsp``: a language server that an editor starts, which is only a pipe to the daemon.

It starts fast, starts the daemon if none runs, and outlives it. Standard library only. One thread, one poll loop: it
sleeps unless there is something to read, or a daemon is starting.
"""

from __future__ import annotations

import os
import selectors
import time

from completiond.lsp.link import DaemonLink
from completiond.lsp.relay import Relay
from completiond.lsp.stderr import warn
from completiond.lsp.wire import FrameParser, FramingError
from completiond.paths import Paths

__all__ = ["run_shim"]

_READ_BYTES = 65536
_WRITE_BYTES = 4096  # a pipe that polls as writable takes this much without blocking (PIPE_BUF on Linux)
_FLUSH_S = 1.0


def run_shim(paths: Paths, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve the editor at the other ends of the two files until it says ``exit``, hangs up or dies.

    Returns the exit status of the process: 0 after ``shutdown``, else 1 (LSP 3.17 "Exit Notification").
    """
    return _Shim(paths, stdin_fd, stdout_fd).run()


class _Shim:
    """The poll loop: the editor, its process, and the daemon."""

    def __init__(self, paths: Paths, stdin_fd: int, stdout_fd: int) -> None:
        self._stdin_fd, self._stdout_fd = stdin_fd, stdout_fd
        self._from_editor = FrameParser()
        self._to_editor = bytearray()
        self._editor_gone = False
        self._watched_pid: int | None = None
        # Poll and not epoll, which refuses a standard input that is a file.
        self._selector = selectors.PollSelector()
        self._selector.register(stdin_fd, selectors.EVENT_READ, self._read_editor)
        self._relay = Relay(self._send_to_editor)
        self._link = DaemonLink(paths, self._selector, self._relay)

    def run(self) -> int:
        """Return the exit status, when the editor is done with us."""
        while not self._relay.exit_received and not self._editor_gone:
            for key, mask in self._selector.select(self._link.step()):
                key.data(mask)
            self._watch_editor_process()
        self._link.close()
        self._flush()
        return 0 if self._relay.shutdown_received else 1

    def _read_editor(self, _mask: int) -> None:
        data = os.read(self._stdin_fd, _READ_BYTES)
        if not data:
            self._editor_gone = True
            return
        try:
            for body in self._from_editor.feed(data):
                self._relay.from_editor(body)
                if self._relay.exit_received:
                    return
        except FramingError as error:
            warn(f"The editor's messages cannot be read: {error}")
            self._editor_gone = True

    def _send_to_editor(self, data: bytes) -> None:
        if not self._to_editor:
            self._selector.register(self._stdout_fd, selectors.EVENT_WRITE, self._write_editor)
        self._to_editor += data

    def _write_editor(self, _mask: int) -> None:
        try:
            num_bytes = os.write(self._stdout_fd, self._to_editor[:_WRITE_BYTES])
        except BlockingIOError:
            return
        except OSError:  # nobody reads any more
            self._editor_gone = True
            num_bytes = len(self._to_editor)
        del self._to_editor[:num_bytes]
        if not self._to_editor:
            self._selector.unregister(self._stdout_fd)

    def _flush(self) -> None:
        self._selector.unregister(self._stdin_fd)
        deadline_s = time.monotonic() + _FLUSH_S
        while self._to_editor and (left_s := deadline_s - time.monotonic()) > 0:
            for key, mask in self._selector.select(left_s):
                key.data(mask)

    def _watch_editor_process(self) -> None:
        """Wake up when the editor's process ends, even if another process keeps our standard input open (Linux)."""
        pid = self._relay.editor_pid
        if pid is None or pid == self._watched_pid or not hasattr(os, "pidfd_open"):
            return
        self._watched_pid = pid
        try:
            process_fd = os.pidfd_open(pid)
        except OSError as error:  # the editor runs in another container, perhaps
            warn(f"Cannot watch process {pid}: {error.strerror}")
            return
        self._selector.register(process_fd, selectors.EVENT_READ, self._editor_died)

    def _editor_died(self, _mask: int) -> None:
        self._editor_gone = True
