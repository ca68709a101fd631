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
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

__all__ = ["Beat", "IgnoreFiles", "IgnoreReason", "Problem", "Rule", "both_paths", "is_folder"]

IgnoreReason = Literal["gitignore", "completiondignore"]

CHECK_EVERY_S = 1.0
"""How old an answer may be before the files' times are looked at again."""
MAX_FILE_BYTES = 1 << 20
MAX_FILES = 4096
"""How many ignore files are kept."""
MAX_DOUBLE_STARS = 2
"""In one rule, but for the last part of its path. The time for a path grows with its length to this power, and a
repository is not always a friend's."""

_KINDS: tuple[tuple[IgnoreReason, str], ...] = (
    ("gitignore", ".gitignore"),
    ("completiondignore", ".completiondignore"),
)
_CLASSES = {
    "[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:blank:]": " \t", "[:digit:]": "0-9", "[:lower:]": "a-z",
    "[:space:]": " \t\n\r\f\v", "[:upper:]": "A-Z", "[:xdigit:]": "0-9A-Fa-f",
}  # fmt: skip
_CLASS = re.compile(r"\[:\w*:\]")
_SET = re.compile(r"\\.|\[[!^]?\]?(?:\[:\w*:\]|[^\]])*\]")
"""An escaped character, or a set in brackets."""
_STAR = re.compile(r"\[\^/\]\*((?:\\.|\[\^?\]?(?:\\.|[^\]])*\]|[^\[\\/*+?()])+?)(?=\[\^/\]\*)")
"""In a regular expression that pathspec made: a star, and what stands between it and another star in the same name."""
_MANY_STARS = re.compile(r"(?<![^/])\*{3,}(?![^/])")
_TRAILING_SPACES = re.compile(r"((?:[^\\]|\\.)*?) *", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an ignore file, in whole or in one line (counted from 1). It excludes nothing."""

    path: Path
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    regex: re.Pattern[str]
    excludes: bool
    """False for a rule with ``!``."""
    folders_only: bool
    name_only: bool
    """The pattern has no slash, so that it matches names at any depth."""

    @classmethod
    def parse(cls, line: str) -> Rule | None:
        """None for a comment or a blank line. Raises ValueError that says what is wrong with a rule."""
        if line.startswith("#"):
            return None
        trimmed = _TRAILING_SPACES.fullmatch(line)
        line = trimmed[1] if trimmed else line
        # The slash at the end is handled here: pathspec's ``dir/`` also matches what is inside.
        pattern = line.removesuffix("/")
        bare = _MANY_STARS.sub("**", pattern.removeprefix("!"))
        pattern = "!" + bare if pattern.startswith("!") else bare
        if not line or not bare:
            return None
        if bare.split("/")[:-1].count("**") > MAX_DOUBLE_STARS:
            raise ValueError(f"more than {MAX_DOUBLE_STARS} times **")
        try:
            source, excludes = GitIgnoreSpecPattern.pattern_to_regex(_SET.sub(_plain_set, pattern))
            regex = re.compile(_safe_source(source)) if source is not None else None
        except (ValueError, re.error) as error:
            raise ValueError(str(error)) from None
        if regex is None or excludes is None:
            raise ValueError("not a pattern that can match")
        return cls(regex, excludes, line.endswith("/"), "/" not in bare)

    def matches(self, relative: str, is_folder: bool) -> bool:
        """Whether the pattern matches this very path, relative to the rule's folder; not one of its parents."""
        if self.folders_only and not is_folder:
            return False
        found = self.regex.search(relative.rpartition("/")[2] if self.name_only else relative)
        return found is not None and not found.groupdict().get("ps_d")


def _plain_set(found: re.Match[str]) -> str:
    """What pathspec does not know of sets, ``[[:digit:]]``, in words that it knows."""
    text = found[0]
    if text.startswith("\\"):
        return text
    if "\\" in text or any(name not in _CLASSES for name in _CLASS.findall(text)):
        raise ValueError(f"a set that is not supported: {text}")
    return _CLASS.sub(lambda name: _CLASSES[name[0]], text)


def _safe_source(source: str) -> str:
    """A regular expression in which sets do not match slashes and hold nothing that Python warns of.

    Of several stars in a name all but the last match the first place they can and stay there, which finds the same:
    trying all places takes years for ``*a*a*a*a*a*a*b``.
    """
    source = re.sub(r"(?<!\\)\[(\^?)\[", r"[\1\\[", re.sub(r"(?<!\\)\[\^(?![\]/])", "[^/", source))
    return _STAR.sub(r"(?>[^/]*?\1)", re.sub(r"([-&~|])\1", r"\1\\\1", source))


class Beat:
    """Tells when it is time to look at files again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_s: float | None = None

    def is_due(self) -> bool:
        """True the first time, and then once whenever CHECK_EVERY_S seconds have passed."""
        now_s = self._clock()
        if self._last_s is not None and 0 <= now_s - self._last_s < CHECK_EVERY_S:
            return False
        self._last_s = now_s
        return True


class IgnoreFiles:
    """Answers for any number of repositories. Safe to call from several threads. Never raises for a file's content."""

    def __init__(self, use_gitignore: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds = _KINDS if use_gitignore else _KINDS[1:]
        self._lock = threading.Lock()
        self._beat = Beat(clock)
        self._files: dict[str, _IgnoreFile] = {}
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
            outer = min((folder for folder in folders if _is_inside(candidate, folder)), key=len, default=own)
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
            if _stat(f"{folder}/.git"):
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
        folder, parts = top, _below(path, top).split("/")
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
            found = _stat(path)
            known = self._files.pop(path, None)
            if found is None:
                self._rules[path] = ()
                return ()
            signature = (found.st_mtime_ns, found.st_size)
            if known is None or known.signature != signature:
                known = _IgnoreFile.read(path, found)
            if len(self._files) >= MAX_FILES:
                self._files.clear()
            self._files[path] = known
            self._rules[path] = known.rules
        return self._rules[path]


@dataclass(frozen=True, slots=True)
class _IgnoreFile:
    signature: tuple[int, int] | None
    """Time of the last change in ns, and size in bytes; None when reading failed, so that it is tried again."""
    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]

    @classmethod
    def read(cls, path: str, found: os.stat_result) -> _IgnoreFile:
        try:
            lines = _read_lines(path, found)
        except (OSError, ValueError) as error:
            message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return cls(None, (), (Problem(Path(path), None, message),))
        rules: list[Rule] = []
        problems: list[Problem] = []
        for number, line in enumerate(lines, 1):
            try:
                rule = Rule.parse(line)
            except ValueError as error:
                problems.append(Problem(Path(path), number, f"{line!r}: {error}"))
            else:
                rules += [rule] if rule else []
        return cls((found.st_mtime_ns, found.st_size), tuple(rules), tuple(problems))


def _read_lines(path: str, found: os.stat_result) -> list[str]:
    """Raises OSError, or ValueError that says why this is not an ignore file."""
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("not a regular file")
    with Path(path).open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
    if b"\0" in content:
        raise ValueError("not text in UTF-8")
    # Names are bytes on Unix: an undecodable one is spelled in a rule as it is spelled in a path.
    text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


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
        relative = _below(path, base)
        for rule in reversed(rules):
            if rule.matches(relative, ends_in_folder):
                return rule.excludes
    return False


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


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith("/") else folder + "/")


def _below(path: str, folder: str) -> str:
    return path[len(folder) :].lstrip("/")


def is_folder(path: str) -> bool:
    """As git sees it: a symbolic link is not a folder."""
    found = _stat(path, follow_symlinks=False)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _stat(path: str, follow_symlinks: bool = True) -> os.stat_result | None:
    try:
        return Path(path).stat(follow_symlinks=follow_symlinks)
    except (OSError, ValueError):
        return None
