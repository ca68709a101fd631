"""Which text a head is trained on: the code files of whole repositories, some of which are held out.

A file of a held-out repository is never trained on, so that what is measured there is what a user's own, unseen code
will give. Excluded files and files that look like secrets are not read, as everywhere.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from completiond.errors import UsageError
from completiond.exclude.exclusions import Exclusions
from completiond.exclude.secret_text import secret_lines

__all__ = ["Corpus", "Repository", "find_corpus"]

CODE_SUFFIXES = frozenset({
    ".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".java", ".kt", ".go", ".rs", ".c", ".h", ".cc", ".cpp",
    ".hpp", ".cs", ".rb", ".php", ".swift", ".scala", ".lua", ".sh", ".sql", ".html", ".css", ".scss", ".toml",
    ".yaml", ".yml", ".json", ".md", ".rst",
})  # fmt: skip
PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod", "pom.xml")
MIN_CHARS, MAX_CHARS = 400, 200_000
"""A shorter file says too little, a longer one is mostly generated."""
MAX_LINE_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Repository:
    """One project: ``name`` for people, and its files, in a fixed order."""

    name: str
    folder: Path
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Repositories to learn from and repositories to measure on."""

    training: tuple[Repository, ...]
    held_out: tuple[Repository, ...]

    def texts(self, repositories: Sequence[Repository]) -> Iterator[tuple[Repository, Path, str]]:
        """Every usable file, the repositories in turn, so that a big one does not come all at once. No text comes
        twice.
        """
        seen: set[bytes] = set()
        queues = [(repository, iter(repository.files)) for repository in repositories]
        while queues:
            left = []
            for repository, files in queues:
                for file in files:
                    text = _read(file)
                    digest = hashlib.sha256((text or "").encode()).digest()
                    if text is not None and digest not in seen:
                        seen.add(digest)
                        yield repository, file, text
                        left.append((repository, files))
                        break
            queues = left


def find_corpus(paths: Sequence[Path], exclusions: Exclusions, held_out_share: float = 0.1) -> Corpus:
    """The code under ``paths``. Each is a repository when it looks like a project, else each folder in it is one.

    Which repositories are held out depends on their names only; at least one is. A folder that is named twice, or lies
    in another one's, counts once. Raises UsageError when there are fewer than two repositories, since then nothing can
    be held out, or a path does not exist.
    """
    folders: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder.", "Give folders of source code.")
        for folder in _projects(path.absolute()):
            folders.setdefault(folder.resolve(), folder)
    found: list[Repository] = []
    for real, folder in folders.items():
        inner = any(parent in folders for parent in real.parents)  # else a file could be learnt from and held out
        files = () if inner else tuple(sorted(_code_files(folder, exclusions)))
        if files:
            found.append(Repository(folder.name, folder, files))
    if len(found) < 2:
        raise UsageError(
            f"There is {'one repository' if found else 'no repository'} with code, and one has to be held out to"
            " measure on.",
            "Give at least two, or a folder that holds several.",
        )
    ranked = sorted(found, key=lambda one: hashlib.sha256(one.name.encode()).hexdigest())
    num_held_out = max(1, round(held_out_share * len(ranked)))
    return Corpus(tuple(ranked[num_held_out:]), tuple(ranked[:num_held_out]))


def _projects(path: Path) -> list[Path]:
    if any((path / mark).exists() for mark in PROJECT_MARKS):
        return [path]
    folders = [child for child in path.iterdir() if child.is_dir() and not child.is_symlink()]
    return sorted(folder for folder in folders if not folder.name.startswith(".")) or [path]


def _code_files(folder: Path, exclusions: Exclusions) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for name in names:
            file = Path(place, name)
            if file.suffix in CODE_SUFFIXES and not file.is_symlink() and exclusions.why(file, (folder,)) is None:
                yield file


def _read(file: Path) -> str | None:
    """The text of a file worth learning from, with line feeds and without lines that hold secrets; None for others."""
    try:
        if not MIN_CHARS <= file.stat().st_size <= MAX_CHARS * 2:
            return None
        text = file.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError):  # gone, closed to us, or no text: one file less to learn from
        return None
    lines = text.split("\n")
    if len(text) > MAX_CHARS or max(map(len, lines)) > MAX_LINE_CHARS:
        return None
    if secret := secret_lines(lines):
        text = "\n".join(line for number, line in enumerate(lines) if number not in secret)
    return text if len(text) >= MIN_CHARS else None
