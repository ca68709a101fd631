"""Clients that go away in the middle: what they asked for stops, and nothing of it is left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import random
from pathlib import Path
from typing import Any

import pytest

from completiond.cache.kv import KVCache
from tests.api.daemon import Api, api_daemon
from tests.complete.words import load_words
from tests.e2e.harness import Editor, until

NUM_REQUESTS = 1000
NUM_AT_ONCE = 20
TEXT = "value = def value\nreturn value\n"


def bodies(number: int) -> tuple[str, dict[str, Any]]:
    """Questions of all kinds, few of them the same."""
    prompt = TEXT * (number % 3) + f"value = {number % 50}"
    more = {"stream": True, "temperature": (number % 2) * 0.8, "seed": number}
    return [
        ("/v1/completions", {"prompt": prompt, "suffix": "\n", **more}),
        ("/v1/completions", {"prompt": prompt, "max_tokens": 40, "n": 2, **more}),
        ("/completion", {"prompt": prompt, "n_predict": 60, **more}),
        ("/infill", {"input_prefix": prompt, "input_suffix": "\n", **more}),
    ][number % 4]


async def ask(api: Api, number: int, cancels: random.Random) -> bool:
    """Ask on a connection of its own, and hang up at some time or never; whether an answer came to its end."""
    path, body = bodies(number)
    data = json.dumps(body).encode()
    reader, writer = await asyncio.open_unix_connection(str(api.paths.socket))
    try:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        if cancels.random() < 0.6:
            await asyncio.sleep(cancels.random() * 0.1)  # before, amid or behind the answer
            return False
        return (await reader.read()).rstrip().endswith(b"0")  # of the last chunk
    finally:
        writer.close()


def sockets() -> int:
    """Open ones of this process."""
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(link.startswith("socket:") for link in links)


async def test_a_thousand_streams_with_random_cancels_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with api_daemon(monkeypatch, load_words(tmp_path)) as api:
        assert (await api.get("/health")).status == 200
        gc.collect()
        num_tasks, num_sockets = len(asyncio.all_tasks()), sockets()
        cancels = random.Random(0)
        places = asyncio.Semaphore(NUM_AT_ONCE)

        async def one(number: int) -> bool:
            async with places:
                return await ask(api, number, cancels)

        ended = await asyncio.gather(*(one(number) for number in range(NUM_REQUESTS)))
        assert sum(ended) > NUM_REQUESTS / 5, "many are read to their end"

        service = api.service
        await until(lambda: not service._streams and service._answers.is_idle)
        await until(lambda: len(asyncio.all_tasks()) <= num_tasks and sockets() <= num_sockets)
        (slot,) = (await api.get("/slots")).json
        assert slot["is_processing"] is False
        kv = api.completer.kv
        assert isinstance(kv, KVCache)
        assert kv.num_tokens == len(kv.token_ids) <= kv.capacity_tokens
        assert kv.others is not None
        assert kv.others.size_bytes <= kv.others.budget_bytes
        async with Editor.on_socket(api.paths) as editor:
            counters = (await editor.request("completiond/status"))["counters"]
        parts = ("answered", "superseded", "cancelled", "empty")
        assert counters["requests"] == sum(counters[name] for name in parts) == NUM_REQUESTS
        assert counters["superseded"] == 0, "no client takes another one's place"

        whole = (await api.post("/completion", {"prompt": TEXT, "n_predict": 40})).json["content"]
    async with api_daemon(monkeypatch, load_words(tmp_path / "again")) as api:
        fresh = (await api.post("/completion", {"prompt": TEXT, "n_predict": 40})).json["content"]
    assert whole == fresh, "the cache holds what it says"
