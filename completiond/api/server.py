"""aiohttp's server, with bounds: how many may be connected, how long one may take to ask, how much one may send.

The Unix socket and the port have their own numbers: anyone on this machine can connect to a port.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from completiond.api.replies import compact, error_body, error_reply, json_reply, reply_to

__all__ = ["MAX_CONNECTIONS", "SILENCE_S", "HttpServer"]

MAX_CONNECTIONS: Final = 256
"""More are refused at once; editors and their plugins have one or two each."""
SILENCE_S: Final = 15.0
"""A connection on which no request comes, or not all of its header, is closed after so long."""
_LINGER_S: Final = 2.0
"""Who is refused while it still sends may go on for so long, so that it comes to read why."""
_CLOSE_S: Final = 0.1
_NAME: Final = "completiond"
"""aiohttp would tell its version, and Python's."""


class HttpServer:
    """Serves one application on connections that are handed to it, or on a port."""

    def __init__(self, app: web.Application) -> None:
        # aiohttp logs what it fails at with requests in it.
        quiet = logging.Logger("completiond.api.aiohttp")
        quiet.addHandler(logging.NullHandler())
        self._bounds: dict[str, Any] = {
            "access_log": None, "keepalive_timeout": SILENCE_S, "lingering_time": _LINGER_S, "logger": quiet,
        }  # fmt: skip
        app.on_response_prepare.append(_name_no_version)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=_CLOSE_S, **self._bounds)
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
        if len(server.connections) >= MAX_CONNECTIONS:
            return _Refusal()
        # What server() makes, but for the errors.
        return _Connection(server, loop=asyncio.get_running_loop(), **self._bounds)

    async def close(self) -> None:
        """Hang up on all."""
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        for other in self.others:
            await other.close()


class _Connection(web.RequestHandler):
    """A connection whose requests may be no HTTP: that is told as all other errors are, and without what was sent."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """``message`` quotes the request."""
        super().handle_error(request, status, exc)  # raises ConnectionError where a part of an answer was sent
        if isinstance(exc, LineTooLong):
            reply = error_reply(status, "The request's header is too long.", "Send a shorter path and fewer headers.")
        elif status < HTTPStatus.INTERNAL_SERVER_ERROR:
            advice = "Send HTTP/1.1 with one Host, few and short headers and, for a body, its Content-Length."
            reply = error_reply(status, "The request is no HTTP.", advice)
        else:
            reply = json_reply(reply_to(exc if isinstance(exc, Exception) else Exception())[1], status)
        reply.headers["Server"] = _NAME
        reply.force_close()
        return reply

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """An error that aiohttp raises around the application, such as for an Expect it does not know, is ours too."""
        if isinstance(resp, web.HTTPException):
            resp = error_reply(resp.status, f"{resp.reason}.", "docs/api.md says what can be asked.")
        return await super().finish_response(request, resp, start_time)


async def _name_no_version(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = _NAME


class _Refusal(asyncio.Protocol):
    """Says that there are too many, and hangs up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "a stream's"
        status = HTTPStatus.SERVICE_UNAVAILABLE
        body = compact(error_body(status, f"{MAX_CONNECTIONS} connections are open already.", "Close some."))
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        transport.close()
