"""Which brackets, quotes and tags of a source text have no partner: a scan that knows strings and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from completiond.complete.layout import CLOSERS, OPENING

__all__ = ["Balance", "balance_of", "open_strings_of"]

_COMMENT: Final = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_SINGLE: Final = r"'(?:\\.|[^'\\\n])*'"
_DOUBLE: Final = r'"(?:\\.|[^"\\\n])*"'
_TEMPLATE: Final = r"`(?:\\.|[^`\\])*`"
_OPEN: Final = r"""["'][^\n]*|`.*"""
_C: Final = rf"{_COMMENT}|{_SINGLE}|{_DOUBLE}"
_SKIPPED: Final = {
    ".css": _C,
    ".cpp": _C,
    ".hpp": _C,
    ".go": rf"{_COMMENT}|`[^`]*`|{_SINGLE}|{_DOUBLE}",
    ".java": rf'{_COMMENT}|""".*?"""|{_SINGLE}|{_DOUBLE}',
    ".js": rf"{_COMMENT}|{_TEMPLATE}|{_SINGLE}|{_DOUBLE}",
    ".py": rf"#[^\n]*|'''.*?'''|\"\"\".*?\"\"\"|{_SINGLE}|{_DOUBLE}",
    # A string may have several lines, a lifetime has but one quote.
    ".rs": rf"{_COMMENT}|'(?:\\[^\n']*.|[^'\\\n])'|'\w+|" + r'"(?:\\.|[^"\\])*"',
    ".ts": rf"{_COMMENT}|{_TEMPLATE}|{_SINGLE}|{_DOUBLE}",
}
"""Strings and comments, by the ends of files' names."""
_VALUE: Final = r""""[^"\n]*"|'[^'\n]*'"""
_TAG: Final = re.compile(
    rf"<!--.*?-->|<![^>]*>|<(?P<slash>/?)(?P<name>[a-zA-Z][\w-]*)(?:{_VALUE}|[^<>\"'])*>|[<>]", re.DOTALL
)
_OPEN_VALUE: Final = re.compile(rf"<[a-zA-Z](?:{_VALUE}|[^<>\"'])*[\"'][^\"']*\Z")
_VOID_TAGS: Final = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")


@dataclass(frozen=True, slots=True)
class Balance:
    """``extra_closers``: closing brackets or end tags that nothing opened, and ``<`` or ``>`` that make no tag.
    ``unclosed``: opening ones that nothing closed.
    """

    extra_closers: int
    unclosed: int


def balance_of(text: str, extension: str) -> Balance:
    """Scan a whole file; raises ValueError for one whose strings and comments are not known."""
    if extension == ".html":
        return _balance_of_tags(text)
    extra, unclosed = 0, 0
    expected: list[str] = []
    for token in _tokens(text, extension):
        if token in tuple(OPENING):
            expected.append(CLOSERS[OPENING.index(token)])
        elif token in tuple(CLOSERS):
            forgotten = _close(expected, token)
            extra, unclosed = extra + (forgotten is None), unclosed + (forgotten or 0)
    return Balance(extra, unclosed + len(expected))


def open_strings_of(text: str, extension: str) -> int:
    """How many strings have no end, in a text that breaks off: there, whether it does so inside a string."""
    if extension == ".html":
        return int(_OPEN_VALUE.search(text) is not None)
    return sum(token[0] in "\"'`" for token in _tokens(text, extension))


def _tokens(text: str, extension: str) -> list[str]:
    """Brackets, and the strings that have no end."""
    if extension not in _SKIPPED:
        raise ValueError(f"nothing is known of strings and comments in {extension} files")
    pattern = rf"(?:{_SKIPPED[extension]})|([()\[\]{{}}]|{_OPEN})"
    return [token[1] for token in re.finditer(pattern, text, re.DOTALL) if token[1]]


def _balance_of_tags(text: str) -> Balance:
    extra, unclosed = 0, 0
    expected: list[str] = []
    for token in _TAG.finditer(text):
        name = token["name"]
        if name is None:
            extra += token[0] in ("<", ">")
        elif token["slash"]:
            forgotten = _close(expected, name)
            extra, unclosed = extra + (forgotten is None), unclosed + (forgotten or 0)
        elif name not in _VOID_TAGS:
            expected.append(name)
    return Balance(extra, unclosed + len(expected))


def _close(expected: list[str], closer: str) -> int | None:
    """Close the last that ``closer`` closes; how many inside it were not closed; None if there is none."""
    for index in range(len(expected) - 1, -1, -1):
        if expected[index] == closer:
            forgotten = len(expected) - index - 1
            del expected[index:]
            return forgotten
    return None
