"""The lock file that one daemon holds for as long as it lives. Standard library only."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from completiond.errors import DaemonRunningError
from completiond.paths import Paths

__all__ = ["InstanceLock", "holder_pid"]

_RETRY_S = 0.05


class InstanceLock:
    """An exclusive lock (flock) on a file with the holder's process id in it; freed by the system if need be."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._fd: int | None = None

    def acquire(self, is_serving: Callable[[], bool], timeout_s: float = 5.0) -> None:
        """Take the lock; wait up to ``timeout_s`` for a holder that is not serving yet, or is on its way out.

        Blocks. Raises DaemonRunningError when another daemon serves, or keeps the lock without serving.
        """
        fd = os.open(self._paths.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                serving = is_serving()
                if serving or time.monotonic() > deadline_s:
                    pid = _read_pid(fd)
                    os.close(fd)
                    raise self._running(pid, serving) from None
                time.sleep(_RETRY_S)
            else:
                break
        os.ftruncate(fd, 0)
        os.pwrite(fd, b"%d\n" % os.getpid(), 0)
        self._fd = fd

    def release(self) -> None:
        """Free the lock. The file stays: to remove it would let two daemons lock two files of one name."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    def _running(self, pid: int, serving: bool) -> DaemonRunningError:
        who = f"process {pid}" if pid else "another process"
        state = "is running already" if serving else "is running already, but does not answer"
        return DaemonRunningError(f"A daemon {state}: {who}, {self._paths.socket}.", "`completiond stop` ends it.")


def holder_pid(file: Path) -> int | None:
    """Return the process that holds the lock, 0 if its id is not in the file yet, or None if nobody holds it."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_pid(fd)
    finally:
        os.close(fd)
    return None


def _read_pid(fd: int) -> int:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else 0
