"""Passwords and tokens on their way: in URLs and in ``Authorization`` headers."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from completiond.exclude.secret_span import SecretSpan
from completiond.exclude.secret_value import is_placeholder, looks_random

__all__ = ["in_headers", "in_urls"]

_URL = re.compile(r"://[^\s/:@?#\"'`<>\\]{0,128}:([^\s/@\"'`<>\\]{3,256})@[\w.\[{$%-]")
_AUTHORIZATION = re.compile(r"(?i:(bearer)|basic|token)[ \t]+([\w.~+/-]{8,}+=*)(?![.(\[])")
_BEFORE_SCHEME = re.compile(
    r"(?i:authorization)['\"\])]{0,2}\s{0,4}(?:=>|[:=,(])\s{0,4}[\w.]{0,20}[('\"`]{0,2}$|[\"'`]$"
)
"""``basic`` and ``token`` are words too: here they stand where a header's value begins."""


def in_urls(text: str) -> Iterator[SecretSpan]:
    """Passwords before the ``@`` of a URL."""
    for found in _URL.finditer(text):
        if not is_placeholder(found[1]):
            yield SecretSpan(found.start(1), found.end(1), "url_password")


def in_headers(text: str) -> Iterator[SecretSpan]:
    """What follows ``Bearer``, ``Basic`` or ``Token``."""
    for found in _AUTHORIZATION.finditer(text):
        value = found[2]
        is_header = _BEFORE_SCHEME.search(text[max(0, found.start() - 48) : found.start()]) is not None
        if not is_header and not (found[1] and len(value) >= 16):
            continue
        if looks_random(value, False) or (not found[1] and _holds_user(value)):
            yield SecretSpan(found.start(2), found.end(2), "authorization")


def _holds_user(value: str) -> bool:
    """Whether this is ``user:password`` in Base64."""
    try:
        return b":" in binascii.a2b_base64(value[:256] + "==")
    except ValueError:  # not Base64
        return False
