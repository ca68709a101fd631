"""The daemon's Unix socket speaks LSP and HTTP: a connection is what its first byte says. No aiohttp is imported
before somebody speaks HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from completiond.logs import describe

if TYPE_CHECKING:
    from completiond.api.server import HttpServer

__all__ = ["Front"]

log = logging.getLogger(__name__)

MAX_SILENT: Final = 256
"""Connections that have said nothing yet. Of more, the one that has been silent for longest makes room."""

_HTTP_BEGINS: Final = frozenset(b"DGHOPT")
"""With one of these begin DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT and TRACE, and no header of LSP's."""

ServeStreams = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Front:
    """Makes a protocol for each connection to the Unix socket, and for each to the port, if there is one."""

    def __init__(
        self,
        serve_lsp: ServeStreams,
        open_http: Callable[[], Awaitable[HttpServer]],
        is_ours: Callable[[socket.socket], bool],
    ) -> None:
        """``open_http`` is called when it is first needed. ``is_ours``: whether the other end of a Unix socket may
        ask.
        """
        self._serve_lsp = serve_lsp
        self._open_http = open_http
        self._is_ours = is_ours
        self._silent: dict[asyncio.Transport, None] = {}
        self._http: HttpServer | None = None
        self._opening: asyncio.Task[HttpServer] | None = None
        self._waiting: set[asyncio.Task[None]] = set()

    def unix_protocol(self) -> asyncio.Protocol:
        """For a new connection to the Unix socket."""
        return _Silent(self)

    async def http(self) -> HttpServer:
        """What serves HTTP, made when it is first asked for."""
        if self._http is None:
            if self._opening is None:
                self._opening = asyncio.ensure_future(self._open_http())
            self._http = await asyncio.shield(self._opening)
        return self._http

    def enter(self, transport: asyncio.Transport) -> None:
        """A connection was made."""
        if not self._is_ours(transport.get_extra_info("socket")):
            log.warning("Refused a client of another user")
            transport.abort()
            return
        self._silent[transport] = None
        if len(self._silent) > MAX_SILENT:
            next(iter(self._silent)).abort()

    def leave(self, transport: asyncio.Transport) -> None:
        """It is gone, or has said something."""
        self._silent.pop(transport, None)

    def begin(self, transport: asyncio.Transport, data: bytes) -> None:
        """``data`` is the first that it said."""
        if transport not in self._silent:  # refused
            return
        self.leave(transport)
        if data[0] not in _HTTP_BEGINS:
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader, self._serve_lsp)
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            protocol.data_received(data)
        elif self._http is not None:
            self._http.take(transport, data)
        else:
            transport.pause_reading()
            task = asyncio.ensure_future(self._begin_http(transport, data))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)

    async def _begin_http(self, transport: asyncio.Transport, data: bytes) -> None:
        try:
            http = await self.http()
        except Exception as error:
            log.error("HTTP cannot be served: %s", describe(error))
            transport.abort()
            return
        if not transport.is_closing():
            http.take(transport, data)
            transport.resume_reading()

    async def close(self) -> None:
        """Hang up on all who have said nothing, and end HTTP."""
        for transport in tuple(self._silent):
            transport.abort()
        for task in tuple(self._waiting):
            task.cancel()
        if self._opening is not None:
            self._opening.cancel()
        if self._http is not None:
            await self._http.close()


class _Silent(asyncio.Protocol):
    """A connection that has said nothing."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "a stream's"
        self._transport = transport
        self._front.enter(transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None, "it was made"
        self._front.begin(self._transport, data)

    def connection_lost(self, error: Exception | None) -> None:
        assert self._transport is not None, "it was made"
        self._front.leave(self._transport)
