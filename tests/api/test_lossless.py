"""Whatever drafts and whoever asks, over HTTP too an answer is what plain decoding gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from completiond.config import SpecConfig
from completiond.spec.drafter_names import DrafterChoice
from tests.api.daemon import CONFIG, Api, api_daemon, events_of
from tests.complete.words import load_words

TEXT = "value = def value\nreturn value\nvalue = def value\n"
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/completions", {"prompt": TEXT, "suffix": "\nreturn value\n"}),
    ("/v1/completions", {"prompt": f"<|fim_prefix|>{TEXT}<|fim_suffix|>\n<|fim_middle|>", "max_tokens": 40}),
    ("/v1/completions", {"prompt": TEXT, "max_tokens": 30, "stop": ["\n\n", "q"], "n": 2, "logprobs": 1}),
    ("/v1/fim/completions", {"prompt": TEXT, "suffix": "\nreturn value\n", "max_tokens": 20}),
    ("/infill", {"input_prefix": TEXT, "input_suffix": "\n", "prompt": "ret", "n_predict": 24,
                 "input_extra": [{"text": TEXT, "filename": "b.py"}]}),
    ("/completion", {"prompt": TEXT, "n_predict": 40, "return_tokens": True}),
]  # fmt: skip


def texts_in(reply: Any) -> Any:
    """All that depends on the model."""
    if "choices" not in reply:
        return reply["content"], reply["tokens"], reply["stop_reason"]
    return [
        (one.get("text"), one.get("message"), one["finish_reason"], (one.get("logprobs") or {}).get("tokens"))
        for one in reply["choices"]
    ]


async def all_texts(api: Api, more: dict[str, Any]) -> list[Any]:
    found = []
    for path, body in ASKED:
        reply = await api.post(path, {**body, **more})
        assert reply.status == 200, reply.body
        found.append(texts_in(reply.json))
    return found


@pytest.mark.parametrize("more", [{}, {"temperature": 0.7, "seed": 11}, {"temperature": 1.2, "seed": 3, "top_k": 5}])
async def test_no_drafter_changes_an_answer(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = load_words(tmp_path)
    drafters: tuple[DrafterChoice, ...] = ("none", "auto", "ngram", "lookahead")
    by_drafter = []
    for drafter in drafters:
        config = CONFIG.model_copy(update={"spec": SpecConfig(drafter=drafter)})
        async with api_daemon(monkeypatch, model, config, policy=False) as api:
            by_drafter.append(await all_texts(api, more))
            drafted = api.service.work.draft_tokens
            assert (drafted > 0) == (drafter != "none")

    assert all(one == by_drafter[0] for one in by_drafter)


async def test_a_question_has_the_same_answer_again_and_in_a_stream(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with api_daemon(monkeypatch, load_words(tmp_path)) as api:
        first = await all_texts(api, {"temperature": 0.7, "seed": 11})
        assert await all_texts(api, {"temperature": 0.7, "seed": 11}) == first
        assert await all_texts(api, {"temperature": 0.7, "seed": 12}) != first
        for path, body in ASKED:
            whole = (await api.post(path, body)).json
            events = events_of(await api.post(path, {**body, "stream": True}))
            assert streamed(events) == [text for text in plain_texts(whole) if text], path


def plain_texts(reply: Any) -> list[str]:
    if "choices" not in reply:
        return [reply["content"]]
    return [one["text"] if "text" in one else one["message"]["content"] for one in reply["choices"]]


def streamed(events: list[Any]) -> list[str]:
    texts: dict[int, str] = {}
    for event in events:
        if isinstance(event, str):
            continue
        for one in event.get("choices", [event]):
            piece = one["text"] if "text" in one else one["delta"]["content"] if "delta" in one else one["content"]
            texts[one["index"]] = texts.get(one["index"], "") + piece
    return [text for text in texts.values() if text]


async def test_what_a_request_limits_it_to_is_a_beginning_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with api_daemon(monkeypatch, load_words(tmp_path)) as api:
        whole = (await api.post("/completion", {"prompt": TEXT, "n_predict": 60})).json["content"]
        for count in (1, 7, 15):
            part = (await api.post("/completion", {"prompt": TEXT, "n_predict": count})).json
            assert whole.startswith(part["content"])
            assert part["tokens_predicted"] == count
        word = whole[5:8]
        stopped = (await api.post("/completion", {"prompt": TEXT, "n_predict": 60, "stop": [word]})).json
        assert stopped["content"] == whole[: whole.index(word)]
