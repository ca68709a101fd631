"""Real daemons with little memory: real processes that the kernel limits, on a real model of random weights."""

from __future__ import annotations

import asyncio
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from completiond.client import connect
from completiond.complete.service import RETRY_AFTER_S
from completiond.config import ModelConfig
from completiond.engine.load import load_model
from completiond.errors import MemoryFullError
from completiond.log_line import LogLine
from completiond.paths import Paths
from tests.e2e.harness import EMPTY, Editor, environment, is_listening, kill_daemon, temporary_paths
from tests.e2e.limited_daemon import used_bytes
from tests.train.small import make_model

pytestmark = pytest.mark.skipif(
    not (hasattr(resource, "prlimit") and Path("/proc/self/status").exists()),
    reason="the kernel does not limit processes, or not from outside",
)

LOAD_TIMEOUT_S = 120.0
MB = 1 << 20
LONG = "def add(a, b):\n    return a + b\n" * 40
"""Some 1300 tokens: a prompt of it is read 256 at a time."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100 MB of keys and values for 65,536 tokens; a pass of 256 tokens takes 67 MB, one of a single token little."""
    folder = tmp_path_factory.mktemp("models") / "wide"
    make_model(folder, tied=False, intermediate_size=16384, max_positions=65536)
    load_model(folder, ModelConfig(device="cpu"), folder.parent / "cache" / "prepared", lambda share, what: None)
    return folder


@pytest.fixture
def paths(model: Path) -> Iterator[Paths]:
    """Folders in which the weights are prepared."""
    with temporary_paths() as paths:
        yield replace(paths, cache_dir=model.parent / "cache")


def serving(paths: Paths, model: Path, **settings: str) -> dict[str, str]:
    """The environment of programs that use ``model``."""
    values = {"MODEL_NAME": str(model), "MODEL_DEVICE": "cpu", "MODEL_THREADS": "1", **settings}
    more = {f"COMPLETIOND_{name}": value for name, value in values.items()}
    return environment(paths, **more, MALLOC_ARENA_MAX="1")


@contextmanager
def daemon(kind: str, megabytes: int, paths: Paths, env: dict[str, str]) -> Iterator[int]:
    """The process id of a daemon that may have so much more of ``kind``; its log is where it always is."""
    paths.make_runtime_dir()
    with paths.log_file.open("wb") as log:
        command = [sys.executable, "-m", "tests.e2e.limited_daemon", kind, str(megabytes)]
        process = subprocess.Popen(command, env=env, stderr=log, stdout=log)
    try:
        yield process.pid
        assert process.poll() is None, "the daemon lives on"
    finally:
        kill_daemon(paths)
        process.kill()
        process.wait()


def status(paths: Paths, phase: str) -> dict[str, Any]:
    """What the daemon tells when it has loaded its model, or failed to."""
    deadline_s = time.monotonic() + LOAD_TIMEOUT_S
    while not is_listening(paths):
        assert time.monotonic() < deadline_s, paths.log_file.read_text()
        time.sleep(0.05)
    with connect(paths, start=False) as client:
        while (values := client.call("completiond/status"))["phase"] == "loading":
            assert time.monotonic() < deadline_s, values
            time.sleep(0.05)
    assert values["phase"] == phase, values
    found: dict[str, Any] = values
    return found


def complete(paths: Paths, prefix: str) -> dict[str, Any]:
    params = {"prefix": prefix, "maxTokens": 8, "temperature": 1.0, "seed": 7, "waitUntilReady": True}
    with connect(paths, start=False) as client:
        answer: dict[str, Any] = client.call("completiond/complete", params)
    return answer


def limit(pid: int, limited: int, soft: int) -> None:
    resource.prlimit(pid, limited, (soft, resource.RLIM_INFINITY))


def run(env: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "completiond", *arguments]
    env = {**env, "COLUMNS": "300"}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=LOAD_TIMEOUT_S).stdout


def test_a_daemon_with_little_memory_serves_with_less_and_says_what(paths: Paths, model: Path) -> None:
    env = serving(paths, model, MODEL_CONTEXT_TOKENS="65536")
    with daemon("AS", 260, paths, env) as pid:
        given_up = status(paths, "ready")["given_up"]
        tree, context = given_up
        assert tree == "cache.memory_mb is 0 instead of 256"
        found = re.fullmatch(r"model.context_tokens is (\d+) instead of 65536", context)
        assert found is not None, context
        assert 512 <= int(found[1]) < 65536
        answer = complete(paths, LONG)
        assert 0 < answer["prompt_tokens"] <= int(found[1])
        text = re.sub(r"\s+", " ", run(env, "status"))
        assert f"given up {tree}; {context}" in text
        logged = [LogLine.parse(line) for line in paths.log_file.read_text().splitlines()]
        said = [line.message for line in logged if line.level == "warning"]
        assert all(any(f"Memory is short: {what}" in message for message in said) for what in given_up)
        assert used_bytes(pid, "VmSize") <= resource.prlimit(pid, resource.RLIMIT_AS)[0]
        doctor = re.sub(r"\s+", " ", run(env, "doctor"))  # a process of its own, without limits
        assert f"short of memory: {tree}; {context}" in doctor


def test_a_daemon_with_enough_gives_nothing_up(paths: Paths, model: Path) -> None:
    env = serving(paths, model, MODEL_CONTEXT_TOKENS="65536")
    with daemon("AS", 1200, paths, env):
        assert status(paths, "ready")["given_up"] == []
        assert "given up" not in run(env, "status")


def test_a_model_that_does_not_fit_is_refused_and_loaded_when_there_is_room(paths: Paths, model: Path) -> None:
    """And an explicit drafter is not dropped: see test_memory_plan.py."""
    with daemon("AS", 100, paths, serving(paths, model)) as pid:
        detail = status(paths, "failed")["detail"]
        assert re.search(r"takes at least .* MB weights, .* MB are available, .* MB too few\.", detail)
        assert "Close other programs, or choose a smaller model" in detail
        with pytest.raises(MemoryFullError):
            complete(paths, "x")
        limit(pid, resource.RLIMIT_AS, resource.RLIM_INFINITY)
        time.sleep(RETRY_AFTER_S)
        assert complete(paths, "x")["prompt_tokens"] > 0
        assert status(paths, "ready")["given_up"] == []


def test_memory_that_runs_out_while_the_model_loads_is_an_error_and_not_the_end(paths: Paths, model: Path) -> None:
    """A limit that nothing tells of beforehand: the cache of 100 MB cannot be allocated."""
    with daemon("DATA", 120, paths, serving(paths, model, MODEL_CONTEXT_TOKENS="65536", CACHE_MEMORY_MB="0")) as pid:
        detail = status(paths, "failed")["detail"]
        assert f"Memory ran out while {model} was loaded" in detail
        assert "choose a smaller model" in detail
        assert len(list(paths.prepared_dir.glob("*/model.safetensors"))) == 1, "not taken for damage"
        before_bytes = resource.prlimit(pid, resource.RLIMIT_DATA)[0] - 120 * MB
        grown_bytes = used_bytes(pid, "VmData") - before_bytes
        assert grown_bytes < 75 * MB, "what had been loaded was given back"  # 33 MB are seen, and 118 if it is not
        limit(pid, resource.RLIMIT_DATA, resource.RLIM_INFINITY)
        time.sleep(RETRY_AFTER_S)
        assert complete(paths, "x")["prompt_tokens"] > 0


async def test_memory_that_runs_out_during_a_request_fails_that_request_only(paths: Paths, model: Path) -> None:
    env = serving(paths, model, MODEL_CONTEXT_TOKENS="4096", PROMPT_MAX_READ_MS="0")
    with daemon("DATA", 4000, paths, env) as pid:
        await asyncio.to_thread(status, paths, "ready")
        whole = await asyncio.to_thread(complete, paths, LONG)
        other = "total = price * count\n"
        short = await asyncio.to_thread(complete, paths, other)
        assert whole["prompt_tokens"] > 256
        assert len(whole["token_ids"]) > 1, "something to compare"
        assert (await asyncio.to_thread(complete, paths, LONG))["cached_tokens"] > 256, "it is kept"

        limit(pid, resource.RLIMIT_DATA, used_bytes(pid, "VmData") + 16 * MB)
        changed = LONG.replace("add", "subtract")
        with pytest.raises(MemoryFullError, match="Memory ran out while an answer was written"):
            await asyncio.to_thread(complete, paths, changed)
        async with Editor.on_socket(paths) as editor:
            await editor.initialize()
            editor.open("file:///p/b.py", changed)
            assert await editor.complete("file:///p/b.py", 80, 0) == EMPTY
            assert not [message for message in editor.received if message["method"].startswith("window/show")]
        assert "No completion: MemoryFullError" in paths.log_file.read_text()
        again = await asyncio.to_thread(complete, paths, other)
        assert (again["token_ids"], again["cached_tokens"]) == (short["token_ids"], 0), "all that was read is forgotten"

        limit(pid, resource.RLIMIT_DATA, resource.RLIM_INFINITY)
        answer = await asyncio.to_thread(complete, paths, LONG)
        assert answer["token_ids"] == whole["token_ids"]
        assert answer["cached_tokens"] < 8, "what both prompts begin with"
