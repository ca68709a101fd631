"""Closers that an editor inserts while their openers are typed, before the end of the answer that has them, too."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["before_closers", "closers_at", "first_closer"]

MAX_CLOSERS: Final = 4
"""So many are looked at; each costs a look at the whole text behind it."""
BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
QUOTES: Final = "\"'`"

_CLOSERS = re.compile(rf"[)\]}}>{QUOTES}]{{0,{MAX_CLOSERS}}}")


def closers_at(suffix: str) -> str:
    """The closers that a text behind the cursor begins with, at most MAX_CLOSERS."""
    match = _CLOSERS.match(suffix)
    assert match is not None, "an empty match is a match"
    return match[0]


def first_closer(text: str, like: str) -> int:
    """Where ``text`` closes what was opened before it, by whatever closer; -1 if nowhere. ``like``: the closer that is
    expected, since a quote means that the text begins inside a string, and ``>`` is none elsewhere.
    """
    if like in QUOTES:
        return _end_of_string(text, 0, like)
    pairs = BRACKETS | ({"<": ">"} if like == ">" else {})
    closers = set(pairs.values())
    depth, at = 0, 0
    while at < len(text):
        char = text[at]
        if char in QUOTES and (end := _end_of_string(text, at + 1, char)) >= 0 and "\n" not in text[at:end]:
            at = end  # else it is an apostrophe
        elif char in pairs:
            depth += 1
        elif char in closers:
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return -1


def before_closers(text: str, closers: str) -> str | None:
    """What of an answer goes in front of ``closers``, which it has as well; None if they do not fit it.

    Where they are the end of its only line, all but them. Else up to the first of them: what follows is suggested when
    that has been typed.
    """
    if "\n" not in text and text.endswith(closers):
        return text[: -len(closers)]
    end = first_closer(text, closers[0])
    return text[:end] if end >= 0 and text[end] == closers[0] else None


def _end_of_string(text: str, at: int, quote: str) -> int:
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at if at < len(text) else -1
