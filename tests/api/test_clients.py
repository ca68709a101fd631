"""What editor plugins send, field by field, and all that each reads of the answer."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from tests.api.conftest import ANSWER
from tests.api.daemon import Api, events_of
from tests.fake_model import bytes_of, fake_model, says

FILLED = ANSWER.rstrip()
TEMPLATED = "<|fim_prefix|>def f():\n    <|fim_suffix|>\nprint()\n<|fim_middle|>"

LLAMA_VIM: dict[str, Any] = {
    "id_slot": 0, "input_prefix": "import os\n\ndef f():\n", "input_suffix": "\n\nprint(f())\n",
    "input_extra": [{"text": "def g():\n    return 1\n", "time": [1706, 42], "filename": "b.py"}],
    "prompt": "    ", "n_predict": 128, "stop": [], "n_indent": 0, "top_k": 40, "top_p": 0.9,
    "samplers": ["top_k", "top_p", "infill"], "stream": False, "cache_prompt": True, "t_max_prompt_ms": 500,
    "t_max_predict_ms": 60_000, "model": "",
    "response_fields": [
        "content", "timings/prompt_n", "timings/prompt_ms", "timings/prompt_per_token_ms", "timings/prompt_per_second",
        "timings/predicted_n", "timings/predicted_ms", "timings/predicted_per_token_ms",
        "timings/predicted_per_second", "truncated", "tokens_cached",
    ],
}  # fmt: skip


async def test_llama_vim(api: Api) -> None:
    reply = await api.post("/infill", LLAMA_VIM, "-H", "Authorization: Bearer ")

    assert reply.body.startswith("{")
    assert re.search(r'"content":"', reply.body), "without a blank: others it takes for no answer"
    read = reply.json
    assert read["content"] == FILLED
    assert read["tokens_cached"] > 0
    for name in LLAMA_VIM["response_fields"]:
        assert name in read, name
    assert all(isinstance(read[name], int | float) for name in read if name.startswith("timings/"))


async def test_llama_vim_warms_up(api: Api) -> None:
    nothing = {"input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0, "temperature": 0.0}
    limits = {"samplers": [], "t_max_prompt_ms": 1, "t_max_predict_ms": 1, "response_fields": [""]}
    reply = await api.post("/infill", {**LLAMA_VIM, **nothing, **limits})

    assert (reply.status, reply.json) == (200, {})


@pytest.mark.parametrize("n_cmpl", [1, 3])
async def test_llama_vscode(api: Api, n_cmpl: int) -> None:
    body: dict[str, Any] = {
        "id_slot": 0, "input_prefix": "def f():\n", "input_suffix": "\nprint()\n",
        "input_extra": [{"text": "x = 1\n", "time": 12345, "filename": "/home/me/p/b.py"}], "prompt": "    ",
        "n_predict": 128, "n_cmpl": n_cmpl, "top_k": 40, "top_p": 0.99, "stream": False,
        "samplers": ["top_k", "top_p", "infill"], "cache_prompt": True, "n_indent": 4, "t_max_prompt_ms": 500,
        "t_max_predict_ms": 60_000, "lora": [{"id": 0, "scale": 0.0}], "model": "x",
    }  # fmt: skip
    assert "status" in (await api.get("/health")).json
    reply = (await api.post("/infill", body)).json

    answers = reply if n_cmpl > 1 else [reply]
    assert isinstance(reply, list) == (n_cmpl > 1)
    assert answers[0]["content"] == FILLED
    assert len({one["content"] for one in answers}) == len(answers)
    for one in answers:
        assert one["generation_settings"]["n_ctx"] > 0
        assert one["tokens_cached"] > 0
        for name in ("prompt_n", "prompt_ms", "prompt_per_second", "predicted_n", "predicted_ms"):
            assert one["timings"][name] >= 0
        assert "predicted_per_second" in one["timings"]
    assert (await api.post("/infill", {**body, "n_predict": 0, "samplers": []})).status == 200
    wrong = await api.post("/infill", {**body, "input_prefix": 1})
    assert wrong.json["error"]["message"]


async def test_continue_of_the_openai_kind(api: Api) -> None:
    body = {
        "model": "qwen2.5-coder", "prompt": TEMPLATED, "max_tokens": 4096, "temperature": 0.01, "top_p": 1,
        "frequency_penalty": 0, "presence_penalty": 0, "stream": True,
        "stop": ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "/src/", "#- coding: utf-8"],
    }  # fmt: skip
    header = ("-H", f"api-key: {api.token}")
    reply = await api.over_tcp("/v1/completions", *header, body=body, token="")

    *events, done = events_of(reply)
    assert done == "[DONE]"
    assert "".join(event["choices"][0]["text"] for event in events) == ANSWER


async def test_continue_with_fills(api: Api) -> None:
    body = {
        "model": "codestral", "prompt": "def f():\n    ", "suffix": "\nprint()\n", "max_tokens": 256,
        "temperature": 0.01, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0, "stop": [], "stream": True,
    }  # fmt: skip
    header = ("-H", f"x-api-key: {api.token}")
    reply = await api.over_tcp("/v1/fim/completions", *header, body=body, token="")

    *events, done = events_of(reply)
    assert done == "[DONE]"
    assert "".join(event["choices"][0]["delta"]["content"] for event in events) == FILLED
    assert events[-1]["choices"][0]["finish_reason"] == "stop"


async def test_continue_of_the_llama_cpp_kind(api: Api) -> None:
    body = {
        "model": "x", "prompt": TEMPLATED, "stream": True, "n_predict": 128, "stop": [], "top_k": 100, "top_p": 1,
        "min_p": 0, "mirostat": 0, "temperature": 0.01, "frequency_penalty": 0, "presence_penalty": 0,
    }  # fmt: skip
    events = events_of(await api.post("/completion", body))

    assert "".join(event["content"] for event in events) == ANSWER


async def test_minuet_asks_three_times_at_once_and_the_work_is_done_once(api: Api) -> None:
    body = {"model": "x", "prompt": "def f():\n    ", "suffix": "\nprint()\n", "stream": True, "max_tokens": 256}
    before = api.service.work.written_tokens
    replies = await asyncio.gather(*(api.post("/v1/completions", body) for _ in range(3)))

    for reply in replies:
        texts = []
        for line in reply.body.split("\n"):
            if line.startswith("data:") and (data := line.removeprefix("data:").strip()) != "[DONE]":
                texts.append(json.loads(data)["choices"][0]["text"])
        assert "".join(texts) == FILLED
        assert "error" not in reply.body
    assert api.service.work.written_tokens - before < 2 * len(FILLED)


@pytest.mark.parametrize("suffix", [None, "\nprint()\n"])
async def test_minuet_without_a_stream_of_codestrals_kind(api: Api, suffix: str | None) -> None:
    body = {"model": "x", "prompt": "def f():\n    ", "suffix": suffix or "", "max_tokens": 256}
    reply = (await api.post("/v1/fim/completions", body)).json

    assert reply["choices"][0]["message"]["content"].startswith("one")


async def test_zed(api: Api) -> None:
    body = {"model": "x", "prompt": TEMPLATED, "max_tokens": 512, "stop": ["<|endoftext|>", "<|file_sep|>"]}
    reply = (await api.post("/v1/completions", body)).json

    assert reply["id"]
    assert reply["choices"][0]["text"] == ANSWER


async def test_tabby(api: Api) -> None:
    assert (await api.get("/v1/health")).json["model"] == "fake"
    body = {
        "language": "python", "user": "me", "mode": "standard", "temperature": None, "seed": None,
        "segments": {
            "prefix": "def f():\n    ", "suffix": "\nprint()\n", "filepath": "src/a.py", "git_url": "git@x:y",
            "declarations": [{"filepath": "src/b.py", "body": "def g() -> int"}],
            "relevant_snippets_from_changed_files": [{"filepath": "src/c.py", "body": "one\n    two", "score": 0.5}],
            "relevant_snippets_from_recently_opened_files": [], "clipboard": "three", "edit_history": None,
        },
        "debug_options": {"disable_retrieval_augmented_code_completion": True},
    }  # fmt: skip
    reply = (await api.post("/v1/completions", body)).json

    assert reply["id"]
    assert reply["choices"] == [{"index": 0, "text": FILLED}]
    assert reply["mode"] == "standard"
    seen = {"type": "view", "completion_id": reply["id"], "choice_index": 0, "view_id": "1", "elapsed": None}
    assert (await api.post("/v1/events?select_kind=line", seen)).status == 200
    assert 'completiond_client_events_total{type="view"} 1.0' in (await api.get("/metrics")).body
    edits = await api.post("/v1/completions", {**body, "mode": "next_edit_suggestion"})
    assert (edits.status, edits.json["error"]["type"]) == (501, "not_supported_error")
    secret = {**body, "segments": {"prefix": "KEY=", "suffix": "\n", "filepath": ".env"}}
    assert (await api.post("/v1/completions", secret)).json["choices"][0]["text"] == ""
    raw = {**body, "debug_options": {"raw_prompt": TEMPLATED}}
    assert (await api.post("/v1/completions", raw)).json["choices"][0]["text"] == ANSWER


def test_the_model_here_writes_what_these_tests_expect() -> None:
    model, _ = fake_model(says(bytes_of(ANSWER)))
    assert model.tokenizer.token_to_id("<|fim_middle|>") == 259
