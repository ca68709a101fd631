"""Passwords of plain words: what is in quotes and assigned to a name that ends in ``password`` or the like.

A password may be a word, or a sentence. So the name alone decides, and of four characters and more the text only where
it is a label or stands for a value: ``"Enter your password"``, ``"changeme"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from completiond.exclude.secret_span import SecretSpan
from completiond.exclude.secret_value import is_placeholder

__all__ = ["HINTS", "LITERAL", "NAME", "is_label", "passwords", "places"]

HINTS = ("pass", "pwd", "kennwort", "contrase", "senha", "wachtwoord", "haslo", "has\u0142o", "parola")
"""Where names begin in a text in small letters."""
NAME = (
    "(?i:passw(?:or)?d|passphrase|passwort|passcode|pwd|kennwort|contrase[n\u00f1]a|senha|wachtwoord|has[l\u0142]o|parola"
    "|(?:(?<=de)|(?<=de[ _-]))passe)"
    "|(?<![A-Za-z])pass(?![A-Za-z])|(?<![A-Z])PASS(?![A-Za-z])|(?<=[a-z0-9_])Pass(?![a-z])"
)
"""A pattern of what a password is called; ``mot de passe`` is known by its end."""
LITERAL = (
    r"""(?:"(?P<double>[^"\r\n\\]{4,256}+)(?:"|\r?$) | '(?P<single>[^'\r\n\\]{4,256}+)(?:'|\r?$)"""
    r""" | `(?P<back>[^`\r\n\\]{4,256}+)(?:`|\r?$))"""
)
"""A verbose pattern of what is in quotes. Without its closing quote it goes on to the end of its line: it is being
typed.
"""
_NAME = re.compile(NAME + "|(?P<digits>(?<![A-Za-z])(?i:pin|otp)(?![A-Za-z]))")
_VALUE = re.compile(
    r"""
    [_-]?\d{0,3} (?:\\?["'`])?+ [\])]?+
    (?: \??[ \t]*+:[ \t]*+[&\w.<>\[\]|? ]{1,40}?(?=[ \t]?=) | [ \t]++string(?=[ \t]=) )?         # a type
    [ \t]{0,8}(?:=>|:=|[!=]==?|[=:])[ \t]{0,8} [A-Za-z@$]{0,2}?
    """
    + LITERAL,
    re.VERBOSE | re.MULTILINE,
)


def places(hints: Iterable[str], text: str, lowered: str) -> Iterator[int]:
    """Where one of ``hints`` stands in ``text``, in whatever case, hint by hint; ``lowered`` is the text in small
    letters.
    """
    if len(lowered) != len(text):  # a letter whose small form is two
        yield from (found.start() for found in re.finditer(f"(?i:{'|'.join(map(re.escape, hints))})", text))
        return
    for hint in hints:
        place = lowered.find(hint)
        while place >= 0:
            yield place
            place = lowered.find(hint, place + 1)


def passwords(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Those in ``text``, in any order; ``lowered`` is the text in small letters. A PIN is one of digits."""
    for place in places((*HINTS, "pin", "otp"), text, lowered):
        name = _NAME.match(text, place)
        found = _VALUE.match(text, name.end()) if name is not None else None
        if name is None or found is None or found.lastgroup is None:
            continue
        value = found[found.lastgroup]
        if not is_label(value) and (value.isdigit() or not name["digits"]):
            yield SecretSpan(*found.span(found.lastgroup), "assignment")


def is_label(value: str) -> bool:
    """Test data, a placeholder, and the texts of forms."""
    if " " in value and _NAME.search(value):
        return True
    return not any(map(str.isalnum, value)) or is_placeholder(value)
