"""What llama.cpp's server is asked and answers: fields, streams, limits, liveness."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from completiond.complete.request import ServiceState
from completiond.config.settings import Settings
from tests.api.conftest import ANSWER
from tests.api.daemon import Api, curl, events_of
from tests.e2e.harness import daemon_in_process, temporary_paths
from tests.fakes import FakeLoading, FakeService

FILL: dict[str, Any] = {"input_prefix": "def f():\n", "input_suffix": "\nprint()\n", "prompt": "    "}
RAW: dict[str, Any] = {"prompt": "<|fim_middle|>"}
FILLED = ANSWER.rstrip()


async def test_a_fill_has_all_that_clients_read(api: Api) -> None:
    reply = (await api.post("/infill", FILL)).json

    assert reply["content"] == FILLED
    assert (reply["index"], reply["id_slot"], reply["stop"], reply["model"]) == (0, 0, True, "fake")
    assert reply["tokens"] == []
    assert reply["prompt"] == "def f():\n    "
    assert (reply["has_new_line"], reply["truncated"], reply["stopping_word"]) == (True, False, "")
    assert reply["stop_type"] == "eos"
    assert reply["tokens_predicted"] == len(FILLED)
    assert reply["tokens_cached"] == reply["tokens_evaluated"] + reply["tokens_predicted"]
    assert reply["generation_settings"]["n_ctx"] == 1024
    timings = reply["timings"]
    assert timings["prompt_n"] + timings["cache_n"] == reply["tokens_evaluated"]
    assert timings["predicted_n"] == reply["tokens_predicted"]
    assert timings["prompt_ms"] > 0
    assert timings["draft_n"] >= timings["draft_n_accepted"] >= 0
    for name in ("prompt_per_token_ms", "prompt_per_second", "predicted_ms", "predicted_per_token_ms"):
        assert timings[name] >= 0


async def test_a_prompt_is_gone_on_with(api: Api) -> None:
    whole = (await api.post("/completion", {**RAW, "return_tokens": True})).json
    cut = (await api.post("/completion", {**RAW, "n_predict": 3})).json
    stopped = (await api.post("/completion", {**RAW, "stop": ["zz", "two"]})).json

    assert (whole["content"], whole["stop_type"]) == (ANSWER, "eos")
    assert (await api.post("/detokenize", {"tokens": whole["tokens"]})).json == {"content": ANSWER}
    assert (cut["content"], cut["stop_type"], cut["tokens_predicted"]) == ("one", "limit", 3)
    assert (stopped["content"], stopped["stop_type"], stopped["stopping_word"]) == ("one\n    ", "word", "two")


async def test_indentation_narrows(api: Api) -> None:
    reply = (await api.post("/infill", {**FILL, "n_indent": 5})).json

    assert (reply["content"], reply["stop_reason"]) == ("one", "indent")


async def test_time_ends_it_behind_a_line(api: Api) -> None:
    reply = (await api.post("/completion", {**RAW, "t_max_predict_ms": 0.001})).json

    assert (reply["content"], reply["stop_reason"], reply["stop_type"]) == ("one\n", "time", "limit")
    assert (await api.post("/completion", {**RAW, "t_max_predict_ms": 60_000})).json["content"] == ANSWER


async def test_fields_that_are_wanted_and_no_others(api: Api) -> None:
    fields = ["content", "timings/prompt_n", "timings/nothing", "nothing", "generation_settings/n_ctx", "truncated"]
    reply = (await api.post("/infill", {**FILL, "response_fields": fields})).json

    assert reply.keys() == {"content", "timings/prompt_n", "generation_settings/n_ctx", "truncated"}
    assert reply["generation_settings/n_ctx"] == 1024
    assert (await api.post("/infill", {**FILL, "response_fields": [""]})).json == {}


async def test_a_prompt_that_is_only_read(api: Api) -> None:
    prompt = {"prompt": "a long text " * 10 + "<|fim_middle|>"}
    read = (await api.post("/completion", {**prompt, "n_predict": 0})).json
    found = (await api.post("/completion", prompt)).json

    assert (read["content"], read["tokens_predicted"], read["stop_type"]) == ("", 0, "limit")
    assert found["timings"]["prompt_n"] == 1, "all the rest was read before"


@pytest.mark.parametrize("name", ["n_cmpl", "n"])
async def test_several_are_a_list_of_those_that_differ(api: Api, name: str) -> None:
    several = (await api.post("/infill", {**FILL, name: 3})).json
    one = (await api.post("/infill", {**FILL, name: 1})).json

    assert isinstance(several, list)
    texts = [reply["content"] for reply in several]
    assert texts[0] == one["content"] == FILLED
    assert len(set(texts)) == len(texts)
    assert all(reply["generation_settings"]["n_ctx"] == 1024 for reply in several)


@pytest.mark.parametrize(("path", "body", "text"), [("/infill", FILL, FILLED), ("/completion", RAW, ANSWER)])
async def test_a_stream_ends_with_the_numbers(api: Api, path: str, body: Any, text: str) -> None:
    reply = await api.post(path, {**body, "stream": True})

    assert reply.headers["content-type"] == "text/event-stream"
    *chunks, last = events_of(reply)
    assert "".join(chunk["content"] for chunk in chunks) == text
    assert all(chunk["stop"] is False and chunk["index"] == 0 for chunk in chunks)
    assert (last["stop"], last["content"]) == (True, "")
    assert last["timings"]["predicted_n"] == len(text)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/infill", {"input_suffix": ""}, "input_prefix"),
        ("/infill", {"input_prefix": ""}, "input_suffix"),
        ("/infill", {**FILL, "input_extra": "x"}, "input_extra"),
        ("/infill", {**FILL, "input_extra": [{"filename": "a"}]}, "input_extra.0.text"),
        ("/infill", {**FILL, "n_predict": "many"}, "n_predict"),
        ("/completion", {"prompt": {}}, "prompt"),
        ("/completion", {"prompt": "x", "stop": 3}, "stop"),
        ("/completion", {"prompt": ["x"] * 17}, "prompt"),
        ("/completion", {}, "prompt"),
        ("/completion", {**RAW, "n_predict": -2}, "n_predict"),
        ("/completion", {**RAW, "n_cmpl": 0}, "n_cmpl"),
        ("/completion", {**RAW, "n": -1}, "n"),
        ("/completion", {**RAW, "top_k": -1}, "top_k"),
        ("/completion", {**RAW, "top_p": 7}, "top_p"),
        ("/completion", {**RAW, "temperature": -1}, "temperature"),
        ("/completion", {"prompt": [10**6]}, "prompt"),
        ("/completion", {"prompt": [10**6], "stream": True}, "prompt"),
        ("/completion", {"prompt": "x" * 2000}, "prompt"),
        ("/detokenize", {"tokens": [10**6]}, "tokens"),
        ("/v1/completions", {}, "prompt"),
        ("/v1/completions", {**RAW, "max_tokens": 0}, "max_tokens"),
        ("/v1/completions", {**RAW, "max_tokens": -1}, "max_tokens"),
        ("/v1/completions", {**RAW, "n": 0}, "n"),
        ("/v1/completions", {**RAW, "n": 3, "best_of": 2}, "best_of"),
        ("/v1/completions", {"prompt": [[10**6]], "echo": True, "stream": True}, "prompt"),
        ("/v1/fim/completions", {"prompt": "x", "max_tokens": 0}, "max_tokens"),
        ("/v1/fim/completions", {"prompt": "x", "top_p": 7}, "top_p"),
        ("/v1/fim/completions", {"prompt": "x", "temperature": 99, "stream": True}, "temperature"),
        ("/v1/events", {}, "type"),
    ],
)
async def test_an_error_says_which_field(api: Api, path: str, body: Any, param: str) -> None:
    reply = await api.post(path, body)

    assert reply.status == 400
    error = reply.json["error"]
    assert (error["code"], error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert error["message"]
    assert error["advice"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b'"x"', b"\xff\xfe", b"[" * 100_000])
async def test_what_is_no_object_is_refused(api: Api, body: bytes) -> None:
    reply = await api.post("/infill", body)

    assert (reply.status, reply.json["error"]["code"]) == (400, 400)


async def test_null_is_the_same_as_nothing(api: Api) -> None:
    nulls = dict.fromkeys(("n_predict", "stop", "temperature", "n_cmpl", "input_extra", "seed", "stream"))

    assert (await api.post("/infill", {**FILL, **nulls})).json["content"] == FILLED


async def test_half_characters_do_no_harm(api: Api) -> None:
    reply = await api.post("/infill", {**FILL, "input_prefix": "x = '\ud83d'\n", "input_suffix": "\udc00\n"})

    assert reply.status == 200


async def test_tokens(api: Api) -> None:
    ids = (await api.post("/tokenize", {"content": "é<|fim_middle|>"})).json["tokens"]
    plain = (await api.post("/tokenize", {"content": "<|fim_middle|>", "parse_special": False})).json["tokens"]
    pieces = (await api.post("/tokenize", {"content": "a<|fim_middle|>", "with_pieces": True})).json["tokens"]

    assert (len(ids), ids[-1], len(plain)) == (3, 259, len("<|fim_middle|>"))
    assert (await api.post("/detokenize", {"tokens": ids})).json == {"content": "é<|fim_middle|>"}
    assert [one["piece"] for one in pieces] == ["a", "<|fim_middle|>"]
    assert (await api.post("/detokenize", {"tokens": [10**9]})).status == 400


async def test_texts_for_the_tokenizer_are_bounded(api: Api) -> None:
    whole = (await api.post("/tokenize", {"content": "é" * (128 << 10), "with_pieces": True})).json["tokens"]
    assert len(whole) == 256 << 10
    assert (await api.post("/detokenize", {"tokens": [one["id"] for one in whole]})).status == 200
    tokens = [*(one["id"] for one in whole), 97]
    for path, param, body in (
        ("/tokenize", "content", {"content": "é" * (128 << 10) + "a", "with_pieces": True}),
        ("/detokenize", "tokens", {"tokens": tokens}),
    ):
        reply = await api.post(path, body)
        error = reply.json["error"]
        assert (reply.status, error["code"], error["param"], error["advice"][:4]) == (413, 413, param, "Send")


async def test_what_it_says_of_itself(api: Api) -> None:
    assert (await api.get("/health")).json["status"] == "ok"
    props = (await api.get("/props")).json
    assert (props["total_slots"], props["is_sleeping"]) == (1, False)
    assert props["default_generation_settings"]["n_ctx"] == 1024
    (slot,) = (await api.get("/slots")).json
    assert (slot["id"], slot["is_processing"]) == (0, False)
    (model,) = (await api.get("/v1/models")).json["data"]
    assert (model["id"], model["object"]) == ("fake", "model")
    assert (await api.get("/v1/models/fake")).json == model
    for name in ("none", "fake/none", "fake/"):
        reply = await api.get(f"/v1/models/{name}")
        assert (reply.status, reply.json["error"]["type"]) == (404, "not_found_error")
        assert "GET /v1/models" in reply.json["error"]["advice"]


async def test_while_the_model_loads_and_when_it_cannot() -> None:
    service = FakeService(FakeLoading(num_steps=1, step_s=3600.0))
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service):
            to = ("--unix-socket", str(paths.socket))
            for path in ("/health", "/v1/health"):
                reply = await curl(*to, f"http://completiond{path}")
                assert reply.status == 503
                error = reply.json["error"]
                assert (error["code"], error["message"]) == (503, "Loading model")
                assert error["type"] == "unavailable_error"
            asked = await curl(*to, "--data", '{"prompt":"x"}', "http://completiond/completion")
            assert (asked.status, asked.json["error"]["type"]) == (503, "unavailable_error")
            service.set_state(ServiceState("failed", 0.0, "no such model", "fake-model"))
            failed = (await curl(*to, "http://completiond/health")).json["error"]
            assert (failed["code"], failed["message"]) == (503, "The model could not be loaded.")
            service.set_state(ServiceState("ready", 1.0, "", "/home/me/models/fake.gguf", "cpu", "int8", "fake"))
            reply = await curl(*to, "http://completiond/v1/health")
            assert (reply.status, reply.json["status"]) == (200, "ok")
            assert reply.json["model"] == "fake.gguf", "where it lies is nobody's business"
            await asyncio.sleep(0)


async def test_a_remote_server_that_is_away_is_told_as_such() -> None:
    service = FakeService()
    with temporary_paths() as paths:
        settings = Settings(paths.config_file, {"COMPLETIOND_ENGINE_REMOTE": "http://127.0.0.1:9/v1"})
        async with daemon_in_process(paths, service, settings):
            service.set_state(ServiceState("failed", 0.0, "The server at 127.0.0.1:9 does not answer.", "it"))
            reply = await curl("--unix-socket", str(paths.socket), "http://completiond/health")
    assert (reply.status, reply.json["error"]["message"]) == (503, "The server with the model cannot be asked.")


@pytest.mark.parametrize("stop", [["x"] * 65, ["x" * 513], "x" * 513])
async def test_strings_to_end_at_are_few_and_short(api: Api, stop: Any) -> None:
    reply = await api.post("/completion", {**RAW, "stop": stop})

    error = reply.json["error"]
    said = "65 strings; 64" if isinstance(stop, list) and len(stop) == 65 else "513 characters; 512"
    assert (reply.status, error["param"]) == (400, "stop")
    assert said in error["message"]
    assert (await api.post("/completion", {**RAW, "stop": ["x" * 512] * 64})).status == 200


@pytest.mark.parametrize(("field", "value", "kinds"), [
    ("stop", ["a", 1], "a string or a list of strings"), ("stop", {"a": 1}, "a string or a list of strings"),
    ("prompt", 3, "a string, a list of strings, tokens"), ("prompt", [["x"]], "a string, a list of strings, tokens"),
])  # fmt: skip
@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
async def test_a_field_of_several_kinds_names_them(api: Api, path: str, field: str, value: Any, kinds: str) -> None:
    error = (await api.post(path, {**RAW, field: value})).json["error"]

    assert error["param"] == field
    assert error["message"].startswith(f"{field}: it has to be {kinds}")


async def test_no_limit_is_as_far_as_there_is_room(api: Api) -> None:
    assert (await api.post("/completion", {**RAW, "n_predict": -1})).json["content"] == ANSWER
    assert (await api.post("/infill", {**FILL, "n_predict": -1})).json["content"] == FILLED


@pytest.mark.parametrize("name", ["n_cmpl", "n"])
async def test_more_answers_than_there_are_is_told(api: Api, name: str) -> None:
    assert all(one["ignored"] == [name] for one in (await api.post("/completion", {**RAW, name: 9})).json)
    assert all("ignored" not in one for one in (await api.post("/completion", {**RAW, name: 8})).json)
