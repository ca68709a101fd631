"""What all connections of one process share: the service, counters, and the way to stop."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from completiond import __version__
from completiond.complete.accepts import AcceptCounts
from completiond.complete.service_protocol import Service
from completiond.config.settings import Settings

__all__ = ["Counters", "Host", "ManagedService"]


class ManagedService(Service, Protocol):
    """A service with a beginning and an end, which belong to the process that hosts it."""

    def start(self) -> None:
        """Begin to load the model, in the background."""

    async def close(self) -> None:
        """Stop all work."""


@dataclass(slots=True)
class Counters:
    """Completion requests since the start. Those that ended are in exactly one of the next four.

    ``cached``: of those that ended, answered or empty, how many took no pass of the model.
    """

    requests: int = 0
    answered: int = 0
    superseded: int = 0
    cancelled: int = 0
    empty: int = 0
    cached: int = 0


class Host:
    """The process around the connections: the daemon, or a stand-alone language server without a ``socket``."""

    def __init__(
        self, service: Service, socket: Path | None, request_stop: Callable[[], None], settings: Settings | None = None
    ) -> None:
        """``request_stop`` makes the process end soon; it returns at once. ``settings``: those of the process, if it
        has any.
        """
        self.service = service
        self.settings = settings
        self.request_stop = request_stop
        self.counters = Counters()
        self.http_url: str | None = None
        """Where HTTP is served over TCP, if anywhere."""
        self.accepts = AcceptCounts()
        self._socket = socket
        self._started_s = time.monotonic()
        self._num_connected = 0
        self._clients: dict[str, Callable[[], None]] = {}

    def add_client(self, on_stop: Callable[[], None]) -> str:
        """Register a connection and return its id; ``on_stop`` is called when the process stops on purpose."""
        self._num_connected += 1
        client_id = f"connection-{self._num_connected}"
        self._clients[client_id] = on_stop
        return client_id

    def remove_client(self, client_id: str) -> None:
        """Forget a connection that has ended, and all it asked for."""
        if self._clients.pop(client_id, None) is not None:
            self.service.forget_client(client_id)
            if self.settings is not None:
                self.settings.forget_client(client_id)

    def announce_stop(self) -> None:
        """Tell every connection that the process stops on purpose."""
        for on_stop in tuple(self._clients.values()):
            on_stop()

    def status(self, asking: str | None = None, asks_why: bool = False) -> dict[str, Any]:
        """Return the answer to ``completiond/status``; the settings for all clients, and what is wrong with any, are as
        they are at this moment.

        ``asking``: a client that does no more than ask this, and is not counted. ``asks_why``: tell of the last
        requests, too.
        """
        if self.settings is not None:
            self.settings.look(now=True)
        problems = self.settings.problems() if self.settings is not None else []
        values = {
            **asdict(self.service.state),
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._started_s, 3),
            "rss_mb": round(_rss_bytes() / 1e6, 1),
            "version": __version__,
            "socket": str(self._socket) if self._socket else None,
            "http": self.http_url,
            "clients": len(self._clients) - (asking in self._clients),
            "environment": self.settings.environment if self.settings is not None else {},
            "settings": self.settings.config.model_dump(mode="json") if self.settings is not None else {},
            "problems": [str(problem) for problem in problems],
            "counters": asdict(self.counters),
            "accepts": asdict(self.accepts),
            "work": asdict(self.service.work),
            "dictionary": asdict(self.service.dictionary),
            "latency": asdict(self.service.latency),
            "acceptance": [asdict(one) for one in self.service.acceptance],
        }
        return values | {"recent": [asdict(one) for one in self.service.recent]} if asks_why else values


def _rss_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the peak instead
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
