"""Editors on the real shim, over stdio, with a daemon process behind it (its service has no model)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient, make_test_lsp_client

from completiond.client import connect
from completiond.lock import holder_pid
from completiond.lsp.capabilities import initialize_result
from completiond.paths import Paths
from tests.e2e.harness import (
    EMPTY,
    FAKE_DAEMON,
    TIMEOUT_S,
    Editor,
    environment,
    kill_daemon,
    temporary_paths,
    until,
)
from tests.fakes import HANG, HASH, OTHER, digest

SHIM = [sys.executable, "-m", "completiond", "lsp"]


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


@asynccontextmanager
async def language_client(*command: str, env: dict[str, str]) -> AsyncIterator[LanguageClient]:
    """pytest-lsp's client, after the handshake."""
    client = make_test_lsp_client()
    await client.start_io(*command, env=env)
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            inline_completion=types.InlineCompletionClientCapabilities(dynamic_registration=False)
        ),
        general=types.GeneralClientCapabilities(position_encodings=["utf-8", "utf-16", "utf-32"]),
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await client.initialize_session(types.InitializeParams(capabilities=capabilities, process_id=os.getpid()))
        yield client
    finally:
        async with asyncio.timeout(TIMEOUT_S):
            await client.shutdown_session()


def open_document(client: LanguageClient, uri: str, text: str) -> None:
    document = types.TextDocumentItem(uri, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))


def params_at(uri: str, line: int, character: int) -> types.InlineCompletionParams:
    return types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic),
        types.TextDocumentIdentifier(uri),
        types.Position(line, character),
    )


async def complete(client: LanguageClient, uri: str, line: int = 0, character: int = 0) -> str | None:
    """Ask until there is a suggestion, since there is none while the daemon starts."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            result = await client.text_document_inline_completion_async(params_at(uri, line, character))
            assert isinstance(result, types.InlineCompletionList)
            if result.items:
                text = result.items[0].insert_text
                assert isinstance(text, str)
                return text
            await asyncio.sleep(0.02)


async def test_ghost_text_through_shim_and_daemon(paths: Paths) -> None:
    async with language_client(*SHIM, env=environment(paths)) as client:
        open_document(client, HASH, "é\U0001f600 = f(")
        assert await complete(client, HASH, 0, 11) == f"{digest('é' + chr(0x1F600) + ' = f(')}:{digest('')}"
        assert await complete(client, HASH, 0, 2) == f"{digest('é')}:{digest(chr(0x1F600) + ' = f(')}"
        assert client.messages == []
        assert client.log_messages == []


async def test_cancel_through_shim_and_daemon(paths: Paths) -> None:
    async with language_client(*SHIM, env=environment(paths)) as client:
        open_document(client, OTHER, "x")
        open_document(client, HANG, "x")
        await complete(client, OTHER)
        request = asyncio.ensure_future(
            client.protocol.send_request_async(  # type: ignore[no-untyped-call]
                types.TEXT_DOCUMENT_INLINE_COMPLETION, params_at(HANG, 0, 0), msg_id="to cancel"
            )
        )
        await asyncio.sleep(0)
        client.cancel_request(types.CancelParams(id="to cancel"))
        with pytest.raises(JsonRpcException) as caught:
            await asyncio.wait_for(request, TIMEOUT_S)
        assert caught.value.code == types.LSPErrorCodes.RequestCancelled


async def test_a_newer_request_supersedes_through_shim_and_daemon(paths: Paths) -> None:
    async with language_client(*SHIM, env=environment(paths)) as client:
        open_document(client, OTHER, "x")
        open_document(client, HANG, "x")
        await complete(client, OTHER)
        older = asyncio.ensure_future(client.text_document_inline_completion_async(params_at(HANG, 0, 0)))
        await asyncio.sleep(0)
        newer = asyncio.ensure_future(client.text_document_inline_completion_async(params_at(HANG, 0, 1)))
        assert await asyncio.wait_for(older, TIMEOUT_S) is None
        assert not newer.done()
        kill_daemon(paths)
        assert await asyncio.wait_for(newer, TIMEOUT_S) is None


async def test_two_editors_share_a_daemon_and_one_leaves(paths: Paths) -> None:
    env = environment(paths)
    async with language_client(*SHIM, env=env) as staying:
        open_document(staying, HASH, "mine")
        await complete(staying, HASH)
        pid = holder_pid(paths.lock)
        async with language_client(*SHIM, env=env) as leaving:
            open_document(leaving, HASH, "yours")
            assert await complete(leaving, HASH, 0, 5) == f"{digest('yours')}:{digest('')}"
            assert await complete(staying, HASH, 0, 4) == f"{digest('mine')}:{digest('')}"
        assert await complete(staying, HASH, 0, 4) == f"{digest('mine')}:{digest('')}"
        assert holder_pid(paths.lock) == pid
    with connect(paths, start=False) as client:  # the daemon stays when all editors have left
        assert client.call("completiond/status")["pid"] == pid


async def test_when_the_daemon_is_killed_the_editor_goes_on_with_the_text_it_has(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize(["utf-8"], progress=True)
        editor.open(HASH, "one\ntwo\n")
        editor.open(HANG, "x")
        await editor.request("completiond/status")
        waiting = editor.ask(HANG)
        editor.insert(HASH, 1, 0, "é\U0001f600", version=2)
        (item,) = (await editor.complete(HASH, 1, 6))["items"]
        kill_daemon(paths)
        assert await asyncio.wait_for(waiting, TIMEOUT_S) is None
        editor.insert(HASH, 0, 3, "!", version=3)  # while there is no daemon, or just a new one
        status = await editor.request("completiond/status")
        assert status["counters"]["requests"] == 0  # another daemon
        (item,) = (await editor.complete(HASH, 1, 6))["items"]
        assert item["insertText"] == f"{digest('one!' + chr(10) + 'é' + chr(0x1F600))}:{digest('two' + chr(10))}"
        assert item["range"]["start"] == {"line": 1, "character": 6}
        assert editor.count("window/showMessage") == editor.count("window/logMessage") == 0


async def test_a_daemon_killed_again_and_again_is_started_again_and_again(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize()
        pids = set()
        for _ in range(4):
            pids.add((await editor.request("completiond/status"))["pid"])
            kill_daemon(paths)
        assert len(pids) == 4
        assert editor.received == []


async def test_progress_left_open_by_a_killed_daemon_ends_and_the_next_has_a_token_of_its_own(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=environment(paths, FAKE_LOADING="1,3600,")) as editor:
        await editor.initialize(progress=True)
        first = (await editor.wait_for("$/progress"))["token"]
        kill_daemon(paths)
        await editor.wait_for(
            "$/progress", lambda params: params["token"] == first and params["value"]["kind"] == "end"
        )
        await editor.wait_for(
            "$/progress", lambda params: params["token"] != first and params["value"]["kind"] == "begin"
        )


async def test_initialize_is_answered_at_once_while_the_model_loads(paths: Paths) -> None:
    env = environment(paths, FAKE_LOADING="1,3600,")
    latencies_s = []
    for _ in range(3):  # the best of three, since other programs run on this machine too
        kill_daemon(paths)
        start_s = time.monotonic()
        async with Editor.on_program(*SHIM, env=env) as editor:
            assert await editor.request("initialize", {"capabilities": {}}) == initialize_result("utf-16")
            latencies_s.append(time.monotonic() - start_s)
            await editor.request("completiond/status")
    assert min(latencies_s) < 0.5
    async with Editor.on_program(*SHIM, env=env) as editor:
        await editor.initialize()
        editor.open(OTHER, "x")
        assert await editor.complete(OTHER) == EMPTY
        assert (await editor.request("completiond/status"))["phase"] == "loading"
        assert await editor.complete(OTHER) == EMPTY


async def test_after_completiond_stop_the_daemon_comes_back_when_it_is_needed(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize()
        editor.open(HASH, "x")
        await editor.request("completiond/status")
        with connect(paths, start=False) as client:
            client.call("completiond/stop")
            client.wait_until_closed(TIMEOUT_S)
        await until(lambda: holder_pid(paths.lock) is None)
        editor.insert(HASH, 0, 1, "y")
        assert await editor.complete(HASH) in (EMPTY, None)  # null if the shim has yet to see the daemon go
        status = await editor.request("completiond/status")
        assert status["counters"]["requests"] == 0
        (item,) = (await editor.complete(HASH, 0, 2))["items"]
        assert item["insertText"] == f"{digest('xy')}:{digest('')}"
        assert editor.received == []


async def test_many_editors_at_once_start_one_daemon(paths: Paths) -> None:
    async def pid_seen() -> int:
        async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
            await editor.initialize()
            pid: int = (await editor.request("completiond/status"))["pid"]
            return pid

    assert len(set(await asyncio.gather(*(pid_seen() for _ in range(5))))) == 1


async def test_large_documents_pass(paths: Paths) -> None:
    text = "x = '日本'\n" * 100_000
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize()
        await editor.request("completiond/status")
        editor.open(HASH, text)
        (item,) = (await editor.complete(HASH, 50_000, 0))["items"]
        assert item["insertText"] == f"{digest(text[: len(text) // 2])}:{digest(text[len(text) // 2 :])}"


async def test_nothing_of_the_code_is_in_the_log(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize()
        await editor.request("completiond/status")
        for uri in (HASH, "file:///p/crash.py"):
            editor.open(uri, "SECRET = 1")
            await editor.complete(uri, 0, 10)
        editor.notify("textDocument/didChange", {"textDocument": {"uri": HASH}, "contentChanges": ["SECRET"]})
        await editor.request("textDocument/inlineCompletion", {"position": "SECRET"})
        editor.send({"jsonrpc": "2.0", "method": "SECRET/code"})
        await editor.request("completiond/status")
    logged = paths.log_file.read_text()
    assert "RuntimeError" in logged  # at the most talkative level
    assert "SECRET" not in logged


# Stand-alone


async def test_standalone_serves_an_editor_without_a_daemon(paths: Paths) -> None:
    async with language_client(*FAKE_DAEMON, "lsp", env=environment(paths)) as client:
        open_document(client, HASH, "ab")
        assert await complete(client, HASH, 0, 1) == f"{digest('a')}:{digest('b')}"
        assert not paths.runtime_dir.exists()


@pytest.mark.parametrize(("say_shutdown", "status"), [(True, 0), (False, 1)])
async def test_standalone_exit_status(paths: Paths, say_shutdown: bool, status: int) -> None:
    async with Editor.on_program(*FAKE_DAEMON, "lsp", env=environment(paths)) as editor:
        await editor.initialize()
        if say_shutdown:
            await editor.request("shutdown")
        editor.notify("exit", None)
        assert editor.process is not None
        assert await asyncio.wait_for(editor.process.wait(), TIMEOUT_S) == status


async def test_standalone_ends_on_sigterm_and_when_the_editor_hangs_up(paths: Paths) -> None:
    async with Editor.on_program(*FAKE_DAEMON, "lsp", env=environment(paths)) as editor:
        await editor.initialize()
        assert editor.process is not None
        editor.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(editor.process.wait(), TIMEOUT_S) == 0
    async with Editor.on_program(*FAKE_DAEMON, "lsp", env=environment(paths)) as editor:
        editor.writer.close()
        assert editor.process is not None
        assert await asyncio.wait_for(editor.process.wait(), TIMEOUT_S) == 1
