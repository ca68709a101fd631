"""What ``completiond status --why`` prints for people: the last requests and what became of each, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["ago", "recent_lines"]

_NO_NAME = "no name"
_WAYS = {"engine": "written by the model", "running": "from an answer on its way", "cache": "from a kept answer"}


def recent_lines(requests: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Two lines for each request, in the form of ``recent`` in the answer to ``completiond/status``: what it was about
    and what it came to, and why.
    """
    for one in requests:
        shown = _count(one["lines"], "line") + ", " + _count(one["characters"], "character")
        way = _WAYS.get(one["served_from"], one["served_from"])
        parts = [
            f"{ago(one['ago_s'])} ago",
            one["client"] or "command line or plugin",
            f"{one['document'] or _NO_NAME} {one['line']}:{one['column']}",
            shown if one["characters"] else "nothing",
            *([way] if way else []),
            f"{one['took_ms']:.0f} ms",
        ]
        yield " · ".join(parts)
        yield f"    {one['reason']}: {one['meaning']}" if one["meaning"] else f"    {one['reason']}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ago(seconds: float) -> str:
    """How long something took, in its largest whole unit."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit if unit != 'days' or seconds >= 2 * size else 'day'}"
    return f"{int(seconds)} s"
