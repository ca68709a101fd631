"""The shim's log: lines on standard error, which editors keep. Importing ``logging`` would take 7 of its 50 ms."""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["warn"]


def warn(message: str) -> None:
    """Write one line; an editor that has closed the other end does not get it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"completiond lsp: {message}\n")
        sys.stderr.flush()
