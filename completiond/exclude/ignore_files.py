"""What ``.gitignore`` and ``.completiondignore`` files exclude, by git's rules, and up to date while the files change.

As in git, a path is judged folder by folder from the top down: what lies in an excluded folder is excluded, whatever
deeper rules say. For each of these folders the deepest ignore file with a matching rule decides, by its last such rule.
Unlike git, we ask no index: a tracked file that a rule matches counts as ignored. The user's global excludes
(``core.excludesFile``) and ``core.ignorecase`` are not looked at.

``.completiondignore`` files are a second, separate set: their ``!`` rules bring back nothing that git ignores. They
also apply from the workspace's root down when a repository lies inside it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from completiond.exclude.absolute_paths import below, both_paths, is_folder, is_inside, stat_of
from completiond.exclude.beat import Beat
from completiond.exclude.ignore_file import IgnoreFile, Problem
from completiond.exclude.ignore_rule import Rule

__all__ = ["IgnoreFiles", "IgnoreReason"]

IgnoreReason = Literal["gitignore", "completiondignore"]

MAX_FILES = 4096
"""How many ignore files are kept."""
MAX_TOLD = 5
"""Problems of one file that ``on_problem`` hears of."""

_KINDS: tuple[tuple[IgnoreReason, str], ...] = (
    ("gitignore", ".gitignore"),
    ("completiondignore", ".completiondignore"),
)


class IgnoreFiles:
    """Answers for any number of repositories. Safe to call from several threads. Never raises for a file's content."""

    def __init__(
        self,
        use_gitignore: bool = True,
        clock: Callable[[], float] = time.monotonic,
        on_problem: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        """``on_problem`` is told of each problem when it is found, not each time the file is looked at."""
        self._on_problem = on_problem
        self._kinds = _KINDS if use_gitignore else _KINDS[1:]
        self._lock = threading.Lock()
        self._beat = Beat(clock)
        self._files: dict[str, IgnoreFile] = {}
        self._answers: dict[tuple[str, tuple[Path, ...]], IgnoreReason | None] = {}
        self._folders: dict[tuple[IgnoreReason, str, str], bool] = {}
        self._rules: dict[str, tuple[Rule, ...]] = {}
        self._repositories: dict[str, str | None] = {}

    @property
    def problems(self) -> list[Problem]:
        """Of the ignore files read so far, as they were when last looked at."""
        with self._lock:
            return [problem for file in self._files.values() for problem in file.problems]

    def why(self, path: Path, roots: Sequence[Path] = ()) -> IgnoreReason | None:
        """The kind of file that excludes ``path`` or what it is a symbolic link to; None when none does.

        ``roots`` are the workspace's folders. Files of a path in none of them and in no repository are looked for in
        its own folder only. A relative path is relative to the current folder.
        """
        key = (os.fspath(path), tuple(roots))
        with self._lock:
            if self._beat.is_due():
                for known in (self._answers, self._folders, self._rules, self._repositories):
                    known.clear()
            if key not in self._answers:
                self._answers[key] = self._judge(*key)
            return self._answers[key]

    def _judge(self, path: str, roots: tuple[Path, ...]) -> IgnoreReason | None:
        folders = {folder for root in roots for folder in both_paths(os.fspath(root))}
        for candidate in both_paths(path):
            own = str(Path(candidate).parent)
            outer = min((folder for folder in folders if is_inside(candidate, folder)), key=len, default=own)
            repository = self._repository(own)
            for kind, name in self._kinds:
                top = outer if repository is None else repository
                if kind == "completiondignore":
                    top = min(top, outer, key=len)
                if self._is_excluded(kind, name, top, candidate):
                    return kind
        return None

    def _repository(self, folder: str) -> str | None:
        """The nearest folder upwards that has a ``.git``."""
        passed: list[str] = []
        found: str | None = None
        while folder not in self._repositories:
            passed.append(folder)
            parent = str(Path(folder).parent)
            if stat_of(f"{folder}/.git"):
                found = folder
            if found or parent == folder:
                break
            folder = parent
        else:
            found = self._repositories[folder]
        self._repositories.update(dict.fromkeys(passed, found))
        return found

    def _is_excluded(self, kind: IgnoreReason, name: str, top: str, path: str) -> bool:
        """Whether a rule in the files called ``name`` from ``top`` downwards excludes ``path`` or a folder it is in."""
        chain = [(top, self._load(_exclude_file(top)))] if kind == "gitignore" else []
        folder, parts = top, below(path, top).split("/")
        for i, part in enumerate(parts):
            chain.append((folder, self._load(f"{folder}/{name}")))
            folder = f"{folder.rstrip('/')}/{part}"
            key = (kind, top, folder)
            if key not in self._folders:
                self._folders[key] = _decide(chain, folder, i + 1 < len(parts) or is_folder(folder))
            if self._folders[key]:
                return True
        return False

    def _load(self, path: str) -> tuple[Rule, ...]:
        if path not in self._rules:
            found = stat_of(path)
            known = self._files.pop(path, None)
            if found is None:
                self._rules[path] = ()
                return ()
            signature = (found.st_mtime_ns, found.st_size)
            if known is None or known.signature != signature:
                before = known.problems if known else ()
                known = IgnoreFile.read(path, found)
                for problem in known.problems[:MAX_TOLD]:
                    if problem not in before:
                        self._on_problem(problem)
            if len(self._files) >= MAX_FILES:
                self._files.clear()
            self._files[path] = known
            self._rules[path] = known.rules
        return self._rules[path]


def _exclude_file(repository: str) -> str:
    """``info/exclude``. A worktree and a submodule have a file ``.git`` that says where the folder is."""
    git = Path(repository, ".git")
    if git.is_file():
        git = Path(repository, _first_line(git).removeprefix("gitdir:").strip())
    return str(git / _first_line(git / "commondir") / "info" / "exclude")


def _first_line(path: Path) -> str:
    """Empty for a file that cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).rstrip("\n")
    except (OSError, ValueError):
        return ""


def _decide(chain: Sequence[tuple[str, Sequence[Rule]]], path: str, ends_in_folder: bool) -> bool:
    for base, rules in reversed(chain):
        relative = below(path, base)
        for rule in reversed(rules):
            if rule.matches(relative, ends_in_folder):
                return rule.excludes
    return False
