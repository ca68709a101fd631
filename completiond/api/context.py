"""What handlers find in the application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from completiond.api.last_answers import LastAnswers
from completiond.api.metrics import Metrics
from completiond.complete.service_protocol import Service
from completiond.lsp.host import Host

__all__ = ["API", "ApiContext", "service_of"]


@dataclass(slots=True)
class ApiContext:
    """What the Unix socket's application and the port's share. ``num_running``: requests for text that are being
    answered. ``started_s``: in seconds since 1970.
    """

    host: Host
    metrics: Metrics
    last_answers: LastAnswers
    started_s: int
    num_running: int = 0


API: Final = web.AppKey("api", ApiContext)


def service_of(request: web.Request) -> Service:
    """What answers."""
    return request.app[API].host.service
