"""Serves one client on a pair of streams, from its first message until one side is done."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from pygls.io_ import run_async
from pygls.protocol import default_converter

from completiond.logs import describe
from completiond.lsp.host import Host
from completiond.lsp.server import create_server

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["new_converter", "serve_connection"]

log = logging.getLogger(__name__)


def new_converter() -> Converter:
    """Return what turns messages into objects and back. It takes 15 ms to make; connections can share one."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    return converter


async def serve_connection(
    host: Host, converter: Converter, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> int:
    """Answer one client until it says ``exit`` or its stream ends; then cancel all it asked for and close ``writer``.

    Returns the exit status of LSP 3.17 "Exit Notification": 0 if ``shutdown`` came first, else 1.
    """
    server = create_server(host, converter)
    protocol = server.protocol
    protocol.set_writer(writer)
    log.info("%s opened", server.client_id)
    try:
        await run_async(
            protocol.ended, reader, protocol, logging.getLogger("pygls.io_"), error_handler=server.report_server_error
        )
    except (OSError, asyncio.IncompleteReadError, ValueError) as error:
        # The client has gone, in the middle of a message perhaps, or a header line is longer than any can be.
        log.info("%s broke off: %s", server.client_id, describe(error))
    finally:
        server.close()
        writer.close()
        log.info("%s closed", server.client_id)
    return 0 if protocol.shutdown_received else 1
