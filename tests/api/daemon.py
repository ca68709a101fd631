"""A daemon on the test's event loop that serves HTTP: sockets, server, service and engine are real, its model is small.

Clients are real too: curl as a process, the ``openai`` package, or plain streams.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from completiond.complete.completer import Completer
from completiond.complete.service import LocalService
from completiond.config import CacheConfig, CompletionConfig, Config, ModelConfig, PromptConfig
from completiond.config.settings import Settings
from completiond.daemon import run_daemon
from completiond.engine.load import LoadedModel
from completiond.paths import Paths
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy
from tests.e2e.harness import TIMEOUT_S, Editor, is_listening, temporary_paths, until

__all__ = ["CONFIG", "Api", "Reply", "api_daemon", "curl", "events_of"]

CONFIG = Config(
    model=ModelConfig(name="fake", context_tokens=1024),
    completion=CompletionConfig(max_tokens=40, deadline_ms=60_000),
    prompt=PromptConfig(max_read_ms=0),
    cache=CacheConfig(ahead=False),
)


@dataclass(frozen=True)
class Reply:
    """What curl got."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Api:
    """A daemon that runs."""

    paths: Paths
    service: LocalService
    completer: Completer
    url: str
    token: str

    async def get(self, path: str, *options: str) -> Reply:
        """Over the Unix socket."""
        return await curl("--unix-socket", str(self.paths.socket), *options, f"http://completiond{path}")

    async def post(self, path: str, body: Any, *options: str) -> Reply:
        """The same; the body goes over standard input."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = ("-H", "Content-Type: application/json", "--data-binary", "@-")
        where = ("--unix-socket", str(self.paths.socket), f"http://completiond{path}")
        return await curl(*head, *options, *where, data=data)

    async def over_tcp(self, path: str, *options: str, body: Any = None, token: str | None = None) -> Reply:
        """With the token, or another one; an empty one is not sent."""
        token = self.token if token is None else token
        head = ("-H", f"Authorization: Bearer {token}") if token else ()
        data = b"" if body is None else json.dumps(body).encode()
        send = ("--data-binary", "@-") if body is not None else ()
        return await curl(*head, *send, *options, f"{self.url}{path}", data=data)


async def curl(*arguments: str, data: bytes = b"") -> Reply:
    """Run it. Raises AssertionError with what it says if it fails."""
    process = await asyncio.create_subprocess_exec(
        "curl", "--silent", "--show-error", "--include", "--noproxy", "*", "--max-time", str(TIMEOUT_S), *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        output, said = await process.communicate(data)
    finally:
        if process.returncode is None:  # nobody waits for it any more
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode()
    head, _, body = output.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Reply(int(first.split()[1]), headers, body.decode())


def events_of(reply: Reply) -> list[Any]:
    """What a stream of events said; a line that is no JSON stays as it is."""
    lines = [line for line in reply.body.split("\n") if line]
    assert all(line.startswith("data: ") for line in lines)
    return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]


@asynccontextmanager
async def api_daemon(
    monkeypatch: pytest.MonkeyPatch, model: LoadedModel, config: Config = CONFIG, policy: bool = True
) -> AsyncIterator[Api]:
    """It listens on a Unix socket and on a port. ``policy``: what is checked depends on the machine's speed, as it does
    outside of tests, but on one that is always the same.
    """
    completer = Completer(model, config)
    if policy:
        completer.policy = MeasuredPolicy(PassCosts({1: 10.0, 4: 11.0, 32: 20.0}), refresh_costs=False)

    def open_completer(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        return completer

    monkeypatch.setattr("completiond.complete.open_completer.open_completer", open_completer)
    with temporary_paths() as paths:
        settings = Settings(paths.config_file, {}, {("api", "http"): "127.0.0.1:0"})
        service = LocalService(config, paths)
        task = asyncio.create_task(run_daemon(lambda: service, paths, settings))
        await until(lambda: task.done() or (is_listening(paths) and service.state.phase == "ready"))
        try:
            async with Editor.on_socket(paths) as editor:
                url = (await editor.request("completiond/status"))["http"]
            yield Api(paths, service, completer, url, paths.token_file.read_text().strip())
        finally:
            async with Editor.on_socket(paths) as editor:
                await editor.request("completiond/stop")
            await asyncio.wait_for(task, TIMEOUT_S)
