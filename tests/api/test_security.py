"""Who may ask, and what nobody can do to those who may: over TCP anyone on the machine can connect."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

import pytest

from completiond.api import body as body_module
from completiond.api import server as server_module
from completiond.complete.request import Chunk, CompletionRequest, Span
from tests.api.conftest import ANSWER
from tests.api.daemon import Api, Reply, api_daemon
from tests.e2e.harness import TIMEOUT_S, Editor, until
from tests.fake_model import bytes_of, fake_model, says
from tests.unprivileged import NOBODY

PROMPT = {"prompt": "<|fim_middle|>", "max_tokens": 30}


def address_of(api: Api) -> tuple[str, int]:
    host, _, port = api.url.removeprefix("http://").rpartition(":")
    return host, int(port)


async def text_of(reply: Reply) -> str:
    assert reply.status == 200, reply.body
    text: str = reply.json["choices"][0]["text"]
    return text


async def test_the_token_is_needed_and_is_the_users_alone(api: Api) -> None:
    assert await text_of(await api.over_tcp("/v1/completions", body=PROMPT)) == ANSWER
    for token in ("", "wrong", api.token[:-1], api.token + "x", "é"):
        reply = await api.over_tcp("/v1/completions", body=PROMPT, token=token)
        assert reply.status == 401
        assert reply.json["error"]["type"] == "authentication_error"
        assert "completiond token" in reply.json["error"]["advice"]
        assert (await api.over_tcp("/metrics", token=token)).status == 401
        assert (await api.over_tcp("/nothing", token=token)).status == 401
    for path in ("/health", "/v1/health"):
        assert (await api.over_tcp(path, token="")).status == 200
    assert stat.S_IMODE(api.paths.token_file.stat().st_mode) == 0o600
    assert len(api.token) >= 32


@pytest.mark.parametrize(
    "header", ["Authorization: Bearer {}", "api-key: {}", "x-api-key: {}", "authorization: bearer {}"]
)
async def test_the_token_may_be_where_clients_put_it(api: Api, header: str) -> None:
    reply = await api.over_tcp("/v1/models", "-H", header.format(api.token), token="")

    assert reply.status == 200


@pytest.mark.parametrize("path", ["/v1/models", "/health"])
async def test_a_name_that_somebody_has_lead_here_is_refused(api: Api, path: str) -> None:
    port = address_of(api)[1]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1.evil:{port}",
    ):
        reply = await api.over_tcp(path, "-H", f"Host: {host}")
        assert (reply.status, reply.json["error"]["type"]) == (403, "permission_error"), host
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert (await api.over_tcp(path, "-H", f"Host: {host}")).status == 200, host


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_web_pages_of_others_are_refused(api: Api, method: str) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"):
        reply = await api.over_tcp("/v1/models", "-X", method, "-H", f"Origin: {origin}")
        assert reply.status == 403, origin
        assert "access-control-allow-origin" not in reply.headers
    assert (await api.over_tcp("/v1/models", "-H", f"Origin: {api.url}")).status == 200


async def test_a_body_that_is_too_large_is_refused_while_others_are_served(api: Api) -> None:
    large = asyncio.create_task(api.post("/v1/completions", b"[" + b" " * 100_000_000))
    assert await text_of(await api.post("/v1/completions", PROMPT)) == ANSWER
    reply = await large

    assert reply.status == 413
    assert "8 MiB" in reply.json["error"]["message"]
    assert reply.json["error"]["advice"]
    chunked = await api.post("/v1/completions", b" " * 20_000_000, "-H", "Transfer-Encoding: chunked")
    assert chunked.status == 413, "without a length too"
    assert await text_of(await api.post("/v1/completions", {**PROMPT, "user": "x" * 8_000_000})) == ANSWER


@pytest.fixture
def many_files() -> Iterator[None]:
    """Clients and server are one process here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.asynccontextmanager
async def connected(api: Api, count: int, over_tcp: bool, said: bytes) -> AsyncIterator[list[asyncio.StreamReader]]:
    """So many connections, each of which has sent ``said`` and waits."""
    readers, writers = [], []
    for _ in range(count):
        if over_tcp:
            reader, writer = await asyncio.open_connection(*address_of(api))
        else:
            reader, writer = await asyncio.open_unix_connection(str(api.paths.socket))
        writer.write(said)
        readers.append(reader)
        writers.append(writer)
    try:
        yield readers
    finally:
        for writer in writers:
            writer.close()
        for writer in writers:
            with contextlib.suppress(OSError):  # the daemon hung up, which is what is tested
                await writer.wait_closed()


async def refused(readers: list[asyncio.StreamReader], at_least: int) -> list[bytes]:
    """What was said to those who were turned away; the others hear nothing."""
    first = [asyncio.create_task(reader.read(4096)) for reader in readers]
    try:
        await until(lambda: sum(task.done() for task in first) >= at_least)
        return [task.result() for task in first if task.done()]
    finally:
        for task in first:
            task.cancel()
        await asyncio.gather(*first, return_exceptions=True)


@pytest.mark.usefixtures("many_files")
async def test_a_thousand_connections_to_the_port_keep_nobody_from_the_socket(api: Api) -> None:
    async with connected(api, 1000, True, b"") as readers:
        said = await refused(readers, 1000 - server_module.MAX_CONNECTIONS)

        assert len(said) == 1000 - server_module.MAX_CONNECTIONS
        assert all(one.startswith(b"HTTP/1.1 503 ") and b'"advice":"' in one for one in said)
        assert await text_of(await api.post("/v1/completions", PROMPT)) == ANSWER
        async with Editor.on_socket(api.paths) as editor:
            await editor.initialize()
            editor.open("file:///p/a.py", "def f():\n    \n")
            assert (await editor.complete("file:///p/a.py", 1, 4))["items"]
    await until(lambda: not busy(api))
    assert await text_of(await api.over_tcp("/v1/completions", body=PROMPT)) == ANSWER


def busy(api: Api) -> bool:
    """Whether the port is still full of those who have gone."""
    with socket.create_connection(address_of(api), TIMEOUT_S) as connection:
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):  # nothing was said: it is not full
            return connection.recv(1) != b""
    return False


@pytest.mark.usefixtures("many_files")
async def test_silent_connections_to_the_socket_make_room_and_half_requests_are_refused(api: Api) -> None:
    async with connected(api, 1000, False, b""):
        assert await text_of(await api.post("/v1/completions", PROMPT)) == ANSWER
    async with connected(api, 1000, False, b"GET /v1/models HT") as readers:
        said = await refused(readers, 1000 - server_module.MAX_CONNECTIONS)
        assert all(one.startswith(b"HTTP/1.1 503 ") for one in said)
        async with Editor.on_socket(api.paths) as editor:
            assert (await editor.request("completiond/status"))["phase"] == "ready", "editors are not HTTP clients"


async def test_half_sent_requests_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SILENCE_S", 0.2)
    monkeypatch.setattr(body_module, "READ_S", 0.2)
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
    halves = [
        b"P",
        b"GET / HTTP/1.1\r\nHo",
        head,
        head + b"Content-Length: 500\r\n\r\n{",
        head + b"Content-Length: 5\r\n\r\n",
    ]
    model, _ = fake_model(says(bytes_of(ANSWER)))
    async with api_daemon(monkeypatch, model) as api:
        for half in halves:
            async with connected(api, 1, False, half) as (reader,):
                said = await asyncio.wait_for(reader.read(), TIMEOUT_S)
                assert said == b"" or b" 408 " in said.split(b"\r\n")[0]
        async with connected(api, 1, True, b"") as (reader,):
            assert await asyncio.wait_for(reader.read(), TIMEOUT_S) == b"", "nor does the port wait for ever"
        assert await text_of(await api.post("/v1/completions", PROMPT)) == ANSWER


async def test_what_is_no_http_gets_no_text_back(api: Api) -> None:
    name = b"GET /health HTTP/1.1\r\n"
    for said in (
        b"GET secret-code\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", name + b"a: b\r\n" * 10_000, b"\x16\x03secret-code\r\n",
        name + b"Host: secret-code\r\nHost: b\r\n", name + b"Host: x\r\nContent-Length: secret-code\r\n",
        name + b"Host: x\r\nX: " + b"secret-code" * 2000 + b"\r\n", name + b"Host: x\r\nsecret-code\r\n",
        name,
    ):  # fmt: skip
        async with connected(api, 1, True, said + b"\r\n") as (reader,):
            answer = await asyncio.wait_for(reader.read(), TIMEOUT_S)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 400 " in head.split(b"\r\n")[0], said[:50]
        assert b"Content-Type: application/json" in head
        error = json.loads(body)["error"]
        assert (error["code"], error["type"], error["advice"][:4]) == (400, "invalid_request_error", "Send")
        assert b"secret" not in answer
        assert b"aiohttp" not in answer
    assert (await api.get("/health")).headers["server"] == "completiond"
    reply = await api.get("/health", "-H", "Expect: secret-code")
    assert (reply.status, reply.json["error"]["code"], reply.headers["server"]) == (417, 417, "completiond")
    assert "secret" not in reply.body
    assert await text_of(await api.post("/v1/completions", PROMPT)) == ANSWER


async def test_paths_and_methods_that_are_not_there(api: Api) -> None:
    for path in ("/nothing", "/v1/../../etc/passwd", "/v1/completions/"):
        reply = await api.get(path)
        assert (reply.status, reply.json["error"]["code"]) == (404, 404), path
    assert (await api.get("/v1/completions")).status == 405
    assert (await api.get("/v1/completions")).json["error"]["advice"] == "Use POST."


async def test_what_fails_here_is_told_and_logged_without_the_text(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("cannot complete SECRET")

    monkeypatch.setattr(api.completer.guard, "why", fail)
    reply = await api.post("/v1/completions", {"prompt": "SECRET", "suffix": "SECRET"})

    assert (reply.status, reply.json["error"]["type"]) == (500, "server_error")
    assert "SECRET" not in reply.body
    assert "/v1/completions failed" in caplog.text
    assert "SECRET" not in "".join(record.getMessage() for record in caplog.records)


async def test_what_fails_amid_a_stream_is_told_and_logged_without_its_text(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: CompletionRequest) -> AsyncGenerator[Chunk, None]:
        yield Chunk("one", (Span("one", "model"),))
        raise RuntimeError("cannot complete SECRET")

    monkeypatch.setattr(api.service, "stream", broken)
    reply = await api.post("/v1/completions", {"prompt": "SECRET", "suffix": "", "stream": True})

    assert '"text":"one"' in reply.body
    assert '"type":"server_error"' in reply.body
    assert "SECRET" not in reply.body
    assert "/v1/completions failed amid its answer: RuntimeError" in caplog.text
    assert "SECRET" not in "".join(record.getMessage() for record in caplog.records)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell who is at the other end")
async def test_another_users_process_is_refused_even_where_it_can_reach_the_socket(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    for folder in (api.paths.runtime_dir, api.paths.runtime_dir.parent):
        folder.chmod(0o711)
    api.paths.socket.chmod(0o666)
    process = await asyncio.create_subprocess_exec(
        "curl", "--silent", "--max-time", str(TIMEOUT_S), "--unix-socket", str(api.paths.socket),
        "http://completiond/v1/models", user=NOBODY, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()

    assert output == b""
    assert process.returncode in (7, 52, 56), "hung up on, earlier or later"
    assert "Refused a client of another user" in caplog.text
    assert (await api.get("/v1/models")).status == 200
