"""Where HTTP comes in over TCP, and the server for it and for the Unix socket. aiohttp is imported when it is needed,
on another thread: it takes a quarter of a second, in which editors' requests go on.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Self

from completiond.api.token import http_token
from completiond.config.http_address import HttpAddress
from completiond.errors import DaemonError
from completiond.paths import Paths

if TYPE_CHECKING:
    from completiond.api.server import HttpServer
    from completiond.lsp.host import Host

__all__ = ["Port", "open_http"]

log = logging.getLogger(__name__)

_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Port:
    """A socket that listens at ``address``, and what clients there have to know."""

    listening: socket.socket
    address: HttpAddress
    token: str

    @classmethod
    @contextmanager
    def opened(cls, text: str, paths: Paths) -> Iterator[Self | None]:
        """Listen at the address in ``text`` until the block ends; None for an empty one. Raises DaemonError where that
        cannot be done.
        """
        port = cls._open(text, paths) if text else None
        try:
            yield port
        finally:
            if port is not None:
                port.listening.close()

    @classmethod
    def _open(cls, text: str, paths: Paths) -> Self:
        address = HttpAddress.parse(text)
        token = http_token(paths)
        listening = socket.socket(socket.AF_INET6 if address.is_ipv6 else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address.host, address.port))
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            raise DaemonError(
                f"Cannot listen on {address}: {error.strerror or error}.",
                "Choose another port, by --http or api.http; port 0 is any that is free.",
            ) from error
        listening.setblocking(False)
        return cls(listening, replace(address, port=listening.getsockname()[1]), token)


async def open_http(host: Host, port: Port | None) -> HttpServer:
    """Start to serve HTTP for ``host`` on connections to its Unix socket, which are handed over; and on ``port``."""
    await asyncio.to_thread(import_module, "completiond.api.app")
    from completiond.api.access import access_middleware
    from completiond.api.app import make_app
    from completiond.api.context import ApiContext
    from completiond.api.last_answers import LastAnswers
    from completiond.api.metrics import Metrics
    from completiond.api.server import HttpServer

    api = ApiContext(host, Metrics(host.service), LastAnswers(host.service), int(time.time()))
    server = HttpServer(make_app(api))
    await server.start()
    if port is not None:
        own = HttpServer(make_app(api, access_middleware(port.address, port.token)))
        await own.start(port.listening)
        server.others.append(own)
        log.info("HTTP at %s; `completiond token` prints what clients need", port.address.url)
    return server
