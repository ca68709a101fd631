"""The Python client, at a real daemon."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from completiond.api.rpc_client import Edit, RpcAnswer, RpcClient
from completiond.api.rpc_errors import RequestCancelledError
from completiond.complete.request import Chunk, Span
from completiond.complete.service_protocol import SupersededError
from completiond.errors import DaemonError, DaemonUnreachableError, NotReadyError, UsageError
from completiond.paths import Paths
from tests.e2e.harness import TIMEOUT_S, daemon_in_process, temporary_paths, until
from tests.fakes import FakeLoading, FakeService, digest


@pytest_asyncio.fixture
async def client(rpc_paths: Paths) -> AsyncIterator[RpcClient]:
    async with RpcClient.connect("test", rpc_paths.rpc_socket) as client:
        yield client


async def test_documents(client: RpcClient, service: FakeService) -> None:
    await client.open("/p/hash.py", "one\ntwo😀 three")
    await client.change("/p/hash.py", [Edit((1, 4), (1, 5), "!")])
    answer = await client.complete("/p/hash.py", 1, 5, max_tokens=9)
    assert answer.text == f"{digest('one' + chr(10) + 'two😀!')}:{digest('three')}"
    assert answer.spans[0] == Span(digest("one\ntwo😀!"), "model")
    assert (answer.stop_reason, answer.values["prompt_tokens"]) == ("eos", 1)
    assert (service.requests[0].max_tokens, service.requests[0].client_name) == (9, "test")
    await client.close_document("/p/hash.py")
    with pytest.raises(UsageError, match="not open"):
        await client.complete("/p/hash.py", 0, 0)


async def test_text_and_acceptance(client: RpcClient) -> None:
    answer = await client.complete_text("a", "b", path="/p/other.py")
    assert answer.text == "fake"
    await client.accept(answer, "fa")
    await client.accept(answer)
    assert (await client.status())["accepts"] == {"answers": 1, "whole": 1, "characters": 4}
    assert (await client.status(why=True))["recent"] == []


async def test_a_stream_ends_with_the_answer(client: RpcClient) -> None:
    items = [item async for item in client.stream_text("", path="slow.py")]
    assert items[:-1] == [Chunk(letter, (Span(letter, "model"),)) for letter in "slow"]
    assert isinstance(items[-1], RpcAnswer)
    assert items[-1].text == "slow"


async def test_who_stops_to_read_a_stream_cancels_it(client: RpcClient, service: FakeService) -> None:
    stream = client.stream_text("", path="slow.py")
    assert isinstance(await anext(stream), Chunk)
    await stream.aclose()
    await until(lambda: service.num_running == 0)
    counters = (await client.status())["counters"]
    assert (counters["cancelled"], counters["answered"]) == (1, 0)


async def test_a_cancelled_task_cancels_its_request(client: RpcClient, service: FakeService) -> None:
    task = asyncio.create_task(client.complete_text("", path="hang.py"))
    await until(lambda: service.num_running)
    task.cancel()
    await until(lambda: service.num_running == 0)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_errors_are_what_they_were(client: RpcClient, service: FakeService) -> None:
    with pytest.raises(UsageError) as caught:
        await client.complete_text("", max_tokens=4096)
    assert (caught.value.message, caught.value.advice) == ("max_tokens is 4096.", "Use fewer.")
    with pytest.raises(DaemonError, match="no method"):
        await client.call("fly")
    first = asyncio.create_task(client.complete_text("", path="hang.py", request="it"))
    await until(lambda: service.num_running)
    second = asyncio.create_task(client.complete_text("", path="hang.py", request="other"))
    with pytest.raises(SupersededError):
        await first
    assert await client.call("cancel", {"request": "other"})
    with pytest.raises(RequestCancelledError):
        await second


async def test_a_model_that_failed_to_load() -> None:
    with temporary_paths() as paths:
        async with (
            daemon_in_process(paths, FakeService(FakeLoading(1, 0.0, "no such model"))),
            RpcClient.connect("test", paths.rpc_socket) as client,
        ):
            with pytest.raises(NotReadyError, match="no such model"):
                await client.complete_text("", wait_until_ready=True)


async def test_a_daemon_that_goes_away() -> None:
    with temporary_paths() as paths:
        with pytest.raises(DaemonUnreachableError, match="completiond serve"):
            async with RpcClient.connect("test", paths.rpc_socket):
                pass
        service = FakeService()
        async with daemon_in_process(paths, service), RpcClient.connect("test", paths.rpc_socket) as client:
            waiting = asyncio.create_task(client.complete_text("", path="hang.py"))
            await until(lambda: service.num_running)
        with pytest.raises(DaemonUnreachableError, match="went away"):
            await waiting
        with pytest.raises(DaemonUnreachableError):
            await client.status()


async def test_cancelled_at_random_nothing_is_left(rpc_paths: Paths, service: FakeService) -> None:
    """Streams are read for a while, or not at all, and given up in every way that there is."""
    rng = random.Random(7)
    await until(lambda: len(asyncio.all_tasks()) == 2)  # this one and the daemon's

    async def read(client: RpcClient, number: int) -> None:
        name = rng.choice(["slow.py", "hang.py", "hash.py", "crash.py"])
        stream = client.stream_text("", path=f"/{number % 5}/{name}")
        left = rng.randrange(4)
        try:
            async for _ in stream:
                if not left:
                    break
                left -= 1
        except (SupersededError, DaemonError):
            pass
        finally:
            await stream.aclose()

    async def one_client(rng: random.Random) -> None:
        async with RpcClient.connect("test", rpc_paths.rpc_socket) as client:
            tasks = [asyncio.create_task(read(client, number)) for number in range(12)]
            for task in tasks:
                await asyncio.sleep(rng.random() * 0.02)
                if rng.random() < 0.6:
                    task.cancel()
            if rng.random() < 0.5:
                await asyncio.sleep(rng.random() * 0.1)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async with asyncio.timeout(TIMEOUT_S):
        for _ in range(3):
            await asyncio.gather(*(one_client(random.Random(rng.random())) for _ in range(4)))
    await until(lambda: len(service.forgotten) >= 12)
    assert service.num_running == 0
    assert service.num_listeners == 0
    await until(lambda: len(asyncio.all_tasks()) == 2)
    async with RpcClient.connect("test", rpc_paths.rpc_socket) as client:
        status = await client.status()
    counters = status["counters"]
    assert status["clients"] == 1
    assert counters["requests"] == sum(counters[name] for name in ("answered", "superseded", "cancelled", "empty"))
    assert counters["requests"] > 20
