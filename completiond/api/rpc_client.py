"""A client of the daemon's msgpack-rpc socket, for asyncio. docs/protocol.md has the protocol, and this in use."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from completiond.api.rpc_errors import error_from
from completiond.api.rpc_frames import FrameError, Frames, pack
from completiond.complete.request import Chunk, Span
from completiond.errors import DaemonError, DaemonUnreachableError
from completiond.lsp.text import PositionEncoding
from completiond.paths import Paths

__all__ = ["Edit", "RpcAnswer", "RpcClient"]

_PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """A finished completion: ``text`` is what to insert, ``number`` is what ``accept`` takes, and ``values`` is all
    that the daemon said of it, as in docs/protocol.md.
    """

    number: int
    text: str
    spans: tuple[Span, ...]
    stop_reason: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` in the place of what is from ``start`` up to ``end``, each a line and a character, both from 0."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


class RpcClient:
    """A connection. Requests may be made at the same time, by several tasks; one that is cancelled is cancelled at the
    daemon. All methods raise the CompletiondError that the daemon raised, SupersededError, RequestCancelledError, or
    DaemonUnreachableError when the daemon goes away.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._chunks: dict[int, asyncio.Queue[Chunk | None]] = {}
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        name: str,
        socket: Path | None = None,
        *,
        encoding: PositionEncoding = "utf-32",
        folders: Sequence[str] = (),
    ) -> AsyncIterator[RpcClient]:
        """Connect to a daemon that runs, at ``socket`` or where this user's is, and say hello.

        ``name``: what the user calls the client. ``encoding``: what characters of positions count; utf-32 is what
        Python's strings do. ``folders``: what the user works in, which exclusions are relative to.
        """
        path = Paths.from_environment().rpc_socket if socket is None else socket
        try:
            streams = await asyncio.open_unix_connection(str(path))
        except OSError as error:
            raise DaemonUnreachableError(
                f"No daemon listens on {path}.", "`completiond serve` starts one; so does an editor."
            ) from error
        client = cls(*streams)
        try:
            said = {"protocol": _PROTOCOL, "client": name, "encoding": encoding, "folders": list(folders)}
            await client.call("hello", said)
            yield client
        finally:
            await client.close()

    async def close(self) -> None:
        """Hang up; the daemon then cancels what is still running for this client."""
        self._writer.close()
        with contextlib.suppress(OSError):  # the daemon hung up first
            await self._writer.wait_closed()
        await self._reading

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return its result."""
        message_id = next(self._ids)
        try:
            return await self._send(message_id, method, params or {})
        except asyncio.CancelledError:
            self._cancel(message_id)
            raise
        finally:
            self._answers.pop(message_id, None)

    async def open(self, document: str, text: str, *, path: str | None = None, language: str = "") -> None:
        """Hand over a document; ``path``: where it is, if ``document`` does not say."""
        await self.call("open", {"document": document, "text": text, "path": path, "language": language})

    async def change(self, document: str, edits: Sequence[Edit]) -> None:
        """Edit a document, each edit in what the one before it left."""
        await self.call("change", {"document": document, "edits": [_edit(edit) for edit in edits]})

    async def close_document(self, document: str) -> None:
        """Forget a document."""
        await self.call("close", {"document": document})

    async def complete(self, document: str, line: int, character: int, **options: Any) -> RpcAnswer:
        """Complete in a document that is open. ``options``: as ``complete`` has them in docs/protocol.md."""
        return _answer(await self.call("complete", _place(document, line, character) | options))

    async def complete_text(self, prefix: str, suffix: str = "", *, path: str = "", **options: Any) -> RpcAnswer:
        """Complete between two texts; a newer request with the same ``path`` supersedes this one."""
        return _answer(await self.call("complete", _text(prefix, suffix, path) | options))

    def stream(
        self, document: str, line: int, character: int, **options: Any
    ) -> AsyncGenerator[Chunk | RpcAnswer, None]:
        """``complete``, with the text as it is written, and the answer last. Who stops to read cancels it: close it."""
        return self._stream(_place(document, line, character) | options)

    def stream_text(
        self, prefix: str, suffix: str = "", *, path: str = "", **options: Any
    ) -> AsyncGenerator[Chunk | RpcAnswer, None]:
        """``complete_text`` in the same way."""
        return self._stream(_text(prefix, suffix, path) | options)

    async def accept(self, answer: RpcAnswer, text: str | None = None) -> None:
        """The user took ``answer``, or its beginning ``text``."""
        await self.call("accept", {"answer": answer.number, "text": text})

    async def status(self, why: bool = False) -> dict[str, Any]:
        """What ``completiond status --json`` prints; ``why``: with the last requests."""
        values: dict[str, Any] = await self.call("status", {"why": why})
        return values

    async def _stream(self, params: Mapping[str, Any]) -> AsyncGenerator[Chunk | RpcAnswer, None]:
        message_id = next(self._ids)
        chunks = self._chunks[message_id] = asyncio.Queue()
        answer = self._send(message_id, "stream", params)
        answer.add_done_callback(lambda _: chunks.put_nowait(None))
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
            yield _answer(await answer)
        finally:
            if not answer.done():
                answer.cancel()
                self._cancel(message_id)
            elif not answer.cancelled():
                answer.exception()  # who has stopped to read does not want it
            del self._chunks[message_id]
            self._answers.pop(message_id, None)

    def _send(self, message_id: int, method: str, params: Mapping[str, Any]) -> asyncio.Future[Any]:
        answer = asyncio.get_running_loop().create_future()
        if self._reading.done():
            answer.set_exception(_gone())
        else:
            self._answers[message_id] = answer
            self._write([0, message_id, method, [params]])
        return answer

    def _cancel(self, message_id: int) -> None:
        self._write([2, "cancel", [{"request": message_id}]])

    def _write(self, message: list[Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(pack(message))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        frames = Frames()
        error: Exception = _gone()
        try:
            while data := await reader.read(65536):
                for message in frames.feed(data):
                    self._take(message)
        except FrameError as broken:
            error = DaemonError(f"The daemon's answer cannot be read: {broken}", "`completiond stop` ends it.")
        except OSError:
            pass  # it hung up
        finally:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(error)
                    answer.exception()  # who has given up waiting for it is not missed

    def _take(self, message: Any) -> None:
        match message:
            case [1, int(message_id), error, result]:
                answer = self._answers.get(message_id)
                if answer is None or answer.done():
                    return  # it was cancelled
                if error is not None:
                    answer.set_exception(error_from(error))
                else:
                    answer.set_result(result)
            case [2, "chunk", [{"request": int(message_id), "text": str(text), "spans": list(spans)}]]:
                if message_id in self._chunks:
                    self._chunks[message_id].put_nowait(Chunk(text, _spans(spans)))
            case _:
                pass  # a newer daemon may tell more


def _gone() -> DaemonUnreachableError:
    return DaemonUnreachableError("The daemon went away before it answered.", "`completiond logs` shows why.")


def _place(document: str, line: int, character: int) -> dict[str, Any]:
    return {"document": document, "position": {"line": line, "character": character}}


def _text(prefix: str, suffix: str, path: str) -> dict[str, Any]:
    return {"prefix": prefix, "suffix": suffix, "path": path}


def _edit(edit: Edit) -> dict[str, Any]:
    (line, character), (end_line, end_character) = edit.start, edit.end
    span = {
        "start": {"line": line, "character": character},
        "end": {"line": end_line, "character": end_character},
    }
    return {"range": span, "text": edit.text}


def _spans(spans: Sequence[Mapping[str, str]]) -> tuple[Span, ...]:
    return tuple(Span(span["text"], span["source"]) for span in spans)


def _answer(values: Mapping[str, Any]) -> RpcAnswer:
    return RpcAnswer(values["answer"], values["text"], _spans(values["spans"]), values["stop_reason"], values)
