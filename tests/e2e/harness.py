"""Real sockets and real processes for tests: folders of their own, a daemon, an editor that sends what it is told."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from completiond.config.settings import Settings
from completiond.daemon import run_daemon
from completiond.launch import try_connect
from completiond.lock import holder_pid
from completiond.lsp import wire
from completiond.lsp.host import ManagedService
from completiond.paths import Paths

ROOT = Path(__file__).parents[2]
FAKE_DAEMON = [sys.executable, "-m", "tests.e2e.fake_daemon"]
EMPTY: dict[str, Any] = {"items": []}
"""The answer to a request for inline completion that shows nothing."""
TIMEOUT_S = 30.0
"""For what takes milliseconds when nothing else runs on the machine."""


@contextmanager
def temporary_paths() -> Iterator[Paths]:
    """Folders for one test, with a runtime folder short enough for a socket; a daemon left in them is killed."""
    with tempfile.TemporaryDirectory(prefix="cd-", ignore_cleanup_errors=True) as folder:
        paths = Paths(Path(folder, "cache"), Path(folder, "config"), Path(folder, "run"), Path(folder, "state"))
        try:
            yield paths
        finally:
            kill_daemon(paths)


def kill_daemon(paths: Paths) -> None:
    """Kill -9 the daemon and wait until the system has freed its lock. One that is only starting is not found."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while (pid := holder_pid(paths.lock)) is not None and time.monotonic() < deadline_s:
        if pid not in (0, os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def environment(paths: Paths, **more: str) -> dict[str, str]:
    """Return the environment of a program that uses ``paths`` and starts the fake daemon."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "COMPLETIOND_CACHE_DIR": str(paths.cache_dir),
        "COMPLETIOND_CONFIG_DIR": str(paths.config_dir),
        "COMPLETIOND_RUNTIME_DIR": str(paths.runtime_dir),
        "COMPLETIOND_STATE_DIR": str(paths.state_dir),
        "COMPLETIOND_SERVE_COMMAND": shlex.join(FAKE_DAEMON),
        **more,
    }


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition that no event tells of."""
    async with asyncio.timeout(TIMEOUT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def is_listening(paths: Paths) -> bool:
    """Return whether something accepts connections on the daemon's socket."""
    connection = try_connect(paths)
    if connection is not None:
        connection.close()
    return connection is not None


@asynccontextmanager
async def daemon_in_process(
    paths: Paths, service: ManagedService, settings: Settings | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """Run a daemon on this event loop, stop it at the end, and raise what it raised."""
    task = asyncio.create_task(run_daemon(lambda: service, paths, settings))
    try:
        await until(lambda: task.done() or is_listening(paths))
        yield task
    finally:
        if not task.done():
            async with Editor.on_socket(paths) as editor:
                await editor.request("completiond/stop")
        async with asyncio.timeout(TIMEOUT_S):
            await task


class RpcError(Exception):
    """An error that a server answered."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.data: Any = error.get("data")


class Editor:
    """A client in plain JSON-RPC. All it receives but answers is in ``received``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.received: list[dict[str, Any]] = []
        self.process: asyncio.subprocess.Process | None = None
        self._ids = itertools.count(1)
        self._answers: dict[object, asyncio.Future[Any]] = {}
        self._something = asyncio.Event()
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    @asynccontextmanager
    async def on_socket(cls, paths: Paths) -> AsyncIterator[Editor]:
        """Connect to the daemon."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(paths.socket))
        editor = cls(*await asyncio.open_unix_connection(sock=connection))
        try:
            yield editor
        finally:
            await editor.hang_up()

    @classmethod
    @asynccontextmanager
    async def on_program(cls, *command: str, env: dict[str, str]) -> AsyncIterator[Editor]:
        """Start a language server."""
        process = await asyncio.create_subprocess_exec(
            *command, env=env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        editor = cls(process.stdout, process.stdin)
        editor.process = process
        try:
            yield editor
        finally:
            await editor.hang_up()
            async with asyncio.timeout(TIMEOUT_S):
                await process.wait()

    async def hang_up(self) -> None:
        """Close the connection."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
        async with asyncio.timeout(TIMEOUT_S):
            await self._reading

    async def _read(self, reader: asyncio.StreamReader) -> None:
        parser = wire.FrameParser()
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                for body in parser.feed(data):
                    self._take(wire.parse(body))
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the server hung up"))
        self._something.set()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            answer = self._answers.pop(message["id"])
            if not answer.done():
                if "error" in message:
                    answer.set_exception(RpcError(message["error"]))
                else:
                    answer.set_result(message["result"])
            return
        self.received.append(message)
        self._something.set()
        if "id" in message:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": None})

    @property
    def hung_up(self) -> bool:
        """Whether the server has closed the connection."""
        return self._reading.done()

    def send(self, *messages: dict[str, Any]) -> None:
        """Send messages in one packet."""
        self.writer.write(b"".join(wire.encode(message) for message in messages))

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send(notification(method, params))

    def prepare(self, method: str, params: Any = None) -> tuple[dict[str, Any], asyncio.Future[Any]]:
        """Return a request and the future of its answer; send it with ``send``."""
        message_id = next(self._ids)
        answer = asyncio.get_running_loop().create_future()
        self._answers[message_id] = answer
        return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}, answer

    def start(self, method: str, params: Any = None) -> asyncio.Future[Any]:
        """Send a request and return the future of its answer."""
        message, answer = self.prepare(method, params)
        self.send(message)
        return answer

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its answer. Raises RpcError."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self.start(method, params)

    async def wait_for(self, method: str, condition: Callable[[Any], bool] = lambda params: True) -> Any:
        """Wait for a message the server sends and return its parameters; one already received counts."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                for message in self.received:
                    if message["method"] == method and condition(message["params"]):
                        return message["params"]
                if self.hung_up:
                    raise ConnectionError("the server hung up")
                self._something.clear()
                await self._something.wait()

    def count(self, method: str) -> int:
        """Return how many messages of the method have come in."""
        return sum(message["method"] == method for message in self.received)

    async def initialize(
        self,
        encodings: list[str] | None = None,
        progress: bool = False,
        process_id: int | None = None,
        experimental: Any = None,
    ) -> dict[str, Any]:
        """Do the LSP handshake and return the announced capabilities."""
        capabilities: dict[str, Any] = {"window": {"workDoneProgress": progress}}
        if experimental is not None:
            capabilities["experimental"] = experimental
        if encodings is not None:
            capabilities["general"] = {"positionEncodings": encodings}
        result = await self.request("initialize", {"processId": process_id, "capabilities": capabilities})
        self.notify("initialized", {})
        announced: dict[str, Any] = result["capabilities"]
        return announced

    def open(self, uri: str, text: str, version: int = 1) -> None:
        """Open a document."""
        document = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def insert(self, uri: str, line: int, character: int, text: str, version: int = 2) -> None:
        """Insert text into a document."""
        self.send(insertion(uri, line, character, text, version))

    def ask(self, uri: str, line: int = 0, character: int = 0) -> asyncio.Future[Any]:
        """Ask for an inline completion."""
        return self.start("textDocument/inlineCompletion", inline_params(uri, line, character))

    async def complete(self, uri: str, line: int = 0, character: int = 0) -> Any:
        """Return the answer to a request for an inline completion."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self.ask(uri, line, character)


def notification(method: str, params: Any) -> dict[str, Any]:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def insertion(uri: str, line: int, character: int, text: str, version: int = 2) -> dict[str, Any]:
    """Return a didChange that inserts text."""
    position = {"line": line, "character": character}
    change = {"range": {"start": position, "end": position}, "text": text}
    return notification(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
    )


def inline_params(uri: str, line: int, character: int) -> dict[str, Any]:
    """Return the parameters of a request for inline completion."""
    return {
        "textDocument": {"uri": uri},
        "position": {"line": line, "character": character},
        "context": {"triggerKind": 2},
    }
