"""All msgpack-rpc clients of one daemon."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from completiond.api.rpc_connection import FRAME_TIMEOUT_S, RpcConnection
from completiond.api.rpc_frames import pack
from completiond.api.rpc_message import notification
from completiond.lsp.host import Host

__all__ = ["MAX_CONNECTIONS", "RpcServer"]

MAX_CONNECTIONS: Final = 64
_FLUSH_S: Final = 1.0


class RpcServer:
    """Serves each client that connects, MAX_CONNECTIONS of them at a time."""

    def __init__(self, host: Host, frame_timeout_s: float = FRAME_TIMEOUT_S) -> None:
        self._host = host
        self._frame_timeout_s = frame_timeout_s
        self._num_connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until it or the process is done; then close ``writer``."""
        self._num_connections += 1
        try:
            if self._num_connections > MAX_CONNECTIONS:
                error = ("TooManyClientsError", f"{MAX_CONNECTIONS} clients are connected.", "Close some.")
                writer.write(pack(notification("failure", [{"request": None, "method": "", "error": error}])))
            else:
                await RpcConnection(self._host, reader, writer, self._frame_timeout_s).serve()
            writer.close()
            with suppress(OSError):  # a TimeoutError is one, too: the client went away, or does not read
                async with asyncio.timeout(_FLUSH_S):
                    await writer.wait_closed()
        finally:
            writer.transport.abort()  # what a client does not read is not kept; after all was sent it does nothing
            self._num_connections -= 1
