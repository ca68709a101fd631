"""What the methods of the msgpack-rpc socket do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from completiond import __version__
from completiond.paths import Paths
from tests.api.rpc_wire import RpcWire, WireError
from tests.e2e.harness import Editor, until
from tests.fakes import FakeService, digest

HELLO = {"protocol": 1, "client": "test"}


def at(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    return {"range": {"start": at(*start), "end": at(*end)}, "text": text}


# Places


async def test_whole_text(wire: RpcWire, service: FakeService) -> None:
    params = {
        "prefix": "a", "suffix": "b", "path": "/p/hash.py", "language": "python", "max_tokens": 7, "temperature": 1,
        "top_k": 3, "top_p": 0.5, "seed": 9, "drafter": "none", "explain": True,
    }  # fmt: skip
    result = await wire.request("complete", params)

    assert result["text"] == f"{digest('a')}:{digest('b')}"
    assert result["spans"][0] == {"text": digest("a"), "source": "model"}
    assert (result["stop_reason"], result["answer"]) == ("eos", 1)
    (asked,) = service.requests
    assert (asked.max_tokens, asked.drafter, asked.path, asked.language_id, asked.explain) == (
        7, "none", "/p/hash.py", "python", True,
    )  # fmt: skip
    sampling = asked.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.seed) == (1.0, 3, 0.5, 9)


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
async def test_a_position_counts_in_the_agreed_encoding(wire: RpcWire, encoding: str, character: int) -> None:
    said = await wire.request("hello", {**HELLO, "encoding": encoding})
    await wire.request("open", {"document": "/p/hash.py", "text": "x\né\n"})
    await wire.request("change", {"document": "/p/hash.py", "edits": [{"text": "x\nb😀cé"}]})
    result = await wire.request("complete", {"document": "/p/hash.py", "position": at(1, character)})

    assert said["encoding"] == encoding
    assert result["text"] == f"{digest('x' + chr(10) + 'b😀')}:{digest('cé')}"


async def test_utf8_is_the_encoding_of_who_does_not_say(wire: RpcWire) -> None:
    await wire.request("open", {"document": "/p/hash.py", "text": "éa"})
    result = await wire.request("complete", {"document": "/p/hash.py", "position": at(0, 2)})
    assert result["text"] == f"{digest('é')}:{digest('a')}"


async def test_a_request_and_the_change_behind_it_in_one_packet(wire: RpcWire) -> None:
    await wire.request("open", {"document": "/p/hash.py", "text": "ab"})
    message, answer = wire.prepare("complete", {"document": "/p/hash.py", "position": at(0, 1)})
    wire.send(message, [2, "change", [{"document": "/p/hash.py", "edits": [{"text": "other"}]}]])
    async with asyncio.timeout(30):
        assert (await answer)["text"] == f"{digest('a')}:{digest('b')}"


async def test_edits_come_along(wire: RpcWire, service: FakeService) -> None:
    await wire.request("open", {"document": "/p/hash.py", "text": "one\ntwo\n", "version": 4})
    result = await wire.request(
        "complete",
        {"document": "/p/hash.py", "position": at(1, 4), "edits": [edit((1, 3), (1, 3), "!")], "version": 5},
    )
    assert result["text"] == f"{digest('one' + chr(10) + 'two!')}:{digest(chr(10))}"
    assert list(service.documents.values()) == [["one", "two!", ""]]
    with pytest.raises(WireError) as caught:
        await wire.request("complete", {"document": "/p/hash.py", "position": at(0, 0), "version": 4})
    assert caught.value.error[:2] == ["UsageError", "The document is at version 5, not 4."]


async def test_documents_reach_the_service_and_are_forgotten(wire: RpcWire, service: FakeService) -> None:
    await wire.request("open", {"document": "buffer 3", "path": "/p/hash.py", "text": "a\r\nb", "language": "python"})
    assert list(service.documents.values()) == [["a", "b"]]
    await wire.request("complete", {"document": "buffer 3", "position": at(9, 9)})
    assert (service.requests[0].path, service.requests[0].language_id) == ("/p/hash.py", "python")
    assert service.requests[0].document_id == "buffer 3"
    await wire.request("close", {"document": "buffer 3"})
    assert service.documents == {}
    with pytest.raises(WireError, match="not open"):
        await wire.request("complete", {"document": "buffer 3", "position": at(0, 0)})


async def test_documents_are_of_one_connection(rpc_paths: Paths, wire: RpcWire) -> None:
    await wire.request("open", {"document": "/p/hash.py", "text": "mine"})
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as other:
        with pytest.raises(WireError, match="not open"):
            await other.request("complete", {"document": "/p/hash.py", "position": at(0, 0)})


# Streams


async def test_a_stream_tells_chunks_before_its_result(wire: RpcWire) -> None:
    answer = wire.start("stream", {"path": "slow.py", "prefix": ""})
    first = await wire.wait_for("chunk")
    assert first == {"request": 1, "text": "s", "spans": [{"text": "s", "source": "model"}]}
    assert not answer.done()
    async with asyncio.timeout(30):
        assert (await answer)["text"] == "slow"
    assert "".join(params["text"] for _, params in wire.told) == "slow"


async def test_who_cannot_wait_asks_by_notification(wire: RpcWire) -> None:
    wire.notify("stream", {"request": "mine", "path": "slow.py", "prefix": ""})
    told = await wire.wait_for("result")
    assert (told["request"], told["result"]["text"]) == ("mine", "slow")
    assert [params["request"] for name, params in wire.told if name == "chunk"] == ["mine"] * 4
    wire.notify("complete", {"request": 7, "prefix": "", "max_tokens": 4096})
    told = await wire.wait_for("failure")
    assert told == {
        "request": 7,
        "method": "complete",
        "error": ["UsageError", "max_tokens is 4096.", "Use fewer."],
    }
    wire.notify("complete", {"prefix": ""})
    assert (await wire.wait_for("failure", 2))["error"][0] == "UsageError"


@pytest.mark.parametrize("by_name", [True, False])
async def test_cancel(wire: RpcWire, service: FakeService, by_name: bool) -> None:
    params = {"path": "hang.py", "prefix": ""}
    answer = wire.start("stream", {**params, "request": "it"} if by_name else params)
    await until(lambda: service.num_running)
    assert await wire.request("cancel", {"request": "it" if by_name else 1}) is True
    with pytest.raises(WireError) as caught:
        await answer
    assert caught.value.error == ["RequestCancelledError", "The request was cancelled.", ""]
    assert service.num_running == 0
    assert await wire.request("cancel", {"request": "it"}) is False


async def test_a_cancel_in_the_same_packet(wire: RpcWire, service: FakeService) -> None:
    message, answer = wire.prepare("complete", {"path": "hang.py", "prefix": ""})
    wire.send(message, [2, "cancel", [{"request": message[1]}]])
    with pytest.raises(WireError, match="RequestCancelledError"):
        async with asyncio.timeout(30):
            await answer
    assert service.num_running == 0
    assert (await wire.request("status"))["counters"]["cancelled"] == 1


async def test_a_newer_request_for_a_document_supersedes(wire: RpcWire) -> None:
    await wire.request("open", {"document": "hang.py", "text": ""})
    first = wire.start("complete", {"document": "hang.py", "position": at(0, 0)})
    second = wire.start("complete", {"document": "hang.py", "position": at(0, 0)})
    with pytest.raises(WireError, match="SupersededError"):
        async with asyncio.timeout(30):
            await first
    assert not second.done()


async def test_one_slow_request_keeps_no_other_waiting(wire: RpcWire) -> None:
    slow = wire.start("complete", {"path": "hang.py", "prefix": ""})
    assert (await wire.request("complete", {"prefix": ""}))["text"] == "fake"
    assert not slow.done()


async def test_a_connection_that_closes_cancels_and_forgets(rpc_paths: Paths, service: FakeService) -> None:
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as wire:
        wire.start("stream", {"path": "hang.py", "prefix": ""})
        wire.notify("complete", {"request": 1000, "path": "/q/hang.py", "prefix": ""})
        await until(lambda: service.num_running == 2)
    await until(lambda: service.num_running == 0 and service.forgotten)


async def test_waiting_until_the_model_is_loaded(rpc_paths: Paths, service: FakeService, wire: RpcWire) -> None:
    service.set_state(replace(service.state, phase="loading", progress=0.5))
    with pytest.raises(WireError, match="NotReadyError"):
        await wire.request("complete", {"prefix": ""})
    answer = wire.start("complete", {"prefix": "", "wait_until_ready": True})
    await until(lambda: service.num_listeners)
    service.set_state(replace(service.state, phase="ready", progress=1.0))
    async with asyncio.timeout(30):
        assert (await answer)["text"] == "fake"
    assert service.num_listeners == 0


# Accept and status


async def accepts(wire: RpcWire) -> dict[str, int]:
    counts: dict[str, int] = (await wire.request("status"))["accepts"]
    return counts


async def test_what_was_taken_is_counted_once(wire: RpcWire) -> None:
    number = (await wire.request("complete", {"prefix": ""}))["answer"]
    assert await accepts(wire) == {"answers": 0, "whole": 0, "characters": 0}
    await wire.request("accept", {"answer": number, "text": "fa"})
    assert await accepts(wire) == {"answers": 1, "whole": 0, "characters": 2}
    await wire.request("accept", {"answer": number, "text": "f"})
    await wire.request("accept", {"answer": number, "text": "fak"})
    assert await accepts(wire) == {"answers": 1, "whole": 0, "characters": 3}
    await wire.request("accept", {"answer": number})
    await wire.request("accept", {"answer": number})
    assert await accepts(wire) == {"answers": 1, "whole": 1, "characters": 4}


@pytest.mark.parametrize("params", [{"answer": 2}, {"answer": 1, "text": "fork"}, {"answer": -1}, {"text": "fake"}])
async def test_what_cannot_have_been_taken(wire: RpcWire, params: dict[str, Any]) -> None:
    await wire.request("complete", {"prefix": ""})
    with pytest.raises(WireError, match="UsageError"):
        await wire.request("accept", params)
    assert (await accepts(wire))["answers"] == 0


async def test_status_is_that_of_the_other_socket(rpc_paths: Paths, wire: RpcWire) -> None:
    async with Editor.on_socket(rpc_paths) as editor:
        await wire.request("complete", {"prefix": ""})
        ours, theirs = await wire.request("status", {"why": True}), await editor.request("completiond/status")
    assert ours.keys() - theirs.keys() == {"recent"}
    assert ours["counters"]["answered"] == theirs["counters"]["answered"] == 1


async def test_who_only_asks_for_status_is_no_client(wire: RpcWire) -> None:
    assert (await wire.request("status"))["clients"] == 0
    await wire.request("hello", HELLO)
    assert (await wire.request("status"))["clients"] == 1


# Hello


async def test_hello(wire: RpcWire, service: FakeService) -> None:
    said = await wire.request("hello", {**HELLO, "client": "an\x1beditor", "folders": ["/p"]})
    assert said == {"protocol": 1, "version": __version__, "encoding": "utf-8", "max_message_bytes": 16 * 1024**2}
    assert list(service.folders.values()) == [["/p"]]
    await wire.request("complete", {"prefix": ""})
    assert service.requests[0].client_name == "aneditor"


async def test_another_protocol_is_refused(wire: RpcWire) -> None:
    with pytest.raises(WireError) as caught:
        await wire.request("hello", {"protocol": 2})
    code, message, advice = caught.value.error
    assert (code, message) == ("UsageError", "The client speaks protocol 2, and this daemon 1.")
    assert "completiond stop" in advice


async def test_the_encoding_stays_while_documents_are_open(wire: RpcWire) -> None:
    await wire.request("open", {"document": "a", "text": ""})
    with pytest.raises(WireError, match="encoding"):
        await wire.request("hello", {**HELLO, "encoding": "utf-16"})
    await wire.request("close", {"document": "a"})
    assert (await wire.request("hello", {**HELLO, "encoding": "utf-16"}))["encoding"] == "utf-16"


async def test_errors_as_text(wire: RpcWire) -> None:
    await wire.request("hello", {**HELLO, "errors": "text"})
    with pytest.raises(WireError) as caught:
        await wire.request("fly")
    assert caught.value.error.startswith("UnknownMethodError: There is no method 'fly'. There are accept, cancel,")


async def test_a_stop_is_told(rpc_paths: Paths, wire: RpcWire) -> None:
    await wire.request("status")
    async with Editor.on_socket(rpc_paths) as editor:
        await editor.request("completiond/stop")
    await wire.wait_for("stopping")
    await wire.until_hung_up()
    await until(lambda: not rpc_paths.rpc_socket.exists())
