"""``completiond lsp --standalone``: language server and service in one process, on standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable
from typing import IO

from completiond.config.settings import Settings
from completiond.logs import log_loop_errors
from completiond.lsp.connection import new_converter, serve_connection
from completiond.lsp.host import Host, ManagedService

__all__ = ["run_standalone"]

log = logging.getLogger(__name__)

_CLOSE_S = 0.7


async def run_standalone(service_factory: Callable[[], ManagedService], settings: Settings | None = None) -> int:
    """Serve one editor on file descriptors 0 and 1 until it says ``exit`` or hangs up, or until SIGTERM.

    ``settings``: those that the service follows, if it does.

    From here on file descriptor 1 is standard error, so that nothing a library prints gets among the messages. Returns
    the exit status: 0 after ``shutdown``, else 1 (LSP 3.17 "Exit Notification").
    """
    loop = asyncio.get_running_loop()
    log_loop_errors(loop, log)
    stdin, stdout = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    reader, writer = await _open_streams(stdin, stdout)
    service = service_factory()
    service.start()
    host = Host(service, None, lambda: stop(), settings)
    serving = asyncio.create_task(serve_connection(host, new_converter(), reader, writer))

    def stop() -> None:
        serving.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        return await serving
    except asyncio.CancelledError:
        return 0
    finally:
        with contextlib.suppress(TimeoutError, OSError):
            await asyncio.wait_for(writer.wait_closed(), _CLOSE_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(service.close(), _CLOSE_S)


async def _open_streams(stdin: IO[bytes], stdout: IO[bytes]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), stdout
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
