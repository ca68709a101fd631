"""What a client of the daemon's socket sees: the daemon runs on the test's event loop, with a service without a model."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from completiond import __version__, errors
from completiond.lsp.capabilities import initialize_result
from completiond.lsp.documents import DocumentStore
from completiond.lsp.protocol import CompletionProtocol
from completiond.lsp.text import num_units
from completiond.paths import Paths
from tests.e2e.harness import Editor, RpcError, daemon_in_process, inline_params, insertion, temporary_paths, until
from tests.fakes import FakeLoading, FakeService, digest

EMPTY: dict[str, Any] = {"items": []}
HASH, SLOW, HANG, OTHER = "file:///p/hash.py", "file:///p/slow.py", "file:///p/hang.py", "file:///p/other.py"


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest_asyncio.fixture
async def paths(service: FakeService) -> AsyncIterator[Paths]:
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service):
            yield paths


@pytest_asyncio.fixture
async def editor(paths: Paths) -> AsyncIterator[Editor]:
    async with Editor.on_socket(paths) as editor:
        await editor.initialize()
        yield editor


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
    paths: Paths, offered: list[str] | None, chosen: str
) -> None:
    async with Editor.on_socket(paths) as editor:
        assert (await editor.initialize(offered))["positionEncoding"] == chosen


async def test_the_capabilities_are_those_that_the_shim_announces(paths: Paths) -> None:
    async with Editor.on_socket(paths) as editor:
        result = await editor.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert result == initialize_result("utf-16")
    assert result["capabilities"]["inlineCompletionProvider"] == {}
    assert result["serverInfo"] == {"name": "completiond", "version": __version__}


@pytest.mark.parametrize("params", [None, [], {}, {"capabilities": None}, {"capabilities": {"general": 3}}])
async def test_a_strange_initialize_is_answered_all_the_same(paths: Paths, params: Any) -> None:
    async with Editor.on_socket(paths) as editor:
        assert (await editor.request("initialize", params))["capabilities"]["positionEncoding"] == "utf-16"


# Completion


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_an_item_has_an_empty_range_at_the_cursor(paths: Paths, encoding: Any) -> None:
    before = "é\U0001f600 = 日本"
    async with Editor.on_socket(paths) as editor:
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


# Text synchronisation

SNIPPETS = [
    "",
    "x",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "é",
    "日本語",
    "\U0001f600",
    "a\x0cb",
    "a\u2028b",
    "\x85",
    "\x1c",
    "\ta",
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_edits_at_many_places_give_the_text_that_the_editor_has(paths: Paths, encoding: Any) -> None:
    """The reference is the plainest that can be: split into lines, measure, cut."""
    rng = random.Random(f"edits {encoding}")
    async with Editor.on_socket(paths) as editor:
        await editor.initialize([encoding])
        text = "a\x0cb\r\n\u2028x = '日本\U0001f600'\r\n\n\x0c\rend"
        editor.open(HASH, text)
        for version in range(2, 62):
            changes = []
            for _ in range(rng.randint(1, 3)):
                start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
                start, end = _between_characters(text, start), _between_characters(text, min(end, start + 6))
                new = "".join(rng.choices(SNIPPETS, k=rng.randint(0, 3)))
                span = {"start": _position(text, start, encoding), "end": _position(text, end, encoding)}
                changes.append({"range": span, "text": new})
                text = text[:start] + new + text[end:]
            if version % 20 == 0:
                changes.append({"text": text})  # the whole document
            editor.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": HASH, "version": version}, "contentChanges": changes},
            )
            cursor = _between_characters(text, rng.randint(0, len(text)))
            position = _position(text, cursor, encoding)
            (item,) = (await editor.complete(HASH, position["line"], position["character"]))["items"]
            assert item["insertText"] == f"{digest(text[:cursor])}:{digest(text[cursor:])}", f"version {version}"
            assert item["range"] == {"start": position, "end": position}


def _between_characters(text: str, offset: int) -> int:
    """Move out of the middle of a CR LF, where LSP has no position."""
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def _position(text: str, offset: int, encoding: str) -> dict[str, int]:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    codec, unit_bytes = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
    return {"line": before.count("\n"), "character": len(line.encode(codec)) // unit_bytes}


async def test_a_request_sees_the_text_as_it_was_when_it_was_sent(editor: Editor) -> None:
    editor.open(HASH, "old")
    request, answer = editor.prepare("textDocument/inlineCompletion", inline_params(HASH, 0, 3))
    editor.send(request, insertion(HASH, 0, 0, "new ", 2), insertion(HASH, 0, 0, "newer ", 3))
    (item,) = (await asyncio.wait_for(answer, 10))["items"]
    assert item["insertText"] == f"{digest('old')}:{digest('')}"
    (item,) = (await editor.complete(HASH, 0, 0))["items"]
    assert item["insertText"] == f"{digest('')}:{digest('newer new old')}"


async def test_closing_and_opening_again(editor: Editor) -> None:
    editor.open(HASH, "one")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": HASH}})
    assert await editor.complete(HASH) == EMPTY
    editor.open(HASH, "two", version=1)
    (item,) = (await editor.complete(HASH, 0, 3))["items"]
    assert item["insertText"].startswith(digest("two"))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didChange", {"textDocument": {"uri": "file:///no", "version": 1}, "contentChanges": []}),
        ("textDocument/didClose", {"textDocument": {"uri": "file:///no"}}),
        ("textDocument/didSave", {"textDocument": {"uri": "file:///no"}}),
        ("textDocument/didOpen", None),
        ("textDocument/didOpen", {"textDocument": {"uri": 3}}),
        ("textDocument/didChange", {"textDocument": {"uri": "file:///no"}, "contentChanges": [{"range": 1}]}),
        ("textDocument/didClose", []),
        ("workspace/didChangeConfiguration", {"settings": {}}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}}),
        ("$/setTrace", {"value": "verbose"}),
        ("$/cancelRequest", {"id": 12345}),
        ("$/cancelRequest", None),
        ("notebookDocument/didOpen", {}),
    ],
)
async def test_notifications_that_mean_nothing_here_do_no_harm(editor: Editor, method: str, params: Any) -> None:
    editor.open(OTHER, "x")
    editor.notify(method, params)
    assert len((await editor.complete(OTHER))["items"]) == 1
    assert editor.received == []


async def test_after_a_change_that_cannot_be_read_the_document_counts_as_closed(editor: Editor) -> None:
    editor.open(OTHER, "x")
    change = {"range": {"start": {"line": 0}}, "text": "y"}
    editor.notify("textDocument/didChange", {"textDocument": {"uri": OTHER, "version": 2}, "contentChanges": [change]})
    assert await editor.complete(OTHER) == EMPTY


# Malformed messages


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"textDocument": {"uri": OTHER}},
        {**inline_params(OTHER, 0, 0), "position": {"line": -1, "character": 0}},
        {**inline_params(OTHER, 0, 0), "position": {"line": "SECRET", "character": 0}},
        {**inline_params(OTHER, 0, 0), "context": {}},
        {**inline_params(OTHER, 0, 0), "context": {"triggerKind": 99}},
    ],
)
async def test_malformed_params_get_an_answer_and_no_popup(
    editor: Editor, params: Any, caplog: pytest.LogCaptureFixture
) -> None:
    editor.open(OTHER, "x")
    assert await editor.request("textDocument/inlineCompletion", params) == EMPTY
    assert len((await editor.complete(OTHER))["items"]) == 1
    assert editor.received == []
    own = [record.getMessage() for record in caplog.records if record.name.startswith("completiond")]
    assert not any("SECRET" in line for line in own)


async def test_an_unknown_method_is_an_error(editor: Editor) -> None:
    with pytest.raises(RpcError) as caught:
        await editor.request("textDocument/hover", {})
    assert caught.value.code == -32601
    assert editor.received == []


@pytest.mark.parametrize(
    "message", [{"id": 77, "method": "shutdown"}, {"jsonrpc": "1.0", "id": 77, "method": "shutdown"}]
)
async def test_another_json_rpc_is_an_error(editor: Editor, message: dict[str, Any]) -> None:
    _, answer = editor.prepare("shutdown")
    editor._answers[77] = answer
    editor.send(message)
    with pytest.raises(RpcError):
        await asyncio.wait_for(answer, 10)


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"3", b"{}", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":9}', b'{"jsonrpc":"2.0","id":[]}']
)
async def test_what_is_no_message_does_not_end_the_connection(editor: Editor, body: bytes) -> None:
    editor.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert await editor.complete(OTHER) == EMPTY


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
    assert await counters_of(editor) == {"requests": 2, "answered": 0, "superseded": 1, "cancelled": 1, "empty": 0}


async def test_requests_for_other_documents_and_of_other_clients_go_on(
    editor: Editor, paths: Paths, service: FakeService
) -> None:
    editor.open(HANG, "x")
    editor.open(OTHER, "x")
    waiting = editor.ask(HANG)
    await until(lambda: service.num_running)
    assert len((await editor.complete(OTHER))["items"]) == 1
    async with Editor.on_socket(paths) as second:
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


async def test_shutdown_and_exit_end_only_their_own_connection(editor: Editor, paths: Paths) -> None:
    async with Editor.on_socket(paths) as second:
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
async def test_hanging_up_at_any_point_cancels_and_forgets(paths: Paths, service: FakeService, last: bytes) -> None:
    async with Editor.on_socket(paths) as editor:
        await editor.initialize()
        editor.open(HANG, "x")
        editor.ask(HANG).add_done_callback(lambda answer: answer.exception())
        await until(lambda: service.num_running)
        editor.writer.write(last)
    await until(lambda: service.num_running == 0 and service.requests[0].client_id in service.forgotten)
    assert service.num_listeners == 0


async def test_nothing_of_a_closed_connection_stays_in_memory(paths: Paths, service: FakeService) -> None:
    for _ in range(3):
        async with Editor.on_socket(paths) as editor:
            await editor.initialize()
            editor.open(OTHER, "x")
            await editor.complete(OTHER)
    await until(lambda: {request.client_id for request in service.requests} <= set(service.forgotten))
    await asyncio.sleep(0)
    gc.collect()
    assert [kept for kept in gc.get_objects() if isinstance(kept, CompletionProtocol | DocumentStore)] == []


# Loading


@pytest.fixture
def loading_service() -> FakeService:
    return FakeService(FakeLoading(num_steps=1, step_s=3600.0))  # until the test sets another state


@pytest_asyncio.fixture
async def loading_paths(loading_service: FakeService) -> AsyncIterator[Paths]:
    with temporary_paths() as paths:
        async with daemon_in_process(paths, loading_service):
            yield paths


def _progress(editor: Editor) -> list[tuple[str, int | None]]:
    values = [message["params"]["value"] for message in editor.received if message["method"] == "$/progress"]
    return [(value["kind"], value.get("percentage")) for value in values]


def _is(kind: str) -> Callable[[Any], bool]:
    return lambda params: params["value"]["kind"] == kind


async def test_progress_of_loading_is_shown(loading_paths: Paths, loading_service: FakeService) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await editor.initialize(progress=True)
        created = await editor.wait_for("window/workDoneProgress/create")
        begun = await editor.wait_for("$/progress", _is("begin"))
        assert begun["token"] == created["token"]
        loading_service.set_state(replace(loading_service.state, progress=0.5))
        loading_service.set_state(replace(loading_service.state, progress=0.501))
        loading_service.set_state(replace(loading_service.state, progress=1.0, phase="ready", detail=""))
        await editor.wait_for("$/progress", _is("end"))
        assert _progress(editor) == [("begin", 0), ("report", 50), ("end", None)]
        editor.open(OTHER, "x")
        assert len((await editor.complete(OTHER))["items"]) == 1


async def test_no_progress_for_a_client_that_does_not_show_it(
    loading_paths: Paths, loading_service: FakeService
) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await editor.initialize(progress=False)
        editor.open(OTHER, "x")
        assert await editor.complete(OTHER) == EMPTY
        loading_service.set_state(replace(loading_service.state, progress=1.0, phase="ready"))
        assert len((await editor.complete(OTHER))["items"]) == 1
        assert editor.received == []


async def test_a_failed_load_is_told_once_in_the_log_and_never_in_a_popup(
    loading_paths: Paths, loading_service: FakeService
) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await editor.initialize(progress=True)
        await editor.wait_for("$/progress", _is("begin"))
        failed = replace(loading_service.state, phase="failed", detail="No room on the disk. Free some.")
        loading_service.set_state(failed)
        loading_service.set_state(failed)
        told = await editor.wait_for("window/logMessage")
        assert told == {"type": 1, "message": "completiond: No room on the disk. Free some."}
        editor.open(OTHER, "x")
        assert await editor.complete(OTHER) == EMPTY
        assert editor.count("window/logMessage") == 1
        assert editor.count("window/showMessage") == 0
        assert _progress(editor)[-1][0] == "end"
    async with Editor.on_socket(loading_paths) as late:
        await late.initialize(progress=True)
        await late.wait_for("window/logMessage")
        assert _progress(late) == []


# Our own methods


async def test_complete_without_initialize(paths: Paths, service: FakeService) -> None:
    params = {
        "path": "/p/hash.py",
        "prefix": "a",
        "suffix": "b",
        "maxTokens": 7,
        "temperature": 1,
        "topK": 3,
        "topP": 0.5,
        "seed": 9,
        "drafter": "none",
    }
    async with Editor.on_socket(paths) as client:
        completion = await client.request("completiond/complete", params)
    assert completion["text"] == f"{digest('a')}:{digest('b')}"
    assert completion["spans"][0] == {"text": digest("a"), "source": "model"}
    assert completion["stop_reason"] == "eos"
    (request,) = service.requests
    assert (request.max_tokens, request.drafter, request.path) == (7, "none", "/p/hash.py")
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.seed) == (1.0, 3, 0.5, 9)


async def test_streaming_sends_chunks_before_the_answer(paths: Paths) -> None:
    async with Editor.on_socket(paths) as client:
        message, answer = client.prepare("completiond/complete", {"path": "slow.py", "prefix": "", "stream": True})
        client.send(message)
        first = await client.wait_for("completiond/chunk")
        assert first == {"id": message["id"], "text": "s", "spans": [{"text": "s", "source": "model"}]}
        assert not answer.done()
        assert (await asyncio.wait_for(answer, 10))["text"] == "slow"
        assert "".join(chunk["params"]["text"] for chunk in client.received) == "slow"


async def test_waiting_until_the_model_is_loaded(loading_paths: Paths, loading_service: FakeService) -> None:
    async with Editor.on_socket(loading_paths) as client:
        with pytest.raises(RpcError) as caught:
            await client.request("completiond/complete", {"prefix": ""})
        assert caught.value.data["type"] == "NotReadyError"
        answer = client.start("completiond/complete", {"prefix": "", "waitUntilReady": True})
        await until(lambda: loading_service.num_listeners)
        loading_service.set_state(replace(loading_service.state, progress=1.0, phase="ready"))
        assert (await asyncio.wait_for(answer, 10))["text"] == "fake"
        assert loading_service.num_listeners == 0


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"prefix": 3},
        {"prefix": "", "maxTokens": 0},
        {"prefix": "", "maxTokens": 4096},
        {"prefix": "", "maxTokens": True},
        {"prefix": "", "temperature": -1},
        {"prefix": "", "temperature": "hot"},
        {"prefix": "", "drafter": "best"},
        {"prefix": "", "stream": 1},
        {"prefix": "", "prefill": ""},
    ],
)
async def test_a_request_that_cannot_be_is_a_usage_error(paths: Paths, params: Any) -> None:
    async with Editor.on_socket(paths) as client:
        with pytest.raises(RpcError) as caught:
            await client.request("completiond/complete", params)
    assert caught.value.code == -32602
    assert caught.value.data["type"] == errors.UsageError.__name__
    assert caught.value.data["exit_status"] == 2
    assert caught.value.data["message"]


async def test_status_tells_what_there_is_to_know(editor: Editor, paths: Paths) -> None:
    editor.open(OTHER, "x")
    editor.open("file:///empty.py", "x")
    await editor.complete(OTHER)
    await editor.complete("file:///empty.py")
    status = await editor.request("completiond/status")
    assert status["counters"] == {"requests": 2, "answered": 1, "superseded": 0, "cancelled": 0, "empty": 1}
    assert status["socket"] == str(paths.socket)
    assert status["version"] == __version__
    assert status["clients"] == 1
    assert status["phase"] == "ready"
    assert status["rss_mb"] > 1
    names = {"progress", "detail", "model", "device", "dtype", "fim", "pid", "uptime_s"}
    assert names <= status.keys()


async def test_stop_is_answered_and_told_to_editors_before_the_end(editor: Editor, paths: Paths) -> None:
    async with Editor.on_socket(paths) as client:
        assert await client.request("completiond/stop") is None
        await until(lambda: client.hung_up)
        assert client.received == []
    await editor.wait_for("$/completiond/stopping")
    await until(lambda: editor.hung_up and not paths.socket.exists())
