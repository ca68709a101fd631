"""Room on the disk, files that appear whole or not at all, and OS errors in words."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from completiond.errors import DiskFullError, FetchError

__all__ = [
    "FULL_ERRNOS",
    "disk_errors",
    "exclusive",
    "file_sizes",
    "flush_to_disk",
    "folder_bytes",
    "format_bytes",
    "free_bytes",
    "require_space",
]

FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def format_bytes(count_bytes: int) -> str:
    """A size for people: ``512 bytes``, ``491.4 MB`` (powers of 1000)."""
    if count_bytes < 1000:
        return f"{count_bytes} bytes"
    size, units = count_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.1f} {units[0]}"


def free_bytes(folder: Path) -> int:
    """Bytes free for this user on the file system that holds, or would hold, ``folder``."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def file_sizes(folder: Path, ending: str = "") -> Iterator[int]:
    """Size in bytes of each file under ``folder`` whose name ends so; what vanishes meanwhile is passed over."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(ending):
                with suppress(FileNotFoundError):
                    yield Path(place, name).lstat().st_size


def folder_bytes(folder: Path) -> int:
    """Size of all files under ``folder``; 0 when there is no such folder."""
    return sum(file_sizes(folder))


def require_space(folder: Path, needed_bytes: int, what: str) -> None:
    """Raise DiskFullError unless ``needed_bytes`` are free where ``folder`` is or will be."""
    available_bytes = free_bytes(folder)
    if available_bytes < needed_bytes:
        raise DiskFullError(
            f"{what} needs {format_bytes(needed_bytes)} more, but only {format_bytes(available_bytes)} are free"
            f" in {folder}.",
            "Free some space, or set COMPLETIOND_CACHE_DIR to a folder on a larger disk.",
        )


@contextmanager
def disk_errors(folder: Path, what: str, needed_bytes: Callable[[], int]) -> Iterator[None]:
    """Turn an OSError into DiskFullError (no room, over quota, file too large) or FetchError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno not in FULL_ERRNOS:
            place = error.filename or folder
            raise FetchError(f"{what} stopped: {place}: {reason}.", "Correct this, then run the same again.") from error
        raise DiskFullError(
            f"{what} stopped: {reason}. It needs {format_bytes(needed_bytes())} more;"
            f" {format_bytes(free_bytes(folder))} are free in {folder}.",
            "Free some space (or raise your quota or `ulimit -f`), then run the same again: what has arrived is kept.",
        ) from error


@contextmanager
def exclusive(lock_file: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold ``lock_file`` (flock: the kernel frees it when the process dies). ``on_wait`` is called if another has it.

    The file stays: removing it would let two processes lock two different files of the same name.
    """
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def flush_to_disk(place: Path) -> None:
    """Make a file's content, or a folder's entries, survive a power cut."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
