"""Which text a command is about: a file, and a cursor in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from completiond.errors import UsageError
from completiond.lsp.text import Position, Text

__all__ = ["CursorPlace", "find_place"]


@dataclass(frozen=True, slots=True)
class CursorPlace:
    """A file's text on both sides of a cursor, line ends as in the file."""

    path: Path
    prefix: str
    suffix: str


def find_place(file: Path, line: int | None, column: int | None, at: str | None) -> CursorPlace:
    """Read ``file`` (UTF-8) and split it at 1-based ``line`` and 0-based UTF-16 ``column`` (the line's end when None),
    or behind the first match of the regular expression ``at`` (of its first group, when it has one).

    Raises UsageError for a file that cannot be read, a place outside it, or an expression that matches nowhere.
    """
    text = _read(file)
    offset = _offset_by_pattern(file, text, at) if at is not None else _offset_by_position(file, text, line, column)
    return CursorPlace(file, text[:offset], text[offset:])


def _read(file: Path) -> str:
    try:
        if file.exists() and not file.is_file():
            raise UsageError(f"{file} is not a regular file.", "Name a text file.")
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text (byte {error.start}).", "Convert it first.") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Check the path and its permissions.") from None


def _offset_by_pattern(file: Path, text: str, pattern: str) -> int:
    try:
        match = re.search(pattern, text, re.MULTILINE)
    except re.error as error:
        raise UsageError(
            f"--at {pattern!r} is not a regular expression: {error}.", "Escape special characters."
        ) from None
    if match is None:
        raise UsageError(f"--at {pattern!r} matches nowhere in {file}.", "The cursor goes behind the first match.")
    return match.end(1) if match.re.groups and match.end(1) >= 0 else match.end()


def _offset_by_position(file: Path, text: str, line: int | None, column: int | None) -> int:
    if line is None:
        raise UsageError("Where in the file?", "Use --line L [--col C], or --at REGEX.")
    lines = Text(text, "utf-16")
    if not 1 <= line <= lines.num_lines:
        count = f"{lines.num_lines} line{'s' if lines.num_lines > 1 else ''}"
        raise UsageError(f"--line {line} is outside {file}, which has {count}.", "Lines count from 1.")
    end = lines.position_at(lines.offset_at(Position(line - 1, 2**31 - 1)))
    if column is None:
        return lines.offset_at(end)
    if not 0 <= column <= end.character:
        raise UsageError(
            f"--col {column} is outside line {line} of {file}, which has {end.character} columns.",
            "Columns count from 0, in UTF-16 units.",
        )
    return lines.offset_at(Position(line - 1, column))
