"""A daemon whose engine is a server: how editors see it, what they see while it is away, and that it comes back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from completiond.complete import service as service_module
from completiond.complete.service import LocalService
from completiond.complete.service_protocol import SupersededError
from completiond.config import CacheConfig, CompletionConfig, Config, EngineConfig
from completiond.engine.remote_key import KEY_VARIABLE
from completiond.errors import RemoteDownError, RemoteRefusedError
from tests.complete.test_service import PATIENCE_S, reach, request
from tests.e2e.harness import Editor, daemon_in_process, temporary_paths, until
from tests.remote_server import KEY, Reply, Server, event, serving, writes

URI = "file:///p/a.py"
RETRY_AFTER_S = 0.1


@pytest.fixture(autouse=True)
def _again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "RETRY_AFTER_S", RETRY_AFTER_S)


@pytest.fixture
def socket(tmp_path: Path) -> str:
    """Where a server may come, go, and come again."""
    return str(tmp_path / "s")


@pytest.fixture
def server(socket: str) -> Iterator[Server]:
    with serving(socket=socket) as server:
        yield server


def config_of(socket: str, timeout_ms: int = 20_000) -> Config:
    return Config(
        engine=EngineConfig(remote=f"unix:{socket}", timeout_ms=timeout_ms),
        completion=CompletionConfig(deadline_ms=60_000),
        cache=CacheConfig(ahead=True),
    )


@asynccontextmanager
async def service_of(config: Config) -> AsyncIterator[LocalService]:
    with temporary_paths() as paths:
        service = LocalService(config, paths)
        service.start()
        try:
            yield service
        finally:
            await service.close()


@asynccontextmanager
async def editor_of(config: Config) -> AsyncIterator[Editor]:
    with temporary_paths() as paths:
        async with daemon_in_process(paths, LocalService(config, paths)), Editor.on_socket(paths) as editor:
            await editor.initialize()
            yield editor


async def test_it_says_who_answers(server: Server, socket: str) -> None:
    async with service_of(config_of(socket)) as service:
        assert service.state.model == f"the model at {socket}"
        state = await reach(service, "ready")
        assert (state.model, state.device, state.dtype, state.fim) == ("big-coder", socket, "", "suffix")
        answer = await service.complete(request())
        assert (answer.text, answer.model, answer.device) == ("text", "big-coder", socket)
        assert service.work.written_tokens == 2


async def test_a_finished_answer_is_not_asked_for_again(server: Server, socket: str) -> None:
    server.reply = writes("abc", "def")
    async with service_of(config_of(socket)) as service:
        await reach(service, "ready")
        assert (await service.complete(request())).text == "abcdef"
        typed = await service.complete(request(prefix="xabc"))
        assert (typed.text, typed.served_from) == ("def", "cache")
        await asyncio.sleep(0.5)
    assert len(server.questions) == 1, "and nothing is written ahead that nobody asked for"


async def test_a_newer_request_takes_the_place_of_one_that_gets_no_word(server: Server, socket: str) -> None:
    server.replies.append(Reply(hangs=True))
    async with service_of(config_of(socket)) as service:
        await reach(service, "ready")
        older = asyncio.create_task(service.complete(request()))
        await until(lambda: server.questions)
        newer = service.complete(request(prefix="other"))
        assert (await asyncio.wait_for(newer, PATIENCE_S)).text == "text"
        with pytest.raises(SupersededError):
            await older
        assert await asyncio.to_thread(server.disconnected.wait, PATIENCE_S)


async def test_closing_ends_what_waits_for_the_server(server: Server, socket: str) -> None:
    server.reply = Reply([event("a")], hangs=True)
    async with service_of(config_of(socket)) as service:
        await reach(service, "ready")
        asking = asyncio.create_task(service.complete(request()))
        await until(lambda: server.questions)
    assert await asyncio.to_thread(server.disconnected.wait, PATIENCE_S)
    assert isinstance((await asyncio.gather(asking, return_exceptions=True))[0], Exception)


async def test_one_that_is_not_there_yet_is_found_when_it_is(socket: str) -> None:
    async with service_of(config_of(socket)) as service:
        state = await reach(service, "failed")
        assert state.detail == f"The server at {socket} does not answer. Start it, or correct engine.remote."
        with pytest.raises(RemoteDownError):
            await service.complete(request())
        with serving(socket=socket):
            await asyncio.sleep(2 * RETRY_AFTER_S)
            assert (await service.complete(request())).text == "text", "the next request"


async def test_one_that_goes_is_missed_and_comes_back_with_all_that_was_known(socket: str) -> None:
    async with service_of(config_of(socket)) as service:
        with serving(socket=socket):
            await reach(service, "ready")
            service.open_document("me", "b.py", ["b = 1"], "/p/b.py")
            assert (await service.complete(request())).text == "text"
        with pytest.raises(RemoteDownError, match="does not answer"):
            await service.complete(request(prefix="y"))
        assert (await reach(service, "failed")).model == "big-coder"
        with serving(socket=socket):
            await asyncio.sleep(2 * RETRY_AFTER_S)
            assert (await service.complete(request(prefix="y"))).text == "text", "the next request"
            assert service.dictionary.documents == 1


async def test_one_request_that_is_refused_changes_nothing_for_others(server: Server, socket: str) -> None:
    server.replies.append(Reply(status=400))
    async with service_of(config_of(socket)) as service:
        await reach(service, "ready")
        with pytest.raises(RemoteRefusedError):
            await service.complete(request())
        assert service.state.phase == "ready"
        assert (await service.complete(request())).text == "text"


async def test_a_key_that_is_none_is_a_state_with_advice(
    server: Server, socket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "two words")
    async with service_of(config_of(socket)) as service:
        assert KEY_VARIABLE in (await reach(service, "failed")).detail
    assert not server.asked


async def test_editors_get_nothing_while_it_is_away_and_can_ask_why(
    socket: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setattr(logging.getLogger("completiond"), "propagate", True)
    with caplog.at_level(logging.DEBUG):
        async with editor_of(config_of(socket)) as editor:
            editor.open(URI, "unmistakable = ")
            with serving(socket=socket):
                await _until_ready(editor)
                assert _texts(await editor.complete(URI, 0, 15)) == ["text"]
            editor.insert(URI, 0, 15, "1 + ")
            for _ in range(3):
                assert _texts(await editor.complete(URI, 0, 19)) == []
            status = await editor.request("completiond/status", {"why": True})
            assert status["phase"] in ("failed", "loading")
            assert status["model"] == "big-coder"
            newest = status["recent"][0]
            assert newest["reason"] == "error: RemoteDownError"
            assert newest["meaning"].startswith(f"The server at {socket} does not answer.")
            assert editor.count("window/showMessage") == 0
            with serving(Server(reply=writes("back")), socket=socket):
                await _until_ready(editor)
                assert _texts(await editor.complete(URI, 0, 19)) == ["back"]
            assert editor.count("window/showMessage") == 0
            assert KEY not in str(status) + str(editor.received)
    assert KEY not in caplog.text
    assert "unmistakable" not in caplog.text


async def _until_ready(editor: Editor) -> None:
    """As an editor that goes on asking."""
    async with asyncio.timeout(PATIENCE_S):
        while (await editor.request("completiond/status"))["phase"] != "ready":
            await editor.complete(URI, 0, 1)
            await asyncio.sleep(0.05)


def _texts(answer: Any) -> list[str]:
    return [item["insertText"] for item in answer["items"]]
