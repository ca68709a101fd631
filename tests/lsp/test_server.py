"""What an editor on the daemon's socket sees."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

from completiond import __version__
from completiond.lsp.capabilities import initialize_result
from completiond.lsp.documents import DocumentStore
from completiond.lsp.protocol import CompletionProtocol
from completiond.lsp.text import num_units
from completiond.paths import Paths
from tests.e2e.harness import EMPTY, Editor, RpcError, inline_params, until
from tests.fakes import HANG, OTHER, SLOW, FakeService


async def counters_of(editor: Editor) -> dict[str, int]:
    counters: dict[str, int] = (await editor.request("completiond/status"))["counters"]
    return counters


# Initialisation


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", "utf-16"], "utf-16"),
        (["utf-7"], "utf-16"),
    ],
)
async def test_the_first_position_encoding_both_know_is_chosen(
    daemon_paths: Paths, offered: list[str] | None, chosen: str
) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        assert (await editor.initialize(offered))["positionEncoding"] == chosen


async def test_the_capabilities_are_those_that_the_shim_announces(daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        result = await editor.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert result == initialize_result("utf-16")
    assert result["capabilities"]["inlineCompletionProvider"] == {}
    assert result["serverInfo"] == {"name": "completiond", "version": __version__}


@pytest.mark.parametrize("params", [None, [], {}, {"capabilities": None}, {"capabilities": {"general": 3}}])
async def test_a_strange_initialize_is_answered_all_the_same(daemon_paths: Paths, params: Any) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        assert (await editor.request("initialize", params))["capabilities"]["positionEncoding"] == "utf-16"


# Completion


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_an_item_has_an_empty_range_at_the_cursor(daemon_paths: Paths, encoding: Any) -> None:
    before = "é\U0001f600 = 日本"
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize([encoding])
        editor.open(OTHER, f"x\n{before})\n")
        character = num_units(before, encoding)
        answer = await editor.complete(OTHER, 1, character)
        cursor = {"line": 1, "character": character}
        assert answer == {"items": [{"insertText": "fake", "range": {"start": cursor, "end": cursor}}]}


async def test_a_position_after_the_end_of_the_line_is_the_end_of_the_line(editor: Editor) -> None:
    editor.open(OTHER, "ab\ncd")
    (item,) = (await editor.complete(OTHER, 0, 99))["items"]
    assert item["range"]["start"] == item["range"]["end"] == {"line": 0, "character": 2}
    (item,) = (await editor.complete(OTHER, 99, 0))["items"]
    assert item["range"]["start"] == {"line": 1, "character": 2}


async def test_the_service_gets_the_whole_text_and_the_path(editor: Editor, service: FakeService) -> None:
    uri = "file:///p%20q/%C3%A9.py"
    editor.open(uri, "one\r\ntwo\r\nthree")
    await editor.complete(uri, 1, 2)
    (request,) = service.requests
    assert (request.prefix, request.suffix) == ("one\r\ntw", "o\r\nthree")
    assert (request.path, request.document_id) == ("/p q/é.py", uri)


async def test_nothing_to_suggest_clears(editor: Editor) -> None:
    editor.open("file:///empty.py", "x")
    assert await editor.complete("file:///empty.py") == EMPTY


async def test_a_document_that_is_not_open_gets_nothing(editor: Editor) -> None:
    assert await editor.complete("untitled:1") == EMPTY


async def test_a_fault_gets_nothing_and_its_log_quotes_no_code(
    editor: Editor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(logging.getLogger("completiond"), "propagate", True)
    editor.open("file:///crash.py", "SECRET")
    assert await editor.complete("file:///crash.py", 0, 6) == EMPTY
    own = [record.getMessage() for record in caplog.records if record.name.startswith("completiond")]
    assert any("RuntimeError" in line and "fakes.py" in line for line in own)
    assert not any("SECRET" in line for line in own)
    assert editor.received == []


# Cancellation and superseding


async def test_cancelling_stops_the_engine_and_answers_request_cancelled(editor: Editor, service: FakeService) -> None:
    editor.open(HANG, "x")
    answer = editor.ask(HANG)
    await until(lambda: service.num_running)
    editor.notify("$/cancelRequest", {"id": 2})
    with pytest.raises(RpcError) as caught:
        await asyncio.wait_for(answer, 10)
    assert caught.value.code == -32800
    assert service.num_running == 0
    assert (await counters_of(editor))["cancelled"] == 1


async def test_cancelling_in_the_same_packet(editor: Editor, service: FakeService) -> None:
    editor.open(HANG, "x")
    request, answer = editor.prepare("textDocument/inlineCompletion", inline_params(HANG, 0, 0))
    editor.send(request, {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request["id"]}})
    with pytest.raises(RpcError) as caught:
        await asyncio.wait_for(answer, 10)
    assert caught.value.code == -32800
    assert service.num_running == 0


async def test_a_newer_request_for_the_document_makes_the_older_answer_null(
    editor: Editor, service: FakeService
) -> None:
    editor.open(HANG, "x")
    older = editor.ask(HANG)
    await until(lambda: service.num_running)
    newer = editor.ask(HANG, 0, 1)
    assert await asyncio.wait_for(older, 10) is None
    assert not newer.done()
    editor.notify("$/cancelRequest", {"id": 3})
    with pytest.raises(RpcError):
        await asyncio.wait_for(newer, 10)
    assert await counters_of(editor) == {
        "requests": 2, "answered": 0, "superseded": 1, "cancelled": 1, "empty": 0, "cached": 0
    }  # fmt: skip


async def test_requests_for_other_documents_and_of_other_clients_go_on(
    editor: Editor, daemon_paths: Paths, service: FakeService
) -> None:
    editor.open(HANG, "x")
    editor.open(OTHER, "x")
    waiting = editor.ask(HANG)
    await until(lambda: service.num_running)
    assert len((await editor.complete(OTHER))["items"]) == 1
    async with Editor.on_socket(daemon_paths) as second:
        await second.initialize()
        second.open(HANG, "x")
        second.ask(HANG).add_done_callback(lambda answer: answer.exception())
        await until(lambda: service.num_running == 2)
    await until(lambda: service.num_running == 1)  # the second has hung up
    assert not waiting.done()
    waiting.add_done_callback(lambda answer: answer.exception())


async def test_a_fast_request_overtakes_a_slow_one(editor: Editor) -> None:
    editor.open(SLOW, "x")
    editor.open(OTHER, "x")
    slow, fast = editor.ask(SLOW), editor.ask(OTHER)
    assert (await asyncio.wait_for(fast, 10))["items"][0]["insertText"] == "fake"
    assert not slow.done()
    assert (await asyncio.wait_for(slow, 10))["items"][0]["insertText"] == "slow"


# The end of a connection


async def test_shutdown_and_exit_end_only_their_own_connection(editor: Editor, daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as second:
        await second.initialize()
        assert await second.request("shutdown") is None
        with pytest.raises(RpcError) as caught:
            await second.complete(OTHER)
        assert caught.value.code == -32600
        second.notify("exit", None)
        await until(lambda: second.hung_up)
    editor.open(OTHER, "x")
    assert len((await editor.complete(OTHER))["items"]) == 1


@pytest.mark.parametrize("last", [b"", b"Content-Length: 100\r\n\r\n{", b"x" * 100_000, b'Content-Length: 1\r\n\r\n"'])
async def test_hanging_up_at_any_point_cancels_and_forgets(
    daemon_paths: Paths, service: FakeService, last: bytes
) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize()
        editor.open(HANG, "x")
        editor.ask(HANG).add_done_callback(lambda answer: answer.exception())
        await until(lambda: service.num_running)
        editor.writer.write(last)
    await until(lambda: service.num_running == 0 and service.requests[0].client_id in service.forgotten)
    assert service.num_listeners == 0


async def test_nothing_of_a_closed_connection_stays_in_memory(daemon_paths: Paths, service: FakeService) -> None:
    for _ in range(3):
        async with Editor.on_socket(daemon_paths) as editor:
            await editor.initialize()
            editor.open(OTHER, "x")
            await editor.complete(OTHER)
    await until(lambda: {request.client_id for request in service.requests} <= set(service.forgotten))
    await until(lambda: not _kept_connections())


def _kept_connections() -> list[object]:
    gc.collect()
    # By type(): isinstance would ask lazy objects of other libraries for their class, and they answer with warnings.
    return [kept for kept in gc.get_objects() if type(kept) in (CompletionProtocol, DocumentStore)]
