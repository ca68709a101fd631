"""A server of OpenAI's completions, real HTTP on a thread of its own, that answers by script and notes what it sees."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

__all__ = ["DONE", "KEY", "Asked", "Reply", "Server", "event", "serving", "writes"]

PATIENCE_S = 20.0
KEY = "sk-very-secret-0123456789"
DONE = b"data: [DONE]\n\n"


def event(text: str, finish: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
    return b"data: " + json.dumps({"object": "text_completion", "choices": [choice]}).encode() + b"\n\n"


@dataclass(frozen=True)
class Reply:
    """``body`` is sent portion by portion; with ``hangs``, nothing more comes and the connection stays open."""

    body: Sequence[bytes] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    hangs: bool = False
    breaks: bool = False


def writes(*texts: str, finish: str | None = "stop") -> Reply:
    """A whole stream."""
    return Reply([*map(event, texts), event("", finish), DONE])


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    body: Any
    raw: bytes
    headers: dict[str, str]


@dataclass
class Server:
    """``replies`` are given first, one each, then ``reply`` for ever. ``disconnected``: a client has left a stream."""

    reply: Reply = field(default_factory=lambda: writes("text"))
    models: Reply = field(
        default_factory=lambda: Reply(
            [json.dumps({"object": "list", "data": [{"id": "big-coder", "owned_by": "them"}]}).encode()],
            content_type="application/json",
        )
    )
    replies: deque[Reply] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    disconnected: threading.Event = field(default_factory=threading.Event)
    is_writing: threading.Event = field(default_factory=threading.Event)
    base_url: str = ""

    @property
    def questions(self) -> list[Asked]:
        """Requests for completions."""
        return [one for one in self.asked if one.path == "/v1/completions"]

    async def _models(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        return await self._send(request, self.models)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        return await self._send(request, self.replies.popleft() if self.replies else self.reply)

    async def _note(self, request: web.Request) -> None:
        raw = await request.read()
        self.asked.append(Asked(request.path, json.loads(raw) if raw else None, raw, dict(request.headers)))

    async def _send(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(status=reply.status, headers={"Content-Type": reply.content_type})
        await response.prepare(request)
        try:
            for portion in reply.body:
                await response.write(portion)
                self.is_writing.set()
            if reply.hangs:
                await asyncio.sleep(PATIENCE_S)
        except (asyncio.CancelledError, ConnectionError):
            self.disconnected.set()
            raise
        if reply.breaks:
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write_eof()
        return response


@contextmanager
def serving(server: Server | None = None, socket: str = "", port: int = 0) -> Iterator[Server]:
    """The server on a free port of this machine, or on a Unix socket, until the end of the block."""
    server = server or Server()
    started, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_get("/v1/models", server._models)
        app.router.add_post("/v1/completions", server._completions)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        if socket:
            await web.UnixSite(runner, socket).start()
            server.base_url = f"unix:{socket}"
        else:
            site = web.TCPSite(runner, "127.0.0.1", port)
            await site.start()
            server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        loops.append(asyncio.get_running_loop())
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert started.wait(PATIENCE_S)
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
