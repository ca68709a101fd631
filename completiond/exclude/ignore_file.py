"""The content of one ignore file: its rules, and what is wrong with it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from completiond.exclude.ignore_rule import Rule

__all__ = ["IgnoreFile", "Problem"]

MAX_FILE_BYTES = 1 << 20
MAX_SHOWN_CHARS = 80
"""Of a line that is no pattern."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an ignore file, in whole or in one line (counted from 1). It excludes nothing."""

    path: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place} excludes nothing: {self.message}"


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """As it was when it was read."""

    signature: tuple[int, int] | None
    """Time of the last change in ns, and size in bytes; None when reading failed, so that it is tried again."""
    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]

    @classmethod
    def read(cls, path: str, found: os.stat_result) -> IgnoreFile:
        """``found`` is what the system said of ``path``. Never raises."""
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
                problems.append(Problem(Path(path), number, f"{line[:MAX_SHOWN_CHARS]!r}: {error}"))
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
