"""msgpack-rpc as it is on the wire, written with nothing of ours but the library: what is tested is the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgpack

from tests.e2e.harness import TIMEOUT_S


class WireError(Exception):
    """An error that the daemon answered."""

    def __init__(self, error: Any) -> None:
        super().__init__(error)
        self.error = error


class RpcWire:
    """One connection. Notifications are kept in ``told``, as (method, parameters)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.told: list[tuple[str, Any]] = []
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._something = asyncio.Event()
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    @asynccontextmanager
    async def on_socket(cls, path: Path) -> AsyncIterator[RpcWire]:
        """Connect, and hang up in the end."""
        wire = cls(*await asyncio.open_unix_connection(str(path)))
        try:
            yield wire
        finally:
            wire.writer.close()
            with contextlib.suppress(OSError):  # the daemon hung up first
                await wire.writer.wait_closed()
            async with asyncio.timeout(TIMEOUT_S):
                await wire._reading

    @property
    def hung_up(self) -> bool:
        """Whether the daemon has closed the connection."""
        return self._reading.done()

    async def until_hung_up(self) -> None:
        """Wait for the daemon to close the connection."""
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.shield(self._reading)

    def send(self, *messages: Any) -> None:
        """Send values, whatever they are, in one packet."""
        self.writer.write(b"".join(msgpack.packb(message, unicode_errors="surrogatepass") for message in messages))

    def prepare(self, method: Any, *params: Any) -> tuple[list[Any], asyncio.Future[Any]]:
        """A request and the future of its answer; send it with ``send``."""
        message_id = next(self._ids)
        answer = self._answers[message_id] = asyncio.get_running_loop().create_future()
        return [0, message_id, method, list(params)], answer

    def start(self, method: Any, *params: Any) -> asyncio.Future[Any]:
        """Send a request and return the future of its answer."""
        message, answer = self.prepare(method, *params)
        self.send(message)
        return answer

    async def request(self, method: Any, *params: Any) -> Any:
        """The result of a request. Raises WireError."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self.start(method, *params)

    def notify(self, method: Any, *params: Any) -> None:
        """Send a notification."""
        self.send([2, method, list(params)])

    async def wait_for(self, method: str, count: int = 1) -> Any:
        """Parameters of the notification ``method`` that is number ``count`` of its kind."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                found = [params for name, params in self.told if name == method]
                if len(found) >= count:
                    return found[count - 1]
                if self.hung_up:
                    raise ConnectionError("the daemon hung up")
                self._something.clear()
                await self._something.wait()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        unpacker = msgpack.Unpacker()
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                unpacker.feed(data)
                for message in unpacker:
                    self._take(message)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the daemon hung up"))
                answer.exception()
        self._something.set()

    def _take(self, message: list[Any]) -> None:
        if message[0] == 1:
            answer = self._answers.pop(message[1])
            if not answer.done():
                if message[2] is not None:
                    answer.set_exception(WireError(message[2]))
                else:
                    answer.set_result(message[3])
        else:
            assert message[0] == 2
            (params,) = message[2]
            self.told.append((message[1], params))
            self._something.set()
