"""Two daemons: the second one's engine is the first, which runs the real default model."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from completiond.client import connect
from completiond.complete.completer import Completer
from completiond.complete.service import RETRY_AFTER_S
from completiond.errors import DaemonUnreachableError
from completiond.paths import Paths
from tests.e2e.harness import Editor, environment, temporary_paths

pytestmark = pytest.mark.model

LOAD_TIMEOUT_S = 120.0
SETTINGS = {"COMPLETIOND_COMPLETION_DEADLINE_MS": "60000", "COMPLETIOND_PROMPT_MAX_READ_MS": "0"}
TEXTS = (
    ("def add(first, second):\n    return ", "\n\n\nprint(add(1, 2))\n"),
    (
        "import json\n\n\ndef load(path):\n    with open(path) as file:\n        ",
        "\n\n\ndef save(path, data):\n    pass\n",
    ),
    ("numbers = sorted(", ")\n"),
    ("class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        ", ""),
    ("function area(circle) {\r\n  return ", "\r\n}\r\n"),
)
URI = "file:///p/add.py"


@contextmanager
def daemon(paths: Paths, cache_dir: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """``completiond serve`` as a program, with its log beside its socket."""
    paths.make_runtime_dir()
    env = {**environment(paths, **SETTINGS, **more), "COMPLETIOND_CACHE_DIR": str(cache_dir)}
    with (paths.runtime_dir / "log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "completiond", "serve"], env=env, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def status_of(paths: Paths, **params: Any) -> dict[str, Any]:
    try:
        with connect(paths, start=False) as client:
            values: dict[str, Any] = client.call("completiond/status", params)
    except DaemonUnreachableError:
        return {"phase": "starting"}
    return values


def until_ready(paths: Paths) -> dict[str, Any]:
    deadline_s = time.monotonic() + LOAD_TIMEOUT_S
    while (values := status_of(paths))["phase"] != "ready":
        assert values["phase"] != "failed", values["detail"]
        assert time.monotonic() < deadline_s, values
        time.sleep(0.05)
    return values


def answer_of(paths: Paths, prefix: str, suffix: str) -> dict[str, Any]:
    """As ``completiond complete`` asks, and at another place each time."""
    params = {"prefix": prefix, "suffix": suffix, "waitUntilReady": True}
    with connect(paths, start=False) as client:
        values: dict[str, Any] = client.call("completiond/complete", params)
    return values


def test_the_same_text_and_a_clear_state_while_the_other_is_away(
    default_completer: Completer, model_paths: Paths
) -> None:
    """``default_completer`` has prepared the weights."""
    with temporary_paths() as first, temporary_paths() as second:
        remote = {"COMPLETIOND_ENGINE_REMOTE": f"unix:{first.socket}"}
        with daemon(second, second.cache_dir, **remote):
            with daemon(first, model_paths.cache_dir):
                until_ready(first)
                expected = [answer_of(first, *text) for text in TEXTS]
                found = [answer_of(second, *text) for text in TEXTS]
                assert [one["text"] for one in found] == [one["text"] for one in expected]
                assert any(one["text"] for one in expected)
                values = until_ready(second)
                assert (values["model"], values["device"]) == ("qwen2.5-coder-0.5b", str(first.socket))
                assert values["rss_mb"] < status_of(first)["rss_mb"] / 2, "no model of its own"
            asyncio.run(_while_it_is_away(second, first))
            with daemon(first, model_paths.cache_dir):
                until_ready(first)
                time.sleep(2 * RETRY_AFTER_S)
                prefix, suffix = TEXTS[0]
                assert asyncio.run(_texts(second, prefix, suffix)) == [expected[0]["text"]], "the next request"
                assert _over_http(second, prefix, suffix).json()["choices"][0]["text"] == expected[0]["text"]
                assert until_ready(second)["model"] == "qwen2.5-coder-0.5b"
        log = (second.runtime_dir / "log").read_text()
        assert "does not answer" in log
        assert "Traceback" not in log
        assert all(line not in log for prefix, _ in TEXTS for line in prefix.split() if len(line) > 8)


async def _while_it_is_away(second: Paths, first: Paths) -> None:
    words = f"The server at {first.socket} does not answer."
    assert await _texts(second, "unheard = ", "") == []
    reply = await asyncio.to_thread(_over_http, second, "unheard = ", "")
    assert reply.status_code == 503
    assert reply.json()["error"]["message"] == words
    assert reply.json()["error"]["advice"]
    values = status_of(second, why=True)
    assert values["phase"] in ("failed", "loading")
    assert values["recent"][0]["meaning"].startswith(words)


async def _texts(paths: Paths, prefix: str, suffix: str) -> list[str]:
    """What an editor is shown."""
    async with Editor.on_socket(paths) as editor:
        await editor.initialize()
        editor.open(URI, prefix + suffix)
        lines = prefix.split("\n")
        answer = await editor.complete(URI, len(lines) - 1, len(lines[-1]))
        assert editor.count("window/showMessage") == 0
        return [item["insertText"] for item in answer["items"]]


def _over_http(paths: Paths, prefix: str, suffix: str) -> httpx.Response:
    transport = httpx.HTTPTransport(uds=str(paths.socket))
    with httpx.Client(transport=transport, timeout=LOAD_TIMEOUT_S, trust_env=False) as client:
        return client.post("http://localhost/v1/completions", json={"prompt": prefix, "suffix": suffix})


def test_it_starts_fast_and_small(model_paths: Paths) -> None:
    """Without torch, whatever the server does."""
    with (
        temporary_paths() as paths,
        daemon(paths, paths.cache_dir, COMPLETIOND_ENGINE_REMOTE=f"unix:{paths.runtime_dir}/none") as process,
    ):
        deadline_s = time.monotonic() + LOAD_TIMEOUT_S
        while (values := status_of(paths))["phase"] != "failed":
            assert time.monotonic() < deadline_s, values
            time.sleep(0.05)
        maps = Path(f"/proc/{process.pid}/maps")
        assert not maps.exists() or "libtorch" not in maps.read_text()
        assert values["rss_mb"] < 250
        assert values["detail"].startswith("The server at")
        assert os.waitpid(process.pid, os.WNOHANG) == (0, 0), "it goes on"
