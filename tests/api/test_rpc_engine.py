"""The whole way to a real engine, with a small model of random weights."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from completiond.api.rpc_client import RpcAnswer, RpcClient
from completiond.complete.request import Chunk
from completiond.complete.service import LocalService
from completiond.complete.service_protocol import SupersededError
from completiond.config import CacheConfig, CompletionConfig, Config, ModelConfig
from tests.e2e.harness import TIMEOUT_S, daemon_in_process, temporary_paths, until
from tests.train.small import make_model

LOAD_TIMEOUT_S = 120.0
TEXT = "def add(a, b):\n    "


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "small", tied=False)


@pytest_asyncio.fixture
async def client(model: Path) -> AsyncIterator[RpcClient]:
    config = Config(
        model=ModelConfig(name=str(model), context_tokens=512, device="cpu", threads=1),
        cache=CacheConfig(results=False, ahead=False),
        completion=CompletionConfig(deadline_ms=60_000),
    )
    with temporary_paths() as paths:
        async with (
            daemon_in_process(paths, LocalService(config, paths)),
            RpcClient.connect("test", paths.rpc_socket) as client,
        ):
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await client.complete_text("x", wait_until_ready=True, max_tokens=1)
            yield client


async def test_a_stream_is_the_answer_in_pieces_each_with_its_origin(client: RpcClient) -> None:
    await client.open("/p/a.py", TEXT + "\n")
    *chunks, streamed = [item async for item in client.stream("/p/a.py", 1, 4, temperature=1.0, seed=3)]
    whole = await client.complete("/p/a.py", 1, 4, temperature=1.0, seed=3, drafter="none")

    assert isinstance(streamed, RpcAnswer)
    assert streamed.text == whole.text
    assert streamed.values["token_ids"] == whole.values["token_ids"]
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, Chunk)) == streamed.text
    spans = [span for chunk in chunks if isinstance(chunk, Chunk) for span in chunk.spans]
    assert "".join(span.text for span in spans) == "".join(span.text for span in streamed.spans) == streamed.text
    status = await client.status(why=True)
    recent, latency = status["recent"], status["latency"]
    assert latency["answers"] >= 2
    assert 0 < latency["ttft_ms"]["p50"] <= latency["ttft_ms"]["p99"]
    assert (recent[0]["client"], recent[0]["document"], recent[0]["line"], recent[0]["column"]) == (
        "test",
        "a.py",
        2,
        4,
    )


async def test_after_random_cancels_the_engine_is_idle(client: RpcClient) -> None:
    rng = random.Random(11)
    await until(lambda: len(asyncio.all_tasks()) <= 5)
    tasks_before = len(asyncio.all_tasks())

    async def read(number: int, num_items: int) -> None:
        stream = client.stream_text(TEXT * (1 + number % 3), path=f"/p/{number % 4}.py", temperature=1.5, seed=number)
        try:
            async for _ in stream:
                if not (num_items := num_items - 1):
                    break
        except SupersededError:
            pass
        finally:
            await stream.aclose()

    tasks = [asyncio.create_task(read(number, rng.randrange(1, 30))) for number in range(24)]
    for task in tasks:
        await asyncio.sleep(rng.random() * 0.02)
        if rng.random() < 0.5:
            task.cancel()
    async with asyncio.timeout(TIMEOUT_S):
        await asyncio.wait(tasks)
        assert (await client.complete_text(TEXT, max_tokens=4)).values["prompt_tokens"] > 0
    await until(lambda: len(asyncio.all_tasks()) <= tasks_before)
    status = await client.status()
    counters, passes = status["counters"], status["work"]["passes"]
    assert counters["requests"] == sum(counters[name] for name in ("answered", "superseded", "cancelled", "empty"))
    await asyncio.sleep(0.2)
    assert (await client.status())["work"]["passes"] == passes, "the engine writes for nobody"
