"""What handlers find in the application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiohttp import web

from completiond.lsp.host import Host

if TYPE_CHECKING:
    from completiond.api.metrics import Metrics

__all__ = ["HOST", "METRICS", "RUNNING", "STARTED", "Running"]


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
METRICS: Final[web.AppKey[Metrics]] = web.AppKey("metrics")
"""What is counted for Prometheus."""
RUNNING: Final = web.AppKey("running", Running)
"""Requests for text that came over HTTP."""
