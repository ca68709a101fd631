"""The ``.completiond.toml`` files that apply to a path, kept up to date while they change.

They are looked for from the top downwards: from the outermost of the workspace's folders that the path lies in, or the
repository (the nearest folder with a ``.git``), whichever is further out; of a path in neither, in its folder only. A
symbolic link is judged by its own path and by its target's: since a file only narrows, the more the safer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from completiond.config.layer import EMPTY
from completiond.config.problem import Problem
from completiond.config.repository_file import RepositoryFile
from completiond.config.repository_rules import REPOSITORY_FILE
from completiond.config.toml_file import Signature, signature_of
from completiond.config.trust import TrustStore
from completiond.exclude.absolute_paths import both_paths, is_inside

__all__ = ["LOOK_EVERY_S", "RepositoryFiles"]

LOOK_EVERY_S = 0.1
"""How old an answer may be before the file system is asked again."""
MAX_FILES = 1024
"""That are kept."""

Roots = tuple[str, ...]


class RepositoryFiles:
    """Safe to call from several threads. Never raises for a file's content."""

    def __init__(self, trust: TrustStore | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._trust = trust
        self._clock = clock
        self.version = 0
        """Grows with each change of a file that is noticed."""
        self.exclusions_version = 0
        """The same of what files exclude."""
        self._lock = threading.Lock()
        self._looked_s: float | None = None
        self._files: dict[str, RepositoryFile] = {}
        self._chains: dict[tuple[str, Roots], tuple[RepositoryFile, ...]] = {}
        self._looked: dict[str, RepositoryFile | None] = {}
        self._is_repository: dict[str, bool] = {}

    def of(self, path: str, roots: Sequence[str | Path] = ()) -> tuple[RepositoryFile, ...]:
        """Those that apply to the absolute ``path``, the outermost first; ``roots`` are the workspace's folders."""
        key = (path, tuple(map(str, roots)))
        with self._lock:
            now_s = self._clock()
            if self._looked_s is None or not 0 <= now_s - self._looked_s < LOOK_EVERY_S:
                self._forget_looks(now_s)
            if key not in self._chains:
                self._chains[key] = tuple(self._find(path, key[1]))
            return self._chains[key]

    def look_again(self) -> None:
        """The next answer is about the files as they are then."""
        with self._lock:
            self._forget_looks(None)

    def problems_in(self, folders: Iterable[str]) -> list[Problem]:
        """Of the files in these folders, as they were when they were last asked about."""
        with self._lock:
            files = [self._files[folder] for folder in folders if folder in self._files]
        return [problem for file in files for problem in file.layer.problems]

    def _forget_looks(self, now_s: float | None) -> None:
        self._looked_s = now_s
        for known in (self._chains, self._looked, self._is_repository):
            known.clear()

    def _find(self, path: str, roots: Roots) -> list[RepositoryFile]:
        tops = {folder for root in roots for folder in both_paths(root)}
        found: dict[str, RepositoryFile] = {}
        for candidate in both_paths(path):
            for folder in self._folders_above(candidate, tops):
                if folder not in self._looked:
                    self._looked[folder] = self._load(folder)
                if (file := self._looked[folder]) is not None:
                    found[folder] = file
        return sorted(found.values(), key=lambda file: len(file.folder))

    def _load(self, folder: str) -> RepositoryFile | None:
        signature = _signature(f"{folder}/{REPOSITORY_FILE}")
        known = self._files.pop(folder, None)
        if signature is None:
            self._note(known, None)
            return None
        is_new = known is None or known.signature != signature
        if known is not None and not is_new and self._trust is not None:
            is_new = known.is_trusted != self._trust.trusts(str(Path(folder).resolve()), known.content)
        if known is None or is_new:
            before = known
            known = RepositoryFile.read(folder, signature, self._trust, before.layer if before else EMPTY)
            self._note(before, known)
        if len(self._files) >= MAX_FILES:
            self._files.clear()
        self._files[folder] = known
        return known

    def _folders_above(self, path: str, tops: set[str]) -> list[str]:
        """The folders of ``path``, from the top downwards."""
        own = str(Path(path).parent)
        upwards = [own, *map(str, Path(own).parents)]
        repository = next(filter(self._has_git, upwards), own)
        inside = [top for top in tops if is_inside(path, top)]
        top = min((repository, *inside), key=len)
        return upwards[upwards.index(top) :: -1]

    def _has_git(self, folder: str) -> bool:
        if folder not in self._is_repository:
            self._is_repository[folder] = _signature(f"{folder}/.git") is not None
        return self._is_repository[folder]

    def _note(self, before: RepositoryFile | None, now: RepositoryFile | None) -> None:
        if before is not now:
            self.version += 1
            self.exclusions_version += _exclusions(before) != _exclusions(now)


def _exclusions(file: RepositoryFile | None) -> object:
    return (file.rules, file.wants_gitignore) if file else ((), False)


def _signature(path: str) -> Signature:
    """Of what cannot even be looked at nobody edits files: it is not there."""
    found = signature_of(path, follow_symlinks=False)
    return None if found is None or len(found) == 1 else found
