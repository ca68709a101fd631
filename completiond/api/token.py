"""The secret that HTTP clients over TCP have to know: any program of any user can reach a port."""

from __future__ import annotations

import os
import secrets
import stat

from completiond.errors import DaemonError
from completiond.paths import Paths

__all__ = ["http_token"]

_TOKEN_BYTES = 32
_MAX_FILE_BYTES = 1024


def http_token(paths: Paths) -> str:
    """The token in ``paths.token_file``; if there is none, a new one is made.

    Call ``paths.make_runtime_dir`` before. Raises DaemonError for a file that others could have written or can read.
    """
    file = paths.token_file
    try:
        try:
            fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            pass  # made before
        else:
            with os.fdopen(fd, "w", encoding="ascii") as new:
                new.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as kept:
            info = os.fstat(kept.fileno())
            token = kept.read(_MAX_FILE_BYTES).decode("ascii", "replace").strip()
    except OSError as error:
        raise DaemonError(f"{file} cannot be used: {error.strerror}.", "Remove it; a new one is made.") from error
    is_private = stat.S_ISREG(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o077
    if not is_private or not token.isascii() or len(token) < _TOKEN_BYTES:
        raise DaemonError(f"{file} holds no token that only you know.", "Remove it; a new one is made.")
    return token
