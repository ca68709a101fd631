"""Absolute paths as text, and what the system says of them without raising."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["below", "both_paths", "is_folder", "is_inside", "stat_of"]


def both_paths(path: str) -> Iterator[str]:
    """The absolute path as it is written, and, if it is another, that of what it stands for."""
    written = os.path.normpath(Path(path).absolute())
    yield written
    try:
        real = os.path.realpath(written)
    except (OSError, ValueError):  # a name that no file can have
        return
    if real != written:
        yield real


def is_inside(path: str, folder: str) -> bool:
    """Whether ``path`` lies in ``folder``, at any depth."""
    return path.startswith(folder if folder.endswith("/") else folder + "/")


def below(path: str, folder: str) -> str:
    """``path`` relative to ``folder``, which it lies in."""
    return path[len(folder) :].lstrip("/")


def is_folder(path: str) -> bool:
    """As git sees it: a symbolic link is not a folder."""
    found = stat_of(path, follow_symlinks=False)
    return found is not None and stat.S_ISDIR(found.st_mode)


def stat_of(path: str, follow_symlinks: bool = True) -> os.stat_result | None:
    """None if there is no such file, or none that may be looked at."""
    try:
        return Path(path).stat(follow_symlinks=follow_symlinks)
    except (OSError, ValueError):  # gone, closed to us, or a name that no file can have
        return None
