"""aiohttp's server, with bounds: how many may be connected, how long one may take to ask, how much one may send.

The Unix socket and the port have their own numbers: anyone on this machine can connect to a port.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from http import HTTPStatus
from typing import Final

from aiohttp import web

from completiond.api.replies import compact, error_body

__all__ = ["MAX_CONNECTIONS", "SILENCE_S", "HttpServer"]

MAX_CONNECTIONS: Final = 256
"""More are refused at once; editors and their plugins have one or two each."""
SILENCE_S: Final = 15.0
"""A connection on which no request comes, or not all of its header, is closed after so long."""
_LINGER_S: Final = 2.0
"""Who is refused while it still sends may go on for so long, so that it comes to read why."""
_CLOSE_S: Final = 0.1


class HttpServer:
    """Serves one application on connections that are handed to it, or on a port."""

    def __init__(self, app: web.Application) -> None:
        # aiohttp logs what it fails at with requests in it.
        quiet = logging.Logger("completiond.api.aiohttp")
        quiet.addHandler(logging.NullHandler())
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=SILENCE_S,
            lingering_time=_LINGER_S,
            logger=quiet,
            shutdown_timeout=_CLOSE_S,
        )
        self._listener: asyncio.Server | None = None
        self.others: list[HttpServer] = []
        """Those that are closed with this one."""

    async def start(self, listening: socket.socket | None = None) -> None:
        """Get ready; ``listening``: the port."""
        await self._runner.setup()
        if listening is not None:
            self._listener = await asyncio.get_running_loop().create_server(self._protocol, sock=listening)

    def take(self, transport: asyncio.Transport, data: bytes) -> None:
        """Serve a connection, on which ``data`` was received already."""
        protocol = self._protocol()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        protocol.data_received(data)

    def _protocol(self) -> asyncio.Protocol:
        server = self._runner.server
        assert server is not None, "start() comes first"
        return server() if len(server.connections) < MAX_CONNECTIONS else _Refusal()

    async def close(self) -> None:
        """Hang up on all."""
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        for other in self.others:
            await other.close()


class _Refusal(asyncio.Protocol):
    """Says that there are too many, and hangs up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "a stream's"
        status = HTTPStatus.SERVICE_UNAVAILABLE
        body = compact(error_body(status, f"{MAX_CONNECTIONS} connections are open already.", "Close some."))
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        transport.close()
