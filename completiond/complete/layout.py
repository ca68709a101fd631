"""What the lines of all languages share: indentation, brackets, and ends that open a block."""

from __future__ import annotations

import re

__all__ = [
    "CLOSERS",
    "OPENERS",
    "OPENING",
    "TELLING_CHARS",
    "brackets",
    "closes",
    "indent_columns",
    "is_telling",
    "may_close",
    "opens",
    "without_comment",
]

OPENING, CLOSERS = "([{", ")]}"
OPENERS = (":", *OPENING)
"""Ends of a line that opens a block."""
TAB_COLUMNS = 8
TELLING_CHARS = 5
"""A shorter text (``}``, ``else``) occurs everywhere: it proves a repetition only together with what follows it."""

_CLOSER = re.compile(r"\s*(?:[}\])]|</|(?:end|fi|done|esac)\b\s*[),;]*$)")
_CLOSER_WORDS = ("</", "end", "fi", "done", "esac")
_COMMENT = re.compile(r"(?<=\S)\s+(?:#|//)\s.*")
_MARGIN = re.compile(r"[ \t]*(?:-(?:[ \t]+|$))*")
"""Indentation; the dash of a YAML list item belongs to it."""


def indent_columns(line: str) -> int:
    """Columns before a line's text."""
    margin = _MARGIN.match(line)
    assert margin is not None, "an empty match is a match"
    return len(margin[0].expandtabs(TAB_COLUMNS)) + margin[0].endswith("-")


def is_telling(line: str) -> bool:
    """Whether a line proves a repetition by itself."""
    return sum(char.isalnum() for char in line) >= TELLING_CHARS


def opens(line: str) -> bool:
    """Whether the next line belongs inside this one."""
    code = without_comment(line)
    return code.endswith(OPENERS) or bool(brackets(code)[1])


def without_comment(line: str) -> str:
    """``line`` without a comment behind its code, and without blanks at its end."""
    match = _COMMENT.search(line)
    if match is None or any(line.count(quote, 0, match.start()) % 2 for quote in "\"'`"):
        return line.rstrip()
    return line[: match.start()].rstrip()


def closes(line: str) -> bool:
    """Whether a line closes a block."""
    return _CLOSER.match(line) is not None


def may_close(line: str, done: bool) -> bool:
    """Whether a line closes a block, or may do so once it is complete."""
    return closes(line) or (not done and any(closer.startswith(line.strip()) for closer in _CLOSER_WORDS))


def brackets(text: str) -> tuple[str, str]:
    """Closing brackets of ``text`` that nothing in it opened, and opening ones that nothing in it closed."""
    closing, opening = "", ""
    for char in text:
        if char in OPENING:
            opening += char
        elif char in CLOSERS and opening:
            opening = opening[:-1]
        elif char in CLOSERS:
            closing += char
    return closing, opening
