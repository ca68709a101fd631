"""Passwords without a name of their own, behind a user's name: in calls that log in or connect, and on the command
lines of curl and mysql.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from completiond.exclude.secret_span import SecretSpan
from completiond.exclude.secret_value import is_placeholder, looks_random
from completiond.exclude.secret_words import LITERAL, is_label, places

__all__ = ["in_calls", "in_commands"]

_CALL_HINTS = ("auth", "login(", "connect(", "mysqli(", "getconnection(", "pdo(")
_QUOTED = r"""[A-Za-z]{0,2}(?:"[^"\r\n\\]{0,128}"|'[^'\r\n\\]{0,128}')"""
_CALL = re.compile(
    rf"""
    (?i: (?: (?<!o)auth(?:["'\]]{{0,2}}[ ]?(?:=>|[=:])[ ]?)? | login) (?: (?P<sure>\() | \[ )
      | (?:connect|mysqli|getconnection|pdo)\(\s{{0,40}}(?:{_QUOTED}|[\w.$]{{1,64}})\s{{0,4}}, )
    \s{{0,40}} (?:(?P<user>{_QUOTED})|[A-Za-z_$][\w.]{{0,63}}) \s{{0,4}},\s{{0,40}} [A-Za-z@$]{{0,2}} {LITERAL}
    """,
    re.VERBOSE | re.MULTILINE,
)
_BARE_CHARS = r"\s\"'`\\;|&()<>"
_CURL = re.compile(
    rf"""
    (?<![\w-])(?:-[uU]|--(?:proxy-)?user(?=[\s"'=])) (?:["'],\s{{1,40}} | [ \t=]{{1,4}})?
    (?: "[^"\r\n:]{{1,128}}:(?P<double>[^"\r\n\\]{{4,256}}+) | '[^'\r\n:]{{1,128}}:(?P<single>[^'\r\n\\]{{4,256}}+)
      | [^:{_BARE_CHARS}]{{1,128}}:(?P<bare>[^{_BARE_CHARS}]{{4,256}}+) )
    """,
    re.VERBOSE,
)
_MYSQL = re.compile(
    rf"""
    (?<![\w-])(?:--password[= ]|-p(?!rint|rune|rogress)) # mysql's own folder may be where ``find -print`` looks
    (?: "(?P<double>[^"\r\n\\]{{4,256}}+) | '(?P<single>[^'\r\n\\]{{4,256}}+)
      | (?P<bare>(?!-)[^{_BARE_CHARS}]{{4,256}}+) )
    """,
    re.VERBOSE,
)
_PROGRAMS = ((re.compile(r"curl"), _CURL), (re.compile(r"mysql|mariadb"), _MYSQL))
_NEW_COMMAND = re.compile(r"(?<![\\,\r])\r?\n")
_MAX_COMMAND_CHARS = 400


def in_calls(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Those in ``text``, in any order; ``lowered`` is the text in small letters. Where the call or the user could be
    anything, the password has to look like one.
    """
    for place in places(_CALL_HINTS, text, lowered):
        found = _CALL.match(text, place)
        if found is None or found.lastgroup is None:
            continue
        value = found[found.lastgroup]
        if not is_label(value) if found["sure"] and found["user"] else looks_random(value, True):
            yield SecretSpan(*found.span(found.lastgroup), "login")


def in_commands(text: str) -> Iterator[SecretSpan]:
    """``-u user:password`` behind ``curl``, and ``-ppassword`` and ``--password`` behind ``mysql`` or ``mariadb``, in
    the same line, lines joined by backslashes, or a list.
    """
    for program, options in _PROGRAMS:
        if program.search(text) is None:
            continue
        for found in options.finditer(text):
            before = text[max(0, found.start() - _MAX_COMMAND_CHARS) : found.start()]
            if found.lastgroup is None or not program.search(before):
                continue
            value = found[found.lastgroup]
            if is_placeholder(value) or (found[0].startswith("-p") and not any(map(str.isalpha, value))):
                continue  # digits behind ``-p`` are a port
            if program.search(_NEW_COMMAND.split(before)[-1]):
                yield SecretSpan(*found.span(found.lastgroup), "login")
