"""Private keys in the form that ``-----BEGIN`` and ``-----END`` enclose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from completiond.exclude.secret_span import SecretSpan

__all__ = ["private_keys"]

_MARKER = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_DATA = re.compile(r"[A-Za-z0-9+/=]{40}")
_KEY_LINE = re.compile(
    r"(?:\\n|[\s\"'`+,;#*|>])*(?:[A-Za-z0-9+/=]{4,}+|(?:Proc-Type|DEK-Info|Version|Comment):.*)?(?:\\n|[\s\"'`+,;|])*"
)


def private_keys(text: str) -> Iterator[SecretSpan]:
    """Blocks from BEGIN to END; where the text begins or ends inside one, the lines that can belong to it."""
    markers = list(_MARKER.finditer(text))
    for i, marker in enumerate(markers):
        before = markers[i - 1] if i else None
        after = markers[i + 1] if i + 1 < len(markers) else None
        if marker[1] == "BEGIN":
            end = after.end() if after and after[1] == "END" else after.start() if after else len(text)
            if not (after and after[1] == "END"):
                end = _data_end(text, marker.end(), end)
            start = marker.start()
        elif before is None or before[1] == "END":
            start, end = _data_start(text, before.end() if before else 0, marker.start()), marker.end()
        else:
            continue
        if _KEY_DATA.search(text, start, end):
            yield SecretSpan(start, end, "private_key")


def _data_end(text: str, start: int, limit: int) -> int:
    while start < limit:
        line_end = text.find("\n", start, limit)
        line_end = limit if line_end < 0 else line_end
        if not _KEY_LINE.fullmatch(text, start, line_end):
            # Key and code in one line: a string with escaped line ends.
            data = _KEY_DATA.search(text, start, line_end)
            return line_end if data else start
        start = line_end + 1
    return limit


def _data_start(text: str, limit: int, end: int) -> int:
    start = end
    while start > limit:
        line_start = text.rfind("\n", limit, start - 1) + 1 or limit
        line_start = max(line_start, limit)
        if not _KEY_LINE.fullmatch(text, line_start, start):
            return line_start if _KEY_DATA.search(text, line_start, start) else start
        start = line_start
    return start
