"""One socket for editors and programs, a port for who asks for it, and what starts and ends them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from completiond.api.token import http_token
from completiond.client import connect
from completiond.config import Problem, load_config
from completiond.config.http_address import HttpAddress
from completiond.config.settings import Settings
from completiond.errors import DaemonError
from completiond.lsp import wire
from completiond.paths import Paths
from tests.api.daemon import Api, curl
from tests.e2e.harness import (
    FAKE_DAEMON,
    ROOT,
    TIMEOUT_S,
    Editor,
    daemon_in_process,
    environment,
    temporary_paths,
    until,
)
from tests.fakes import FakeService


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


async def test_editors_and_programs_share_the_socket(api: Api) -> None:
    async with Editor.on_socket(api.paths) as editor:
        await editor.initialize()
        editor.open("file:///p/a.py", "def f():\n    \n")
        fill = asyncio.create_task(api.post("/v1/completions", {"prompt": "def f():\n    ", "suffix": "\n"}))
        shown = await editor.complete("file:///p/a.py", 1, 4)
        assert shown["items"][0]["insertText"] == (await fill).json["choices"][0]["text"]
        (recent, *_) = (await editor.request("completiond/status", {"why": True}))["recent"]
        assert recent["client"] in ("curl", "an editor")


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_a_request_may_come_in_pieces_and_more_than_one_on_a_connection(api: Api, size: int) -> None:
    reader, writer = await asyncio.open_unix_connection(str(api.paths.socket))
    asked = b"GET /health HTTP/1.1\r\nHost: completiond\r\n\r\n"
    for _ in range(2):
        for start in range(0, len(asked), size):
            writer.write(asked[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT_S)
        assert head.startswith(b"HTTP/1.1 200 ")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        assert json.loads(await reader.readexactly(length))["status"] == "ok"
    writer.close()
    await writer.wait_closed()


async def test_lsp_in_pieces_is_still_lsp(api: Api) -> None:
    reader, writer = await asyncio.open_unix_connection(str(api.paths.socket))
    message = wire.encode({"jsonrpc": "2.0", "id": 1, "method": "completiond/status"})
    for index in range(len(message)):
        writer.write(message[index : index + 1])
        await writer.drain()
        await asyncio.sleep(0)
    assert (await asyncio.wait_for(reader.readline(), TIMEOUT_S)).startswith(b"Content-Length")
    writer.close()
    await writer.wait_closed()


def imports_http(pid: int) -> bool:
    """aiohttp's parser is compiled, and seen in a process."""
    return "aiohttp" in Path(f"/proc/{pid}/maps").read_text()


async def test_a_daemon_without_an_address_has_no_port_and_imports_no_http(paths: Paths) -> None:
    process = await asyncio.create_subprocess_exec(
        *FAKE_DAEMON, env=environment(paths), cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        await until(paths.socket.exists)
        with connect(paths, start=True) as client:
            status = client.call("completiond/status")
            assert status["http"] is None
            assert not paths.token_file.exists()
            assert not imports_http(status["pid"])
        reply = await curl("--unix-socket", str(paths.socket), "http://completiond/v1/models")
        assert reply.json["data"][0]["id"] == "fake-model"
        assert imports_http(status["pid"])
    finally:
        process.terminate()
        await process.wait()


async def test_the_setting_opens_a_port_and_status_tells_it(paths: Paths) -> None:
    settings = Settings(paths.config_file, {"COMPLETIOND_API_HTTP": "127.0.0.1:0"})
    async with daemon_in_process(paths, FakeService(), settings):
        async with Editor.on_socket(paths) as editor:
            url = (await editor.request("completiond/status"))["http"]
        host, _, port = url.removeprefix("http://").partition(":")
        assert (host, int(port) > 0) == ("127.0.0.1", True)
        reply = await curl("-H", f"Authorization: Bearer {http_token(paths)}", f"{url}/v1/models")
        assert reply.json["data"][0]["id"] == "fake-model"
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((host, int(port)))


def test_a_port_that_is_taken_is_explained(paths: Paths) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        run = serve(paths, "--http", address)
    assert run.returncode == 1
    assert address in run.stderr
    assert "--http" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "address", ["0.0.0.0:8012", "192.168.1.5:80", "[::]:80", "example.org:80", "8012", "127.0.0.1"]
)
def test_an_address_that_others_reach_is_refused(paths: Paths, address: str) -> None:
    run = serve(paths, "--http", address)

    assert run.returncode == 2
    assert address in run.stderr
    assert "127.0.0.1" in run.stderr
    assert "Traceback" not in run.stderr
    problems: list[Problem] = []
    config = load_config(paths.config_file, {"COMPLETIOND_API_HTTP": address}, problems.append)
    assert config.api.http == ""
    assert [str(problem) for problem in problems if "api.http" in str(problem)]


def serve(paths: Paths, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "completiond", "serve", *options]
    return subprocess.run(command, env=environment(paths), capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.mark.parametrize(("text", "url"), [
    ("127.0.0.1:8012", "http://127.0.0.1:8012"), ("localhost:0", "http://127.0.0.1:0"), ("[::1]:80", "http://[::1]:80"),
    ("127.0.0.2:1", "http://127.0.0.2:1"),
])  # fmt: skip
def test_addresses_of_this_machine(text: str, url: str) -> None:
    address = HttpAddress.parse(text)

    assert address.url == url
    assert url.removeprefix("http://") in address.names


def test_a_repository_cannot_open_a_port(paths: Paths) -> None:
    repository = paths.config_dir / "p"
    repository.mkdir(parents=True)
    (repository / ".completiond.toml").write_text('[api]\nhttp = "127.0.0.1:8012"\n')
    settings = Settings(paths.config_file, {})

    assert settings.of_file("me", str(repository / "a.py"), [str(repository)]).api.http == ""
    assert any("api.http" in str(problem) for problem in settings.problems("me"))


def test_the_token_is_made_once_and_printed(paths: Paths) -> None:
    command = [sys.executable, "-m", "completiond", "token"]
    printed = [
        subprocess.run(command, env=environment(paths), capture_output=True, text=True, timeout=TIMEOUT_S).stdout
        for _ in range(2)
    ]

    assert printed[0] == printed[1] == paths.token_file.read_text()
    assert stat.S_IMODE(paths.token_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("wrong", ["link", "readable", "short", "folder"])
def test_a_token_that_others_could_know_is_refused(paths: Paths, wrong: str) -> None:
    paths.make_runtime_dir()
    elsewhere = paths.runtime_dir / "other"
    if wrong == "link":
        elsewhere.write_text("x" * 43)
        paths.token_file.symlink_to(elsewhere)
    elif wrong == "folder":
        paths.token_file.mkdir()
    else:
        paths.token_file.write_text("x" * (43 if wrong == "readable" else 5))
        paths.token_file.chmod(0o644 if wrong == "readable" else 0o600)

    with pytest.raises(DaemonError, match="Remove it"):
        http_token(paths)


async def test_stopping_ends_what_http_clients_wait_for(paths: Paths) -> None:
    service = FakeService()
    async with daemon_in_process(paths, service):
        body = json.dumps({"prompt": "x", "suffix": "", "path": "hang.py"}).encode()
        waiting = asyncio.create_task(
            curl(
                "--unix-socket",
                str(paths.socket),
                "--data-binary",
                "@-",
                "http://completiond/v1/completions",
                data=body,
            )
        )
        await until(lambda: service.num_running)
    with pytest.raises(AssertionError):
        await waiting
    assert service.num_running == 0


def test_only_the_user_can_read_what_the_folder_holds(paths: Paths) -> None:
    paths.make_runtime_dir()
    http_token(paths)
    assert stat.S_IMODE(paths.runtime_dir.stat().st_mode) == 0o700
    assert paths.token_file.stat().st_uid == os.getuid()
