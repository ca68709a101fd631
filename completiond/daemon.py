"""The daemon: one service for every client of one user, on Unix sockets: LSP and msgpack-rpc."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from completiond.api.front import Front
from completiond.api.port import Port, open_http
from completiond.config.settings import Settings
from completiond.errors import DaemonError
from completiond.launch import try_connect
from completiond.lock import InstanceLock
from completiond.logs import describe, log_loop_errors
from completiond.lsp.host import Host, ManagedService
from completiond.paths import Paths

__all__ = ["run_daemon"]

log = logging.getLogger(__name__)

ServeClient = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]

_BACKLOG = 64
_CLOSE_SERVICE_S = 0.7
_CLOSE_CONNECTIONS_S = 0.2


async def run_daemon(
    service_factory: Callable[[], ManagedService], paths: Paths, settings: Settings | None = None
) -> None:
    """Serve clients on ``paths.socket``, and HTTP where ``api.http`` says, until ``completiond/stop``, SIGTERM or
    SIGINT. ``settings``: those that the service follows, if it does.

    The socket accepts connections before ``service_factory`` is called and pygls is imported: a client is sure to be
    served from then on, though it may have to wait a little. Raises DaemonError for a runtime folder that is
    not safe, or a socket or a port that cannot be made, and DaemonRunningError if another daemon serves.
    """
    paths.make_runtime_dir()
    lock = InstanceLock(paths)
    lock.acquire(lambda: _is_serving(paths))
    try:
        with (
            Port.opened(settings.config.api.http if settings is not None else "", paths) as port,
            _listening(paths.rpc_socket) as rpc,
            _listening(paths.socket) as main,  # last: whoever finds it finds the others, too
        ):
            await _serve(service_factory, paths, main, rpc, settings, port)
    finally:
        lock.release()


async def _serve(
    service_factory: Callable[[], ManagedService],
    paths: Paths,
    listening: socket.socket,
    rpc_listening: socket.socket,
    settings: Settings | None,
    port: Port | None,
) -> None:
    loop = asyncio.get_running_loop()
    log_loop_errors(loop, log)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    log.info("Listening on %s, process %d", paths.socket, os.getpid())
    service = service_factory()
    host = Host(service, paths.socket, stop.set, settings)
    connections = _Connections(_lsp(host))
    rpc_connections = _Connections(_rpc(host))
    service.start()  # last: the engine's thread imports torch, and one thread at a time can import
    front = Front(connections.serve, lambda: open_http(host, port), _is_ours)
    server = await loop.create_unix_server(front.unix_protocol, sock=listening)
    rpc_server = await asyncio.start_unix_server(rpc_connections.serve, sock=rpc_listening)
    if port is not None:
        host.http_url = port.address.url
        await front.http()
    await stop.wait()
    log.info("Stopping")
    server.close()
    rpc_server.close()
    paths.rpc_socket.unlink(missing_ok=True)
    paths.socket.unlink(missing_ok=True)  # from here on, a client that looks for a daemon starts the next one
    host.announce_stop()
    await front.close()
    await asyncio.gather(connections.close(), rpc_connections.close())
    try:
        await asyncio.wait_for(service.close(), _CLOSE_SERVICE_S)
    except TimeoutError:
        log.warning("The service did not close within %.1f s", _CLOSE_SERVICE_S)
    except Exception as error:
        log.error("The service did not close: %s", describe(error))


# What serves a client is imported with the sockets open already: this is most of the daemon's start-up time.
def _lsp(host: Host) -> ServeClient:
    from completiond.lsp.connection import new_converter, serve_connection

    return functools.partial(serve_connection, host, new_converter())


def _rpc(host: Host) -> ServeClient:
    from completiond.api.rpc_server import RpcServer

    rpc = RpcServer(host)

    async def serve_ours(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if _is_ours(writer.get_extra_info("socket")):  # at the main socket Front sees to that
            await rpc.serve(reader, writer)
        else:
            log.warning("Refused a client of another user")
            writer.close()

    return serve_ours


class _Connections:
    """The clients of one socket that are connected now, each in a task of its own."""

    def __init__(self, serve_client: ServeClient) -> None:
        self._serve_client = serve_client
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client that speaks LSP."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve_client(reader, writer)
        except asyncio.CancelledError:
            pass  # the daemon is closing
        except Exception as error:
            log.error("A connection failed: %s", describe(error))
            writer.close()
        finally:
            self._tasks.discard(task)

    async def close(self) -> None:
        """End all connections; what has been written to them already is still sent if the client reads on."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_CONNECTIONS_S)


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """A socket at ``path``, which is removed in the end. The lock is held, so a file in its place is left over from a
    daemon that was killed.
    """
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise DaemonError(
            f"Cannot listen on {path}: {error.strerror or error}.",
            "Set COMPLETIOND_RUNTIME_DIR to a short path (a socket's may have about 100 characters).",
        ) from error
    listening.setblocking(False)
    try:
        yield listening
    finally:
        listening.close()
        path.unlink(missing_ok=True)


def _is_serving(paths: Paths) -> bool:
    connection = try_connect(paths)
    if connection is not None:
        connection.close()
    return connection is not None


def _is_ours(connection: socket.socket) -> bool:
    """Whether the other end runs as this user; True where the system cannot tell, since the folder is 0700 too."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    with contextlib.suppress(OSError):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _pid, uid, _gid = struct.unpack("3i", credentials)
        return bool(uid == os.getuid())
    return False
