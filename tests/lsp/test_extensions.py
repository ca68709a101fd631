"""Our own methods, which need no initialize."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from completiond import __version__, errors
from completiond.complete.request import DictionaryState
from completiond.paths import Paths
from completiond.spec.acceptance import AcceptanceCounts
from tests.e2e.harness import Editor, RpcError, until
from tests.fakes import OTHER, FakeService, digest


async def test_complete_without_initialize(daemon_paths: Paths, service: FakeService) -> None:
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
    async with Editor.on_socket(daemon_paths) as client:
        completion = await client.request("completiond/complete", params)
    assert completion["text"] == f"{digest('a')}:{digest('b')}"
    assert completion["spans"][0] == {"text": digest("a"), "source": "model"}
    assert completion["stop_reason"] == "eos"
    (request,) = service.requests
    assert (request.max_tokens, request.drafter, request.path) == (7, "none", "/p/hash.py")
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.seed) == (1.0, 3, 0.5, 9)


async def test_streaming_sends_chunks_before_the_answer(daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as client:
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
async def test_a_request_that_cannot_be_is_a_usage_error(daemon_paths: Paths, params: Any) -> None:
    async with Editor.on_socket(daemon_paths) as client:
        with pytest.raises(RpcError) as caught:
            await client.request("completiond/complete", params)
    assert caught.value.code == -32602
    assert caught.value.data["type"] == errors.UsageError.__name__
    assert caught.value.data["exit_status"] == 2
    assert caught.value.data["message"]


async def test_status_tells_what_there_is_to_know(editor: Editor, daemon_paths: Paths) -> None:
    editor.open(OTHER, "x")
    editor.open("file:///empty.py", "x")
    await editor.complete(OTHER)
    await editor.complete("file:///empty.py")
    status = await editor.request("completiond/status")
    assert status["counters"] == {
        "requests": 2,
        "answered": 1,
        "superseded": 0,
        "cancelled": 0,
        "empty": 1,
        "cached": 0,
    }
    assert status["socket"] == str(daemon_paths.socket)
    assert status["version"] == __version__
    assert status["clients"] == 1
    assert status["phase"] == "ready"
    assert status["rss_mb"] > 1
    names = {"progress", "detail", "model", "device", "dtype", "fim", "pid", "uptime_s"}
    assert names <= status.keys()


async def test_status_tells_what_became_of_guesses(daemon_paths: Paths, service: FakeService) -> None:
    async with Editor.on_socket(daemon_paths) as client:
        assert (await client.request("completiond/status"))["acceptance"] == []
        service.acceptance = (
            AcceptanceCounts("ngram", 0.0, (9, 5), (7, 1)),
            AcceptanceCounts("ngram", 0.8, (3,), (0,)),
        )
        assert (await client.request("completiond/status"))["acceptance"] == [
            {"source": "ngram", "temperature": 0.0, "tried": [9, 5], "accepted": [7, 1]},
            {"source": "ngram", "temperature": 0.8, "tried": [3], "accepted": [0]},
        ]


async def test_status_tells_what_there_is_to_draft_from(daemon_paths: Paths, service: FakeService) -> None:
    async with Editor.on_socket(daemon_paths) as client:
        service.dictionary = DictionaryState(documents=3, tokens=400, bytes=5000, excluded_documents=2)
        assert (await client.request("completiond/status"))["dictionary"] == {
            "documents": 3,
            "tokens": 400,
            "bytes": 5000,
            "excluded_documents": 2,
        }


async def test_stop_is_answered_and_told_to_editors_before_the_end(editor: Editor, daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as client:
        assert await client.request("completiond/stop") is None
        await until(lambda: client.hung_up)
        assert client.received == []
    await editor.wait_for("$/completiond/stopping")
    await until(lambda: editor.hung_up and not daemon_paths.socket.exists())
