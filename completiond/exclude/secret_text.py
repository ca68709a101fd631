"""Passwords, tokens and keys in a text: by the shapes that services give theirs, by the names they are assigned to, and
behind the names of users.

A miss leaks a secret, a false alarm costs a completion; so a value counts when it looks random or mixes kinds of
characters, and not when it looks like words, a placeholder, a name or a call; but in quotes behind a password's own
name, words do (secret_words.py). Not found: one without quotes that could be a variable (``password = hunter``).

Time is linear in the text: patterns start at a literal or a keyword, and what they repeat is bounded, possessive, or
cannot be entered twice. Most texts have none of the hints and cost a substring search for each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from completiond.exclude.private_keys import private_keys
from completiond.exclude.secret_assignments import assigned
from completiond.exclude.secret_logins import in_calls, in_commands
from completiond.exclude.secret_shapes import with_shape
from completiond.exclude.secret_span import SecretSpan
from completiond.exclude.secret_transport import in_headers, in_urls
from completiond.exclude.secret_words import HINTS, passwords

__all__ = ["find_secrets", "secret_lines"]

_KEYWORDS = (*HINTS, "secret", "token", "key", "credential")


def find_secrets(text: str) -> list[SecretSpan]:
    """The secrets in ``text``, in order; spans do not overlap. Takes time linear in the text, and never raises."""
    spans = list(with_shape(text))
    lowered = text.lower()
    if "-----" in text:
        spans += private_keys(text)
    if "://" in text:
        spans += in_urls(text)
    if "bearer" in lowered or "authorization" in lowered or "basic " in lowered:
        spans += in_headers(text)
    if "curl" in text or "mysql" in text or "mariadb" in text:
        spans += in_commands(text)
    spans += in_calls(text, lowered)
    spans += passwords(text, lowered)
    if any(keyword in lowered for keyword in _KEYWORDS):
        spans += assigned(text, lowered)
    return _merged(spans) if spans else []


def secret_lines(lines: Sequence[str], spans: Sequence[SecretSpan] | None = None) -> frozenset[int]:
    """The lines, counted from 0, that a secret touches; all lines of a private key. ``spans`` are the secrets of the
    lines put together, if they are known.
    """
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    touched: set[int] = set()
    for span in find_secrets("\n".join(lines)) if spans is None else spans:
        touched.update(range(bisect_right(starts, span.start_chars) - 1, bisect_right(starts, span.end_chars - 1)))
    return frozenset(touched)


def _merged(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Where spans overlap, one over all of them, of the first one's kind."""
    merged: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: span.start_chars):  # stable: a known shape comes before a name
        last = merged[-1] if merged else None
        if last is None or span.start_chars >= last.end_chars:
            merged.append(span)
        elif span.end_chars > last.end_chars:
            merged[-1] = SecretSpan(last.start_chars, span.end_chars, last.kind)
    return merged
