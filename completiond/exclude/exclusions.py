"""The one answer to whether a file of the user's may be read: by its name, the ignore files and the user's globs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from completiond.errors import UsageError
from completiond.exclude.absolute_paths import both_paths, is_folder
from completiond.exclude.beat import Beat
from completiond.exclude.ignore_file import Problem
from completiond.exclude.ignore_files import IgnoreFiles
from completiond.exclude.ignore_rule import Rule
from completiond.exclude.secret_names import is_secret_name

__all__ = ["ExclusionReason", "Exclusions"]

ExclusionReason = Literal["secret_name", "gitignore", "completiondignore", "config_glob", "repository_glob"]
"""
``secret_name``        the name, or a folder's, says that it holds secrets; also all that lies in ``.git``
``gitignore``          a ``.gitignore`` or the repository's ``info/exclude``
``completiondignore``  a ``.completiondignore``
``config_glob``        a glob of the user's settings
``repository_glob``    a glob in a repository's ``.completiond.toml``
"""


class Exclusions:
    """Judges paths. Safe to call from several threads; an answer holds for at most a second."""

    def __init__(
        self,
        globs: Sequence[str] = (),
        use_gitignore: bool = True,
        clock: Callable[[], float] = time.monotonic,
        on_problem: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        """``globs`` are patterns as in ``.gitignore``, later ones win.

        Each is relative to the workspace's folders; one that begins with ``/`` or ``~`` is also meant as an absolute
        path. In a file outside of all these folders, a relative one matches at any depth. Raises UsageError that names
        a pattern which cannot match anything. ``on_problem`` is told of what is wrong with ignore files, once.
        """
        self._globs = [_Glob(pattern) for pattern in globs]
        self._ignore_files = IgnoreFiles(use_gitignore, clock, on_problem)
        self._lock = threading.Lock()
        self._beat = Beat(clock)
        self._answers: dict[tuple[str, tuple[Path, ...]], ExclusionReason | None] = {}

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the ignore files read so far."""
        return self._ignore_files.problems

    def why(self, path: Path | None, roots: Sequence[Path] = ()) -> ExclusionReason | None:
        """Why ``path`` may not be read; None when it may, or when there is none (a buffer that was never saved).

        A symbolic link is judged by its own path and by that of its target. ``roots`` are the workspace's folders.
        """
        if path is None:
            return None
        key = (os.fspath(path), tuple(roots))
        with self._lock:
            if self._beat.is_due():
                self._answers.clear()
            if key not in self._answers:
                self._answers[key] = self._judge(path, key[1])
            return self._answers[key]

    def _judge(self, path: Path, roots: tuple[Path, ...]) -> ExclusionReason | None:
        candidates = list(both_paths(os.fspath(path)))
        if any(map(is_secret_name, candidates)):
            return "secret_name"
        if reason := self._ignore_files.why(path, roots):
            return reason
        if self._globs:
            folders = [folder for root in roots for folder in both_paths(os.fspath(root))]
            if any(self._is_globbed(candidate, folders) for candidate in candidates):
                return "config_glob"
        return None

    def _is_globbed(self, path: str, roots: Sequence[str]) -> bool:
        """From the top folder down, so that a ``!`` glob brings nothing back from an excluded folder."""
        parts = path.strip("/").split("/")
        for i in range(1, len(parts) + 1):
            here = "/" + "/".join(parts[:i])
            folder = i < len(parts) or is_folder(path)
            last = next((glob for glob in reversed(self._globs) if glob.matches(here, folder, roots)), None)
            if last is not None and last.excludes:
                return True
        return False


class _Glob:
    """One pattern of the settings, compiled for each thing it can be relative to."""

    def __init__(self, pattern: str) -> None:
        sign = "!" if pattern.startswith("!") else ""
        bare = os.path.expanduser(pattern.removeprefix("!"))  # noqa: PTH111 - a Path loses the slash at the end
        if {".", ".."} & set(bare.split("/")):
            raise UsageError(f"Exclusion {pattern!r} has a '.' or '..' in its path.", "Use a path without them.")
        anywhere = bare if bare.startswith("/") or "/" not in bare.rstrip("/") else f"**/{bare}"
        try:
            rooted, loose = Rule.parse(sign + bare), Rule.parse(sign + anywhere)
        except ValueError as error:
            raise UsageError(f"Exclusion {pattern!r}: {error}.", "Write it as in a .gitignore.") from None
        if rooted is None or loose is None:
            raise UsageError(f"Exclusion {pattern!r} matches nothing.", "Write it as in a .gitignore.")
        self._rooted, self._loose = rooted, loose
        self._is_absolute = bare.startswith("/")
        self.excludes = rooted.excludes

    def matches(self, path: str, is_folder: bool, roots: Sequence[str]) -> bool:
        """Whether this absolute path itself, not one of its parents, is meant."""
        if self._is_absolute and self._rooted.matches(path.lstrip("/"), is_folder):
            return True
        inside = [root for root in roots if path.startswith(root.rstrip("/") + "/")]
        if any(self._rooted.matches(path[len(root) :].lstrip("/"), is_folder) for root in inside):
            return True
        return not inside and not self._is_absolute and self._loose.matches(path.lstrip("/"), is_folder)
