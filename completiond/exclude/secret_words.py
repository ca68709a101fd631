"""Passwords of plain words: what is in quotes and assigned to a name that ends in ``password`` or the like.

A password may be a word, or a sentence. So the name alone decides, and of four characters and more the text only where
it is a label or stands for a value: ``"Enter your password"``, ``"changeme"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from completiond.exclude.secret_span import SecretSpan
from completiond.exclude.secret_value import is_placeholder

__all__ = ["passwords"]

_HINT = re.compile(r"pass|pwd")
"""Where names begin in a text in small letters."""
_NAME = re.compile(
    r"(?i:passw(?:or)?d|passphrase|passwort|passcode|pwd)"
    r"|(?<![A-Za-z])pass(?![A-Za-z])|(?<![A-Z])PASS(?![A-Za-z])|(?<=[a-z0-9_])Pass(?![a-z])"
)
_VALUE = re.compile(
    r"""
    [_-]?\d{0,3} (?:\\?["'`])?+ [\])]?+
    (?: \??[ \t]*+:[ \t]*+[&\w.<>\[\]|? ]{1,40}?(?=[ \t]?=) | [ \t]++string(?=[ \t]=) )?         # a type
    [ \t]{0,8}(?:=>|:=|[!=]==?|[=:])[ \t]{0,8} [A-Za-z@$]{0,2}?
    (?: "(?P<double>[^"\r\n\\]{4,256}+)(?:"|\r?$) | '(?P<single>[^'\r\n\\]{4,256}+)(?:'|\r?$)
      | `(?P<back>[^`\r\n\\]{4,256}+)(?:`|\r?$) )
    """,
    re.VERBOSE | re.MULTILINE,
)


def passwords(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Those in ``text``, in order; ``lowered`` is the text in small letters. One without its closing quote goes on to
    the end of its line: it is being typed.
    """
    hints = _HINT.finditer(lowered) if len(lowered) == len(text) else re.finditer(f"(?i:{_HINT.pattern})", text)
    for hint in hints:
        name = _NAME.match(text, hint.start())
        found = _VALUE.match(text, name.end()) if name is not None else None
        if found is not None and found.lastgroup is not None and not _is_label(found[found.lastgroup]):
            yield SecretSpan(*found.span(found.lastgroup), "assignment")


def _is_label(value: str) -> bool:
    """Test data, a placeholder, and the texts of forms."""
    if " " in value and _NAME.search(value):
        return True
    return not any(map(str.isalnum, value)) or is_placeholder(value)
