"""A daemon with the real model gives its memory back while nobody uses it, and goes on when somebody does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.completer import Completer
from completiond.paths import Paths
from tests.e2e.harness import Editor, kill_daemon
from tests.e2e.test_real_model import status, until_loaded

pytestmark = pytest.mark.model

URI = "file:///a.py"
SOURCE = "def add(first, second):\n    return \n\n\nprint(add(1, 2))\n"
TIMEOUT_S = 120.0
GIVEN_BACK_MB = 500
"""More than half of the weights."""


@pytest.fixture
def paths(fresh_paths: Paths, default_completer: Completer) -> Iterator[Paths]:
    """``default_completer`` has prepared the weights, so that the daemon's start is a warm one."""
    yield fresh_paths
    kill_daemon(fresh_paths)


async def until_it_says(paths: Paths, what: str) -> dict[str, Any]:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            values = await asyncio.to_thread(status, paths)
            if values["detail"].startswith(what):
                return values
            await asyncio.sleep(0.1)


def resident_mb(pid: int) -> int:
    """Memory of a process, that of mapped files too."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


async def test_the_model_goes_and_comes_back_with_the_same_answer(
    paths: Paths, fresh_environment: dict[str, str]
) -> None:
    settings = {"COMPLETIOND_MODEL_IDLE_RELEASE_S": "3", "COMPLETIOND_CACHE_RESULTS": "0"}
    command = [sys.executable, "-m", "completiond", "serve"]
    daemon = await asyncio.create_subprocess_exec(
        *command, env=fresh_environment | settings, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until_loaded(paths)
        async with Editor.on_socket(paths) as editor:
            await editor.initialize()
            editor.open(URI, SOURCE)
            before = await editor.complete(URI, 1, 11)
            used_mb = resident_mb(daemon.pid)
            released = await until_it_says(paths, "released after 3 s")
            async with asyncio.timeout(TIMEOUT_S):
                while (left_mb := resident_mb(daemon.pid)) > used_mb - GIVEN_BACK_MB:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            again = await editor.complete(URI, 1, 11)
            back = await until_it_says(paths, "ready, loaded again in")
        print(f"resident: {used_mb} MB in use, {left_mb} MB released; {back['detail']}")
    finally:
        daemon.terminate()
        await daemon.wait()

    assert before["items"][0]["insertText"] == "first + second"
    assert again == before
    assert released["phase"] == back["phase"] == "ready"
    assert back["dictionary"] == released["dictionary"], "open documents were kept"
