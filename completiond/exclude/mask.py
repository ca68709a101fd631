"""A text around a cursor with its secrets made unreadable, as a model may see it."""

from __future__ import annotations

import re
from typing import Final

from completiond.exclude.secret_text import find_secrets

__all__ = ["MASK", "mask_secrets"]

MASK: Final = "*"
"""Takes the place of each character: text keeps its length, so that places in it stay what they are."""
MARGIN_CHARS: Final = 8192
"""So much more is looked at than is read: a secret may begin before what is read, and end behind it. A private key is
shorter.
"""

_VISIBLE = re.compile(r"[^\n]")


def mask_secrets(prefix: str, suffix: str, prefix_chars: int, suffix_chars: int) -> tuple[str, str]:
    """``prefix`` and ``suffix``, the text on both sides of a cursor, without the secrets in the last ``prefix_chars``
    and the first ``suffix_chars`` characters of them. Lines and lengths stay. Takes time linear in what is looked at.
    """
    start = max(0, len(prefix) - prefix_chars - MARGIN_CHARS)
    near = prefix[start:] + suffix[: suffix_chars + MARGIN_CHARS]
    cursor = len(prefix) - start
    spans = find_secrets(near)
    if not spans:
        return prefix, suffix
    pieces, done = [], 0
    for span in spans:
        pieces += [near[done : span.start_chars], _VISIBLE.sub(MASK, near[span.start_chars : span.end_chars])]
        done = span.end_chars
    near = "".join((*pieces, near[done:]))
    return prefix[:start] + near[:cursor], near[cursor:] + suffix[suffix_chars + MARGIN_CHARS :]
