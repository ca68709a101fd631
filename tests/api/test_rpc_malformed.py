"""What is wrong is answered and hurts nobody: neither this connection, where that can be, nor any other."""

from __future__ import annotations

import asyncio
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from completiond.api.rpc_connection import MAX_RUNNING
from completiond.api.rpc_documents import MAX_DOCUMENTS
from completiond.api.rpc_frames import MAX_FRAME_BYTES, MAX_VALUES, FrameError, Frames
from completiond.api.rpc_server import MAX_CONNECTIONS, RpcServer
from completiond.lsp.host import Host
from completiond.paths import Paths
from tests.api.rpc_wire import RpcWire, WireError
from tests.e2e.harness import temporary_paths, until
from tests.fakes import FakeService

AT = {"line": 0, "character": 0}


async def still_serves(wire: RpcWire) -> None:
    assert (await wire.request("complete", {"prefix": ""}))["text"] == "fake"


async def error_of(wire: RpcWire, method: Any, *params: Any) -> list[str]:
    with pytest.raises(WireError) as caught:
        await wire.request(method, *params)
    code, message, advice = caught.value.error
    assert "Traceback" not in message
    assert message
    return [code, message, advice]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("complete", []),
        ("complete", [{}]),
        ("complete", [[]]),
        ("complete", [{"prefix": ""}, {}]),
        ("complete", [3]),
        ("complete", [{3: 4}]),
        ("complete", [{"prefix": 3}]),
        ("complete", [{"prefix": b"bytes"}]),
        ("complete", [{"prefix": "\udcff"}]),
        ("complete", [{"prefix": "", "\udcff": 1}]),
        ("complete", [{"prefix": msgpack.ExtType(5, b"x")}]),
        ("complete", [{"prefix": "", "max_tokens": 0}]),
        ("complete", [{"prefix": "", "max_tokens": True}]),
        ("complete", [{"prefix": "", "max_tokens": 4096}]),
        ("complete", [{"prefix": "", "temperature": -1}]),
        ("complete", [{"prefix": "", "temperature": float("nan")}]),
        ("complete", [{"prefix": "", "seed": 2**64 - 1}]),
        ("complete", [{"prefix": "", "drafter": "best"}]),
        ("complete", [{"prefix": "", "prefill": ""}]),
        ("complete", [{"prefix": "", "position": AT}]),
        ("complete", [{"prefix": "", "request": {}}]),
        ("complete", [{"document": "none", "position": AT}]),
        ("complete", [{"document": "none"}]),
        ("stream", [{"document": "none", "position": {"line": -1, "character": 0}}]),
        ("open", [{"document": "a"}]),
        ("open", [{"document": "a" * 5000, "text": ""}]),
        ("change", [{"document": "none", "edits": []}]),
        ("change", [{"document": "none", "edits": [{"text": "", "range": {"start": AT}}]}]),
        ("close", [{}]),
        ("cancel", [{"request": None}]),
        ("hello", [{"protocol": "1"}]),
        ("hello", [{"protocol": 1, "encoding": "latin-1"}]),
        ("hello", [{"protocol": 1, "notify": ["one"]}]),
        ("status", [{"why": "yes"}]),
    ],
)
async def test_wrong_parameters_are_a_usage_error(wire: RpcWire, method: str, params: list[Any]) -> None:
    code, _, _ = await error_of(wire, method, *params)
    assert code == "UsageError"
    await still_serves(wire)
    counters = (await wire.request("status"))["counters"]
    assert counters["requests"] == counters["answered"] + counters["empty"]


@pytest.mark.parametrize("name", [1.5, -1, True, "x" * 101, [1]])
async def test_what_a_request_may_be_called_is_said_in_words(wire: RpcWire, name: Any) -> None:
    for method, params in (("complete", {"prefix": "", "request": name}), ("cancel", {"request": name})):
        _, message, _ = await error_of(wire, method, params)
        assert message == (
            f"{method}: request: it has to be a whole number from 0 to 2^53 - 1 or a string of 100 characters at most."
        )


@pytest.mark.parametrize("method", ["fly", "", "__init__", "_methods", "\udcff", "Complete"])
async def test_an_unknown_method_is_an_error(wire: RpcWire, method: str) -> None:
    code, _, advice = await error_of(wire, method)
    assert code == "UnknownMethodError"
    assert "complete" in advice
    await still_serves(wire)


async def test_an_unknown_notification_is_left_unanswered(wire: RpcWire) -> None:
    wire.notify("nvim_error_event", 0, "Invalid method: failure")
    await still_serves(wire)
    assert wire.told == []


@pytest.mark.parametrize(
    "message",
    [3, None, [], {}, "text", [0], [9, 1, "status", []], [True, 1, "status", []], [0, -1, "status", []],
     [0, 1, 2, [], 4], [0, 2**40, "status", []], [0, "1", "status", []], [1, 1, None, None], [2, 3, []],
     [2, "x" * 101, []]],
)  # fmt: skip
async def test_what_is_no_message_is_told_and_the_connection_stays(wire: RpcWire, message: Any) -> None:
    wire.send(message)
    told = await wire.wait_for("failure")
    assert told["error"][0] == "WrongMessageError"
    await still_serves(wire)


async def test_a_request_with_a_wrong_method_has_an_answer(wire: RpcWire) -> None:
    assert (await error_of(wire, 3))[0] == "WrongMessageError"


async def test_a_defect_of_ours_quotes_nothing(wire: RpcWire, caplog: pytest.LogCaptureFixture) -> None:
    code, message, advice = await error_of(wire, "complete", {"prefix": "SECRET", "path": "crash.py"})
    assert code == "InternalError"
    assert "SECRET" not in message + advice + caplog.text
    assert "complete failed: RuntimeError at" in caplog.text
    await still_serves(wire)


async def test_a_change_that_cannot_be_made_closes_its_document(wire: RpcWire, service: FakeService) -> None:
    await wire.request("open", {"document": "a", "text": ""})
    wire.notify("change", {"document": "a", "edits": [{"text": 3}]})
    told = await wire.wait_for("failure")
    assert (told["method"], told["error"][0]) == ("change", "UsageError")
    assert service.documents == {}
    assert "not open" in (await error_of(wire, "complete", {"document": "a", "position": AT}))[1]
    await wire.request("open", {"document": "a", "text": ""})
    await error_of(wire, "complete", {"document": "a", "position": AT, "edits": [{"text": "b"}], "temperature": 99})
    assert service.documents == {}


async def test_requests_of_one_name(wire: RpcWire, service: FakeService) -> None:
    wire.start("complete", {"prefix": "", "path": "hang.py", "request": "it"})
    error = await error_of(wire, "complete", {"prefix": "", "request": "it"})
    assert error[1] == "A request of that name is under way."


async def test_there_is_a_limit_to_requests_and_to_documents(wire: RpcWire, service: FakeService) -> None:
    for number in range(MAX_RUNNING):
        wire.start("complete", {"prefix": "", "path": f"/{number}/hang.py"})
    assert "under way" in (await error_of(wire, "complete", {"prefix": ""}))[1]
    for number in range(MAX_DOCUMENTS):
        wire.notify("open", {"document": f"{number}", "text": ""})
    assert "are open" in (await error_of(wire, "open", {"document": "one more", "text": ""}))[1]
    await wire.request("open", {"document": "0", "text": "again"})


# Frames


def array32(length: int) -> bytes:
    return b"\xdd" + length.to_bytes(4, "big")


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",  # what msgpack never uses
        array32(2**32 - 1),
        b"\xdf\xff\xff\xff\xff",  # a map
        array32(4096) * 10,
        b"\x91" * 5000,
        b"\xc9\xff\xff\xff\xff\x01",  # an extension
        b"\xd4\xff\x00",  # a timestamp of one byte
        b"\x94\x00\x01\xa1x\xdc\x00\x14" + (b"\xdc\x10\x00" + b"\x90" * 4096) * 20,
        b"GET / HTTP/1.1\r\n\r\n" + b"\xc1",
    ],
)
async def test_bytes_that_no_message_can_be_read_behind(rpc_paths: Paths, wire: RpcWire, data: bytes) -> None:
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as bad:
        bad.writer.write(data)
        if data.startswith(array32(4096)):
            bad.writer.write(b"\x90" * MAX_VALUES)
        await bad.until_hung_up()
    name, params = bad.told[-1]
    assert (name, params["error"][0]) == ("failure", "FrameError")
    await still_serves(wire)


async def test_a_message_that_is_too_long(rpc_paths: Paths, wire: RpcWire) -> None:
    text = "x" * (MAX_FRAME_BYTES - 100)
    await wire.request("open", {"document": "a", "text": text})
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as bad:
        answer = bad.start("open", {"document": "a", "text": text + "y" * 100})
        await bad.until_hung_up()
        with pytest.raises(ConnectionError):
            await answer
        assert bad.told[-1][1]["error"][:2] == ["FrameError", "A message has more than 16 MiB."]
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as bad:  # in parts none of which is too long
        bad.send([0, 1, "open", [{str(number): "x" * 2**20 for number in range(17)}]])
        await bad.until_hung_up()
    await still_serves(wire)


async def test_half_a_message_with_nothing_behind_it() -> None:
    with temporary_paths() as paths:
        paths.make_runtime_dir()
        host = Host(service := FakeService(), None, lambda: None)
        service.start()
        server = await asyncio.start_unix_server(RpcServer(host, frame_timeout_s=0.2).serve, str(paths.rpc_socket))
        async with RpcWire.on_socket(paths.rpc_socket) as wire:
            whole = msgpack.packb([0, 1, "status", []])
            await still_serves(wire)
            await asyncio.sleep(0.3)  # between messages there is all the time in the world
            await still_serves(wire)
            wire.writer.write(whole[:3])
            await wire.until_hung_up()
            assert wire.told[-1][1]["error"][:2] == ["FrameError", "A message did not end within 0.2 s."]
        server.close()
        await until(lambda: host.status()["clients"] == 0)


async def test_there_is_a_limit_to_connections(rpc_paths: Paths) -> None:
    writers = []
    for _ in range(MAX_CONNECTIONS):
        _, writer = await asyncio.open_unix_connection(str(rpc_paths.rpc_socket))
        writers.append(writer)
    async with RpcWire.on_socket(rpc_paths.rpc_socket) as late:
        await late.until_hung_up()
        assert late.told[0][1]["error"][0] == "TooManyClientsError"
    writers[0].close()

    async def is_served() -> bool:
        async with RpcWire.on_socket(rpc_paths.rpc_socket) as wire:
            try:
                await still_serves(wire)
            except ConnectionError:
                return False
            return True

    async with asyncio.timeout(30):
        while not await is_served():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    for writer in writers:
        writer.close()


async def test_who_does_not_read_is_not_read_from(rpc_paths: Paths, wire: RpcWire) -> None:
    _, writer = await asyncio.open_unix_connection(str(rpc_paths.rpc_socket))
    await still_serves(wire)
    question = msgpack.packb([0, 1, "status", []])
    sent = 0
    for _ in range(2000):
        writer.write(question * 100)
        try:
            await asyncio.wait_for(writer.drain(), 0.5)
        except TimeoutError:
            break
        sent += 1
    assert sent < 2000, "all was taken"
    await still_serves(wire)
    writer.transport.abort()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5) | st.integers(0, 9), inner),
    max_leaves=20,
)
METHODS = st.sampled_from(
    ["hello", "open", "change", "close", "complete", "stream", "cancel", "accept", "status", "fly"]
)
NAMES = st.sampled_from(["document", "text", "edits", "position", "prefix", "request", "answer", "protocol", "version"])
MESSAGES = st.one_of(
    st.tuples(st.just(0), st.integers(0, 9), METHODS, st.lists(st.dictionaries(NAMES, VALUES), max_size=2)),
    st.tuples(st.just(2), METHODS, VALUES),
    VALUES,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(MESSAGES, max_size=6), cut=st.integers(0, 200), flipped=st.none() | st.integers(0, 200))
def test_any_bytes_are_answered_or_cut_off(messages: list[Any], cut: int, flipped: int | None) -> None:
    """Random messages, one byte of them changed, cut in two: others are served on, and nothing is left running."""
    data = bytearray(b"".join(msgpack.packb(message) for message in messages))
    if flipped is not None and flipped < len(data):
        data[flipped] ^= 0xFF

    async def check() -> None:
        with temporary_paths() as paths:
            paths.make_runtime_dir()
            host = Host(service := FakeService(), None, lambda: None)
            service.start()
            server = await asyncio.start_unix_server(RpcServer(host).serve, str(paths.rpc_socket))
            async with RpcWire.on_socket(paths.rpc_socket) as good:
                _, writer = await asyncio.open_unix_connection(str(paths.rpc_socket))
                for part in (data[:cut], data[cut:]):
                    writer.write(bytes(part))
                    await still_serves(good)
                writer.close()
                await until(lambda: len(service.forgotten) == 1)
                await still_serves(good)
            await until(lambda: len(service.forgotten) == 2 and service.num_running == 0)
            server.close()

    asyncio.run(check())


@given(st.lists(VALUES, max_size=8), st.integers(1, 40))
def test_frames_do_not_depend_on_where_they_are_cut(values: list[Any], size: int) -> None:
    data = b"".join(msgpack.packb(value) for value in values)
    frames, found = Frames(), list[Any]()
    for start in range(0, len(data), size):
        found += frames.feed(data[start : start + size])
        assert frames.is_within == (start + size < len(data) and not _ends_at(values, start + size))
    assert len(found) == len(values)


def _ends_at(values: list[Any], end: int) -> bool:
    length, ends = 0, {0}
    for value in values:
        length += len(msgpack.packb(value))
        ends.add(length)
    return end in ends


@given(st.binary(max_size=300))
def test_frames_of_any_bytes(data: bytes) -> None:
    frames = Frames()
    try:
        found = list(frames.feed(data))
    except FrameError:
        return
    assert frames.is_within or bool(found) == bool(data)
