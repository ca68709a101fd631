"""The default model over HTTP: what each kind of client gets, and that no drafter changes it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from completiond.complete.completer import Completer
from completiond.config import Config, SpecConfig
from completiond.paths import Paths
from completiond.spec.drafter_names import DrafterChoice
from tests.api.daemon import Api, api_daemon, curl, events_of
from tests.api.test_openai import client_of
from tests.conftest import WHOLE
from tests.e2e.harness import Editor, is_listening, until

pytestmark = pytest.mark.model

LOAD_TIMEOUT_S = 120.0
PREFIX, SUFFIX = "def add(first, second):\n    return ", "\n\n\nprint(add(1, 2))\n"
TEMPLATED = f"<|fim_prefix|>{PREFIX}<|fim_suffix|>{SUFFIX}<|fim_middle|>"
RENAMED = (
    "def withdraw(stock_by_name, name, quantity):\n    if name not in stock_by_name:\n        raise KeyError(name)\n"
    "    stock_by_name[name] -= quantity\n\n\ndef deposit(stock_by_name, name, quantity):\n"
)


def config(drafter: DrafterChoice = "auto") -> Config:
    return WHOLE.model_copy(update={"spec": SpecConfig(drafter=drafter)})


@pytest_asyncio.fixture
async def api(monkeypatch: pytest.MonkeyPatch, default_completer: Completer) -> AsyncIterator[Api]:
    async with api_daemon(monkeypatch, default_completer.model, config()) as api:
        yield api


async def test_each_kind_of_client_gets_the_sum(api: Api) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/v1/completions", {"prompt": PREFIX, "suffix": SUFFIX}),
        ("/v1/completions", {"prompt": TEMPLATED, "max_tokens": 24, "stop": ["\n"]}),
        ("/v1/completions", {"segments": {"prefix": PREFIX, "suffix": SUFFIX, "filepath": "a.py"}}),
        ("/v1/fim/completions", {"prompt": PREFIX, "suffix": SUFFIX}),
        ("/infill", {"input_prefix": PREFIX, "input_suffix": SUFFIX, "prompt": ""}),
        ("/completion", {"prompt": TEMPLATED, "n_predict": 24, "stop": ["\n"]}),
    ]
    for path, body in asked:
        reply = (await api.post(path, body)).json
        one = reply["choices"][0] if "choices" in reply else {"text": reply["content"]}
        text = one["text"] if "text" in one else one["message"]["content"]
        assert text.strip() == "first + second", path


async def test_the_openai_package_streams_it(api: Api) -> None:
    async with client_of(api) as client:
        stream = await client.completions.create(model="any", prompt=TEMPLATED, max_tokens=24, stream=True)
        text = "".join([chunk.choices[0].text async for chunk in stream])
    assert text.startswith("first + second")


async def test_control_tokens_are_one_token_and_come_back(api: Api) -> None:
    ids = (await api.post("/tokenize", {"content": TEMPLATED})).json["tokens"]
    plain = (await api.post("/tokenize", {"content": TEMPLATED, "parse_special": False})).json["tokens"]

    assert (await api.post("/detokenize", {"tokens": ids})).json["content"] == TEMPLATED
    assert len(plain) > len(ids)
    by_ids = (await api.post("/completion", {"prompt": ids, "n_predict": 8})).json["content"]
    assert by_ids == (await api.post("/completion", {"prompt": TEMPLATED, "n_predict": 8})).json["content"]


async def test_from_the_command_line_to_an_answer(
    fresh_paths: Paths, fresh_environment: dict[str, str], default_completer: Completer
) -> None:
    """``default_completer`` has prepared the weights."""
    program = (sys.executable, "-m", "completiond")
    daemon = await asyncio.create_subprocess_exec(
        *program, "serve", "--http", "127.0.0.1:0", env=fresh_environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until(lambda: fresh_paths.runtime_dir.exists() and is_listening(fresh_paths))
        socket = ("--unix-socket", str(fresh_paths.socket))
        seen = {(await curl(*socket, "http://completiond/health")).status}
        async with asyncio.timeout(LOAD_TIMEOUT_S):
            while 200 not in seen:
                await asyncio.sleep(0.05)
                seen.add((await curl(*socket, "http://completiond/health")).status)
        assert seen <= {503, 200}
        async with Editor.on_socket(fresh_paths) as editor:
            url = (await editor.request("completiond/status"))["http"]
        told = await asyncio.create_subprocess_exec(
            *program, "token", env=fresh_environment, stdout=asyncio.subprocess.PIPE
        )
        token = (await told.communicate())[0].decode().strip()
        data = json.dumps({"prompt": PREFIX, "suffix": SUFFIX}).encode()
        header = ("-H", f"Authorization: Bearer {token}", "--data-binary", "@-")
        reply = await curl(*header, f"{url}/v1/completions", data=data)
        assert reply.json["choices"][0]["text"] == "first + second"
    finally:
        if daemon.returncode is None:
            daemon.terminate()
        assert await daemon.wait() == 0


async def test_no_drafter_changes_what_it_writes(monkeypatch: pytest.MonkeyPatch, default_completer: Completer) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/v1/completions", {"prompt": RENAMED, "suffix": "\n", "max_tokens": 48}),
        ("/v1/completions", {"prompt": RENAMED, "max_tokens": 48, "temperature": 0.8, "seed": 7}),
        ("/infill", {"input_prefix": RENAMED, "input_suffix": "\n", "prompt": "    ", "n_predict": 48}),
        ("/completion", {"prompt": RENAMED, "n_predict": 48}),
    ]
    found: list[list[str]] = []
    for drafter in ("none", "auto"):
        async with api_daemon(monkeypatch, default_completer.model, config(drafter)) as api:
            replies = [(await api.post(path, body)).json for path, body in asked]
            streamed = [events_of(await api.post(path, {**body, "stream": True})) for path, body in asked[-1:]]
            work = api.service.work
        texts = [reply["choices"][0]["text"] if "choices" in reply else reply["content"] for reply in replies]
        assert "".join(event["content"] for event in streamed[0]) == texts[-1]
        assert all(texts)
        found.append(texts)
        assert (work.accepted_tokens > 0) == (drafter == "auto")
    assert found[0] == found[1]
