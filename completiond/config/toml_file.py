"""Reads a file of settings: bounded, only if it is a regular file, and with the lines of its keys."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from completiond.config.problem import Origin, Problem
from completiond.config.toml_scan import lines_of_keys

__all__ = ["Signature", "TomlFile", "read_toml", "signature_of"]

Signature = tuple[int, ...] | None
"""What differs when a file has changed; None when there is none."""

_LINE = re.compile(r"(?:, | \()?\(?at line (\d+), column \d+\)?|^line (\d+): ")


@dataclass(frozen=True)
class TomlFile:
    """``content`` is what was read, empty for a file that is not there. With a ``problem``, nothing of it counts."""

    origin: Origin
    content: bytes = b""
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lines: Mapping[tuple[str, ...], int] = field(default_factory=lambda: MappingProxyType({}))
    problem: Problem | None = None

    def at(self, *key: str) -> Origin:
        """Where a key stands: its own line, or that of the nearest table around it."""
        for end in range(len(key), 0, -1):
            if (line := self.lines.get(key[:end])) is not None:
                return self.origin.at(line)
        return self.origin


def signature_of(path: str | Path, follow_symlinks: bool = True) -> Signature:
    """One system call. A file that may not be looked at is there, and the same until it may: it has one number."""
    try:
        found = os.stat(path, follow_symlinks=follow_symlinks)  # noqa: PTH116 - many paths, as text
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        return None if error.errno in (errno.ENAMETOOLONG, errno.ELOOP) else (error.errno or 0,)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def read_toml(path: Path, origin: Origin, max_bytes: int, follow_symlinks: bool = True) -> TomlFile:
    """Never raises and never waits: what cannot be read is a problem of the file. One that is not there is empty."""
    try:
        content = _read(path, max_bytes, follow_symlinks)
        if content is None:
            return TomlFile(origin)
        text = content.decode("utf-8-sig")  # some editors begin with a byte order mark
        lines = lines_of_keys(text.replace("\r\n", "\n"))
        return TomlFile(origin, content, tomllib.loads(text), lines)
    except UnicodeDecodeError as error:
        message, line = "is not text in UTF-8", content[: error.start].count(b"\n") + 1 if content else None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and what int() says of thousands of digits
        message, line = _without_line(str(error) or "is nested too deeply")
    except OSError as error:
        message, line = f"cannot be read: {error.strerror or error}", None
    return TomlFile(origin, problem=Problem(origin.at(line), f"{message}; nothing of the file is used"))


def _read(path: Path, max_bytes: int, follow_symlinks: bool) -> bytes | None:
    """Raises OSError, and ValueError that says why this is no file of settings."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    if not follow_symlinks:
        if path.is_symlink():
            raise ValueError("is a symbolic link, which is not followed here")
        flags |= os.O_NOFOLLOW
    try:
        fd = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise ValueError("is a symbolic link to a file that is not there") from None
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ValueError("is not a regular file")
    with os.fdopen(fd, "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"is larger than {max_bytes} bytes")
    return content


def _without_line(message: str) -> tuple[str, int | None]:
    """What a parser says, and the line it says it of."""
    found = _LINE.search(message)
    text = message[: found.start()].rstrip(" (") + message[found.end() :].lstrip(")") if found else message
    line = int(found[1] or found[2]) if found else None
    return (text if text.startswith(("is ", "has ")) else f"is not TOML: {text}"), line
