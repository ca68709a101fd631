"""Finds the daemon or starts it in the background. Standard library only: the shim imports it."""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from completiond.errors import DaemonError
from completiond.log_line import LogLine
from completiond.paths import Paths

if TYPE_CHECKING:
    import subprocess

__all__ = ["SERVE_COMMAND_VARIABLE", "DaemonStarter", "try_connect"]

SERVE_COMMAND_VARIABLE = "COMPLETIOND_SERVE_COMMAND"
"""Names the command, quoted as for a shell, that serves in place of ``completiond serve``."""

_MAX_LOG_BYTES = 1_000_000
_SHOWN_LOG_LINES = 5
_SHOWN_LOG_BYTES = 4096


def try_connect(paths: Paths) -> socket.socket | None:
    """Return a connection to the daemon, or None if none listens. Does not wait.

    Call ``paths.make_runtime_dir`` before, so as not to talk to a socket that somebody else has planted.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(str(paths.socket))
        connection.setblocking(True)
    except OSError:  # no socket, nobody listens, a full backlog, a path that is too long
        connection.close()
        return None
    return connection


class DaemonStarter:
    """Connects to the daemon, and starts one if none runs, step by step for a caller that cannot wait."""

    def __init__(self, paths: Paths, environment: Mapping[str, str] = os.environ) -> None:
        self._paths = paths
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start_bytes = 0
        self._launch_lock_fd: int | None = None

    def poll(self) -> socket.socket | None:
        """Return a connection, or None while the daemon starts: call again soon.

        After a connection was lost, further calls make the next one; a daemon on its way out is no hindrance, since
        the new one waits for its lock. Raises DaemonError when the runtime folder is not safe, or when the daemon
        cannot be started or ends while starting; the next call then tries again.
        """
        try:
            return self._poll()
        except OSError as error:
            self._release_launch_lock()
            raise DaemonError(f"Cannot start the daemon: {error}.") from error

    def _poll(self) -> socket.socket | None:
        self._paths.make_runtime_dir()
        if (connection := try_connect(self._paths)) is not None:
            self._release_launch_lock()
            return connection
        if self._launch_lock_fd is not None:  # we are starting one
            if self._process is not None and (status := self._process.poll()) is not None:
                self._process = None
                self._release_launch_lock()
                raise self._start_error(status)
        elif self._take_launch_lock():
            if (connection := try_connect(self._paths)) is not None:  # who had the launch lock has started one
                self._release_launch_lock()
                return connection
            self._process = self._spawn()
        return None

    def disown(self) -> None:
        """Let the daemon that was started outlive this object without a warning."""
        self._release_launch_lock()
        if self._process is not None and self._process.poll() is None:
            self._process.returncode = 0  # else Popen warns, when it is deleted, of a process still running
        self._process = None

    def _command(self) -> list[str]:
        if command := self._environment.get(SERVE_COMMAND_VARIABLE):
            return shlex.split(command)
        return [sys.executable, "-m", "completiond", "serve"]

    def _spawn(self) -> subprocess.Popen[bytes]:
        import subprocess  # not needed, and slow to import, when a daemon runs already

        log_file = self._paths.log_file
        with suppress(FileNotFoundError):
            if log_file.stat().st_size > _MAX_LOG_BYTES:
                log_file.replace(log_file.with_suffix(".old.log"))
        environment = {
            **self._environment,
            # As absolute as they are here, since the daemon runs in another folder.
            "COMPLETIOND_CACHE_DIR": str(self._paths.cache_dir),
            "COMPLETIOND_CONFIG_DIR": str(self._paths.config_dir),
            "COMPLETIOND_RUNTIME_DIR": str(self._paths.runtime_dir),
            "COMPLETIOND_STATE_DIR": str(self._paths.state_dir),
        }
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(log_file, flags, 0o600), "ab") as log:
            self._log_start_bytes = log.tell()
            return subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                # `python -m` looks for modules in the working folder first: not in a project that is being edited.
                cwd=self._paths.runtime_dir,
                start_new_session=True,  # the editor's terminal does not end it
            )

    def _start_error(self, status: int) -> DaemonError:
        log_file = self._paths.log_file
        try:
            with log_file.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start_bytes, end - _SHOWN_LOG_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError as error:
            lines = [f"(no log: {error})"]
        how = f"status {status}" if status >= 0 else f"signal {-status}"
        said = " | ".join(" ".join(LogLine.parse(line).message.split()) for line in lines[-_SHOWN_LOG_LINES:])
        return DaemonError(
            f"The daemon ended while it started ({how}); its last words: {said or '(nothing)'}",
            f"All of its log is in {log_file}; `completiond serve` starts one in this terminal.",
        )

    def _take_launch_lock(self) -> bool:
        """Of several that find no daemon at the same time, one starts it."""
        file = self._paths.lock.with_name("launch.lock")
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._launch_lock_fd = fd
        return True

    def _release_launch_lock(self) -> None:
        if self._launch_lock_fd is not None:
            os.close(self._launch_lock_fd)
            self._launch_lock_fd = None
