"""Many who ask at once: nobody takes another one's place, and what is the same is written once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from completiond.config import CompletionConfig, ExcludeConfig
from tests.api.conftest import ANSWER
from tests.api.daemon import CONFIG, Api, api_daemon
from tests.complete.words import load_words
from tests.e2e.harness import Editor
from tests.fake_model import bytes_of, fake_model, says

FILLED = ANSWER.rstrip()


def fill(prefix: str) -> dict[str, Any]:
    return {"prompt": prefix, "suffix": "\nprint()\n"}


async def text_of(api: Api, body: dict[str, Any]) -> str:
    reply = await api.post("/v1/completions", body)
    assert reply.status == 200, reply.body
    text: str = reply.json["choices"][0]["text"]
    return text


async def test_a_newer_question_does_not_end_an_older_one(api: Api) -> None:
    texts = await asyncio.gather(*(text_of(api, fill(f"def f{number}():\n    ")) for number in range(12)))

    assert texts == [FILLED] * 12
    async with Editor.on_socket(api.paths) as editor:
        counters = (await editor.request("completiond/status"))["counters"]
    assert (counters["answered"], counters["superseded"], counters["cancelled"]) == (12, 0, 0)


async def test_the_same_question_is_answered_again_without_a_pass(api: Api) -> None:
    body = fill("def f():\n    ")
    first = await text_of(api, body)
    passes = api.service.work.passes
    assert await text_of(api, body) == first
    assert api.service.work.passes == passes
    await text_of(api, {**body, "max_tokens": 2})
    assert api.service.work.passes > passes, "what it is limited to is part of a question"


async def test_what_was_written_for_a_question_does_not_answer_the_rest_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As it would for who types along in an editor: a program's prompt is another question with each character."""
    model = load_words(tmp_path)
    async with api_daemon(monkeypatch, model) as api:
        whole = await text_of(api, {"prompt": "def ", "max_tokens": 12})
        after = await text_of(api, {"prompt": f"def {whole[:1]}", "max_tokens": 12})
    async with api_daemon(monkeypatch, model) as api:
        assert await text_of(api, {"prompt": f"def {whole[:1]}", "max_tokens": 12}) == after


async def test_one_of_three_who_hangs_up_costs_the_others_nothing(api: Api) -> None:
    body = {"prompt": "<|fim_middle|>", "max_tokens": 30}
    tasks = [asyncio.create_task(text_of(api, body)) for _ in range(3)]
    await asyncio.sleep(0.02)
    tasks[0].cancel()
    assert await asyncio.gather(*tasks[1:]) == [ANSWER] * 2
    await asyncio.gather(tasks[0], return_exceptions=True)


async def test_settings_and_exclusions_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    config = CONFIG.model_copy(update={
        "completion": CompletionConfig(max_tokens=3, disabled_languages=("markdown",)),
        "exclude": ExcludeConfig(globs=("*.sql",)),
    })  # fmt: skip
    model, _ = fake_model(says(bytes_of(ANSWER)))
    async with api_daemon(monkeypatch, model, config) as api:
        body = fill("def f():\n    ")
        assert await text_of(api, {**body, "max_tokens": 100}) == "one", "narrower, never wider"
        assert await text_of(api, {**body, "path": "/p/a.sql"}) == ""
        assert await text_of(api, {**body, "path": "/p/.env"}) == ""
        assert await text_of(api, {**body, "language": "markdown"}) == ""
        assert await text_of(api, {**body, "path": "/p/a.md"}) == ""
        infill = {"input_prefix": "x", "input_suffix": "\n", "path": "/p/a.sql"}
        assert (await api.post("/infill", infill)).json["stop_reason"] == "excluded: config_glob"


async def test_secrets_around_the_cursor_are_not_read(api: Api) -> None:
    read: list[str] = []
    encode = api.completer.tokenizer.encode

    def noting(text: str) -> list[int]:
        read.append(text)
        return encode(text)

    api.completer.tokenizer.encode = noting  # type: ignore[method-assign]
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    await text_of(api, fill(f"token = '{secret}'\ndef f():\n    "))
    snippet = [{"text": f"key = '{secret}'\nplain = 1\n", "filename": "b.py"}]
    await api.post("/infill", {"input_prefix": "x\n", "input_suffix": "\n", "input_extra": snippet})

    assert any("plain = 1" in text for text in read)
    assert any("token = '" in text for text in read)
    assert not any(secret in text for text in read)
