"""Files that a repository's ``.completiond.toml`` takes out, beside those that the user does."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from operator import is_not
from pathlib import Path

from completiond.config.repository_file import RepositoryFile
from completiond.config.repository_files import RepositoryFiles
from completiond.exclude.absolute_paths import below, both_paths, is_folder, is_inside
from completiond.exclude.exclusions import ExclusionReason
from completiond.exclude.ignore_files import IgnoreFiles

__all__ = ["RepositoryExclusions"]

MAX_ANSWERS = 10_000

Chain = tuple[RepositoryFile, ...]


class RepositoryExclusions:
    """Safe to call from several threads; an answer holds for a tenth of a second, of ignore files for a whole one."""

    def __init__(self, files: RepositoryFiles) -> None:
        self._files = files
        self._ignore_files = IgnoreFiles()
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, tuple[Path, ...]], tuple[Chain, bool]] = {}

    def why(self, path: Path, roots: Sequence[Path] = ()) -> ExclusionReason | None:
        """Why the absolute ``path`` may not be read, None if it may. ``roots`` are the workspace's folders."""
        text = os.fspath(path)
        chain = self._files.of(text, roots)
        if not chain:
            return None
        if any(file.rules for file in chain) and self._matches(text, tuple(roots), chain):
            return "repository_glob"
        if any(file.wants_gitignore for file in chain):
            return self._ignore_files.why(path, roots)
        return None

    def _matches(self, path: str, roots: tuple[Path, ...], chain: Chain) -> bool:
        with self._lock:
            known = self._answers.get((path, roots))
            if known is None or len(known[0]) != len(chain) or any(map(is_not, known[0], chain)):
                candidates = list(both_paths(path))
                known = (chain, any(_is_excluded(file, one) for file in chain for one in candidates))
                if len(self._answers) >= MAX_ANSWERS:
                    self._answers.clear()
                self._answers[path, roots] = known
            return known[1]


def _is_excluded(file: RepositoryFile, path: str) -> bool:
    """From the file's folder down, so that a ``!`` pattern brings nothing back from an excluded folder."""
    for folder in both_paths(file.folder):
        if not is_inside(path, folder):
            continue
        parts = below(path, folder).split("/")
        for i in range(1, len(parts) + 1):
            ends_in_folder = i < len(parts) or is_folder(path)
            relative = "/".join(parts[:i])
            last = next((rule for rule in reversed(file.rules) if rule.matches(relative, ends_in_folder)), None)
            if last is not None and last.excludes:
                return True
    return False
