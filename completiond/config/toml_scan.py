"""On which lines a TOML file says what. The parsers there are (tomllib, tomlkit) do not tell lines of keys.

Run before the parser, on text that may be anything: it never fails for what is not TOML, which the parser will find,
but refuses what the parser takes too long or too deep a stack for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["lines_of_keys"]

MAX_PARTS = 16
"""Of a dotted key."""
MAX_DEPTH = 16
"""Of brackets in brackets."""

_TOKEN = re.compile(
    r"(?P<multi>\"\"\"(?:[^\\\"]|\\.|\"{1,2}(?!\"))*+\"{3,5}|'''(?:[^']|'{1,2}(?!'))*+'{3,5})"
    r"|(?P<basic>\"(?!\"\")(?:[^\\\"\n]|\\.)*+\")"
    r"|(?P<literal>'(?!'')[^'\n]*+')"
    r"|(?P<open>[\"'])"
    r"|(?P<comment>\#[^\n]*+)"
    r"|(?P<bare>[\w+:-]++)"
    r"|(?P<sign>[\[\]{}.,=\n])"
    r"|(?P<other>.)",
    re.DOTALL,
)
"""Repetitions are possessive, and a string without an end is the end, so that time is linear in the text."""


class _Scan:
    """What has been seen so far: the key that is being read, the table it is in, and the depth of brackets."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, ...], int] = {}
        self._table: tuple[str, ...] = ()
        self._parts: list[str] = []
        self._after_dot = False
        self._depth = 0
        self._header = 0
        self._in_value = False

    def name(self, text: str, line: int) -> None:
        """A part of a key, or a value."""
        self._parts = [*self._parts, text] if self._after_dot else [text]
        self._after_dot = False
        if len(self._parts) > MAX_PARTS:
            raise ValueError(f"line {line}: has a key of more than {MAX_PARTS} parts")

    def sign(self, text: str, line: int) -> None:
        """A character that divides."""
        if text == ".":
            self._after_dot = True
            return
        self._after_dot = False
        if text == "\n":
            if self._depth == 0 or self._header:
                self._parts, self._in_value, self._header, self._depth = [], False, 0, 0
        elif text == "=":
            if not self._in_value and self._depth == 0:
                self._note((*self._table, *self._parts), line)
                self._in_value = True
            self._parts = []
        elif text in "[{":
            if not self._in_value and text == "[":
                self._header += 1
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise ValueError(f"line {line}: has more than {MAX_DEPTH} brackets in each other")
        elif text in "]}":
            if self._header and text == "]" and self._parts:
                self._table = tuple(self._parts)
                self._note(self._table, line)
                self._parts = []
            self._depth = max(0, self._depth - 1)

    def _note(self, key: tuple[str, ...], line: int) -> None:
        for i in range(1, len(key) + 1):
            self.found.setdefault(key[:i], line)


def lines_of_keys(text: str) -> Mapping[tuple[str, ...], int]:
    """The line, counted from 1, on which each table and key stands first. Those in inline tables are not looked for.

    Raises ValueError that begins with the line for a key or a nest of brackets that no settings have.
    """
    scan, line = _Scan(), 1
    for token in _TOKEN.finditer(text):
        kind, found = token.lastgroup, token[0]
        if kind == "open":  # the parser comes no further either
            break
        if kind == "sign":
            scan.sign(found, line)
        elif kind in ("bare", "literal", "basic"):
            scan.name(found[1:-1] if kind != "bare" else found, line)
        line += found.count("\n")
    return scan.found
