"""What handlers find in the application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from completiond.lsp.host import Host

__all__ = ["HOST", "RUNNING", "STARTED", "Running"]


@dataclass(slots=True)
class Running:
    """How many requests are being answered."""

    count: int = 0

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        return self.count > 0


HOST: Final = web.AppKey("host", Host)
"""The process: its service, counters and status."""
STARTED: Final = web.AppKey("started", int)
"""When, in seconds since 1970."""
RUNNING: Final = web.AppKey("running", Running)
"""Requests for text that came over HTTP."""
