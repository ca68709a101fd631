"""The ``openai`` package against the daemon, over TCP with its token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
import pytest_asyncio

from tests.api.conftest import ANSWER
from tests.api.daemon import Api, api_daemon
from tests.complete.words import load_words
from tests.e2e.harness import until
from tests.fake_model import babble, bytes_of, fake_model

TEMPLATED = "<|fim_prefix|>def f():\n    <|fim_suffix|>\nprint()\n<|fim_middle|>"
FILLED = ANSWER.rstrip()


def client_of(api: Api) -> openai.AsyncOpenAI:
    """A client that takes no proxy from the environment."""
    http = openai.DefaultAsyncHttpxClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=f"{api.url}/v1", api_key=api.token, http_client=http, max_retries=0)


@pytest_asyncio.fixture
async def client(api: Api) -> AsyncIterator[openai.AsyncOpenAI]:
    async with client_of(api) as client:
        yield client


async def test_models(client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["fake"]


async def test_a_fill_follows_our_rules(client: openai.AsyncOpenAI) -> None:
    found = await client.completions.create(model="any", prompt="def f():\n    ", suffix="\nprint()\n")

    assert found.object == "text_completion"
    assert found.id.startswith("cmpl-")
    (choice,) = found.choices
    assert (choice.text, choice.finish_reason, choice.index, choice.logprobs) == (FILLED, "stop", 0, None)
    assert found.usage is not None
    assert found.usage.completion_tokens == len(bytes_of(FILLED))
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens


async def test_a_prompt_of_the_clients_own_is_gone_on_with_as_it_is(client: openai.AsyncOpenAI) -> None:
    found = await client.completions.create(model="any", prompt=TEMPLATED)
    cut = await client.completions.create(model="any", prompt=TEMPLATED, max_tokens=3)
    stopped = await client.completions.create(model="any", prompt=TEMPLATED, stop=["three", "tw"])

    assert (found.choices[0].text, found.choices[0].finish_reason) == (ANSWER, "stop")
    assert (cut.choices[0].text, cut.choices[0].finish_reason) == ("one", "length")
    assert (stopped.choices[0].text, stopped.choices[0].finish_reason) == ("one\n    ", "stop")


async def test_prompts_in_tokens_and_several_prompts(client: openai.AsyncOpenAI) -> None:
    ids = [257, *bytes_of("x"), 258, 259]
    one = await client.completions.create(model="any", prompt=ids, max_tokens=3)
    two = await client.completions.create(model="any", prompt=[ids, ids], max_tokens=3, echo=True)
    texts = await client.completions.create(model="any", prompt=[TEMPLATED, TEMPLATED], max_tokens=2)

    assert one.choices[0].text == "one"
    assert one.usage is not None
    assert two.usage is not None
    assert two.usage.prompt_tokens == 2 * one.usage.prompt_tokens == 2 * len(ids)
    assert [(choice.index, choice.text) for choice in two.choices] == [
        (0, "<|fim_prefix|>x<|fim_suffix|><|fim_middle|>one"),
        (1, "<|fim_prefix|>x<|fim_suffix|><|fim_middle|>one"),
    ]
    assert [choice.text for choice in texts.choices] == ["on", "on"]


async def test_logprobs_are_the_models_of_what_it_wrote(client: openai.AsyncOpenAI) -> None:
    found = await client.completions.create(model="any", prompt=TEMPLATED, max_tokens=3, logprobs=1)

    logprobs = found.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.tokens == ["o", "n", "e"]
    assert logprobs.text_offset == [0, 1, 2]
    assert logprobs.token_logprobs is not None
    assert all(-0.01 < value <= 0 for value in logprobs.token_logprobs), "it is made to be sure of it"


@pytest.mark.parametrize("suffix", [None, "\nprint()\n"])
async def test_a_stream_is_the_same_text_with_the_numbers_last(client: openai.AsyncOpenAI, suffix: str | None) -> None:
    prompt = TEMPLATED if suffix is None else "def f():\n    "
    stream = await client.completions.create(
        model="any", prompt=prompt, suffix=suffix, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]

    assert "".join(chunk.choices[0].text for chunk in chunks) == (ANSWER if suffix is None else FILLED)
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert all(chunk.usage is None for chunk in chunks)
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens > 0
    assert len({chunk.id for chunk in (*chunks, last)}) == 1


async def test_a_stream_that_is_closed_stops_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    model, target = fake_model(babble(272, favoured=bytes_of("abc \n")))
    async with api_daemon(monkeypatch, model) as api, client_of(api) as client:
        loop = asyncio.get_running_loop()
        target.before_pass = lambda: asyncio.run_coroutine_threadsafe(asyncio.sleep(0.02), loop).result()
        stream = await client.completions.create(model="any", prompt="abc", max_tokens=900, stream=True)
        async for _ in stream:
            break
        await stream.close()
        await until(lambda: not api.service._streams)
        passes = target.num_passes
        await asyncio.sleep(0.3)
        assert target.num_passes <= passes + 1, "it stops within a pass"
        assert (await client.completions.create(model="any", prompt="x", max_tokens=1)).choices[0].text


async def test_several_answers_differ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with api_daemon(monkeypatch, load_words(tmp_path)) as api, client_of(api) as client:
        greedy = await client.completions.create(model="any", prompt="def ", n=3, max_tokens=8)
        drawn = await client.completions.create(model="any", prompt="def ", n=99, max_tokens=8, temperature=1.0, seed=1)
        again = await client.completions.create(model="any", prompt="def ", n=99, max_tokens=8, temperature=1.0, seed=1)
        best = await client.completions.create(
            model="any", prompt="def ", n=1, best_of=4, max_tokens=8, temperature=1.0, seed=1
        )

    assert len({choice.text for choice in greedy.choices}) == 3
    assert len({choice.text for choice in drawn.choices}) == len(drawn.choices) == 8
    assert [choice.text for choice in again.choices] == [choice.text for choice in drawn.choices]
    assert best.choices[0].text in [choice.text for choice in drawn.choices[:4]]
    assert [choice.index for choice in drawn.choices] == list(range(8))


async def test_answers_to_several_prompts_are_numbered_by_prompt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with api_daemon(monkeypatch, load_words(tmp_path)) as api, client_of(api) as client:
        asked = {"model": "any", "prompt": ["def ", "def "], "max_tokens": 4}
        found = await client.completions.create(**asked, n=3)  # type: ignore[call-overload]
        many = await client.completions.create(**asked, n=20)  # type: ignore[call-overload]
        stream = await client.completions.create(**asked, n=20, stream=True)  # type: ignore[call-overload]
        streamed = [chunk.choices[0] async for chunk in stream]

    assert [choice.index for choice in found.choices] == [0, 1, 2, 3, 4, 5]
    places = [choice.index for choice in many.choices]
    assert places == [*range(len(places) // 2), *range(20, 20 + len(places) // 2)], (
        "20 are asked for, 8 at most are given"
    )
    assert many.model_extra["ignored"] == ["n"]
    texts = {index: "".join(one.text for one in streamed if one.index == index) for index in places}
    assert texts == {choice.index: choice.text for choice in many.choices}


async def test_what_is_wrong_is_said_by_name(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(model="any", prompt="x", temperature=99)
    assert caught.value.body["advice"] == "Use a number from 0 (greedy) to 10."  # type: ignore[index]
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(model="any", prompt="x" * 5000)
    assert "model.context_tokens" in caught.value.message
    assert caught.value.param == "prompt"
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(model="any", prompt="x", extra_body={"max_tokens": "many"})
    assert caught.value.param == "max_tokens"
    with pytest.raises(openai.NotFoundError):
        await client.chat.completions.create(model="any", messages=[])


async def test_what_is_not_followed_is_named(api: Api) -> None:
    body = {"prompt": TEMPLATED, "frequency_penalty": 0.5, "presence_penalty": 0, "min_p": 0.1, "logit_bias": {}}

    assert (await api.post("/v1/completions", body)).json["ignored"] == ["frequency_penalty", "min_p"]
    assert "ignored" not in (await api.post("/v1/completions", {"prompt": TEMPLATED, "presence_penalty": 0})).json
