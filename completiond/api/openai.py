"""OpenAI's completions. With a suffix it is a fill, by our rules; without, what the model writes behind the prompt."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Final
from uuid import uuid4

from aiohttp import web
from pydantic import Field

from completiond.api.about import model_id
from completiond.api.asking import answers, stream
from completiond.api.body import Body, BodyError, read_body
from completiond.api.context import service_of
from completiond.api.fields import MAX_PROMPTS, PromptField
from completiond.api.replies import Json, json_reply
from completiond.api.sampling_body import SamplingBody, choices
from completiond.api.sse import DONE, stream_reply
from completiond.api.tabby import Segments, complete_segments
from completiond.complete.request import Completion, CompletionRequest

__all__ = ["ROUTES", "finish_reason", "usage"]

ROUTES: Final = web.RouteTableDef()

LEAST_LOGPROB: Final = -9999.0
"""JSON has no infinity; this is what OpenAI says for it."""

Prompt = str | list[int]


class StreamOptions(Body):
    """``stream_options``."""

    include_usage: bool = False


class OpenAIBody(SamplingBody):
    """``path`` and ``language`` are ours: where the text is from, for the rules that go by that."""

    prompt: PromptField | None = None
    suffix: str | None = None
    max_tokens: int | None = Field(None, ge=1)
    n: int = Field(1, ge=1)
    best_of: int | None = Field(None, ge=1)
    logprobs: int | None = None
    echo: bool = False
    stream_options: StreamOptions = StreamOptions()
    path: str = ""
    language: str = ""
    segments: Segments | None = None

    @property
    def prompts(self) -> list[Prompt]:
        """One or several. Raises BodyError for none and for more than there may be."""
        if self.prompt is None:
            raise BodyError("prompt: Field required.", "docs/api.md has the fields.", "prompt")
        if isinstance(self.prompt, str):
            return [self.prompt]
        several: list[Prompt] = [one for one in self.prompt if not isinstance(one, int)]
        if len(several) > MAX_PROMPTS:
            raise BodyError(f"There are {len(several)} prompts.", f"Send {MAX_PROMPTS} at most.", "prompt")
        return several or [[one for one in self.prompt if isinstance(one, int)]]

    @property
    def counts(self) -> Mapping[str, int | None]:
        """See SamplingBody.counts."""
        return {"n": self.n, "best_of": self.best_of}

    def asked(self, prompt: Prompt) -> CompletionRequest:
        """The question of one of the prompts. Raises BodyError for tokens with a suffix."""
        limits = self.limits(self.max_tokens)
        if self.suffix is None:
            ids = None if isinstance(prompt, str) else tuple(prompt)
            text = prompt if isinstance(prompt, str) else ""
            return CompletionRequest(text, "", sampling=self.sampling, limits=limits, is_raw=True, prompt_ids=ids)
        if not isinstance(prompt, str):
            raise BodyError("A prompt in tokens has no suffix.", "Send both as text.", "prompt")
        return CompletionRequest(
            prompt, self.suffix, self.path, sampling=self.sampling, limits=limits, language_id=self.language
        )


@ROUTES.post("/v1/completions")
async def completions(request: web.Request) -> web.StreamResponse:
    """https://platform.openai.com/docs/api-reference/completions, or Tabby's question if it has ``segments``."""
    body = await read_body(request, OpenAIBody)
    if body.segments is not None:
        return await complete_segments(request)
    if body.echo and body.logprobs is not None:
        raise BodyError("echo gives no logprobs of a prompt.", "Ask for one of them.", "echo")
    prompts = body.prompts
    best_of = body.n if body.best_of is None else body.best_of
    if best_of < body.n:
        raise BodyError(f"best_of is {best_of}, and n is {body.n}.", "Send a best_of of n at least.", "best_of")
    head = _head(request, body)
    if body.stream:
        if best_of > body.n:
            raise BodyError("The best of several is known when all are there.", "Leave out stream.", "best_of")
        return await stream_reply(request, _events(request, body, prompts, head), DONE)
    listed: list[Json] = []
    by_prompt: list[list[Completion]] = []
    for place, prompt in enumerate(prompts):
        several = await answers(request, body.asked(prompt), choices(best_of))
        if best_of > body.n:
            several = sorted(several, key=_mean_logprob, reverse=True)
        by_prompt.append(several[: choices(body.n)])
        echo = await _echo(request, body, prompt)
        for index, one in enumerate(by_prompt[-1], start=place * body.n):
            logprobs = _logprobs(one) if body.logprobs is not None else None
            listed.append(_choice(index, echo + one.text, finish_reason(one), logprobs))
    return json_reply({**head, "choices": listed, "usage": usage(by_prompt)})


def finish_reason(completion: Completion) -> str:
    """``length`` where there would have been more."""
    return "length" if completion.stop_reason in ("length", "time") else "stop"


def usage(by_prompt: list[list[Completion]]) -> Json:
    """Tokens of all prompts and of all answers to each."""
    read = sum(several[0].prompt_tokens for several in by_prompt)
    written = sum(len(one.token_ids) for several in by_prompt for one in several)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": sum(several[0].cached_tokens for several in by_prompt)},
    }


def _head(request: web.Request, body: SamplingBody) -> Json:
    head: Json = {
        "id": f"cmpl-{uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": model_id(service_of(request).state),
    }
    return {**head, "ignored": body.ignored} if body.ignored else head


async def _events(
    request: web.Request, body: OpenAIBody, prompts: list[Prompt], head: Json
) -> AsyncGenerator[Json, None]:
    has_usage = body.stream_options.include_usage
    head = {**head, "usage": None} if has_usage else head
    by_prompt: list[list[Completion]] = []
    for place, prompt in enumerate(prompts):
        told = set[int]()
        by_prompt.append([])
        async with contextlib.aclosing(stream(request, body.asked(prompt), choices(body.n))) as items:
            async for number, item in items:
                index = place * body.n + number
                if number not in told and (echo := await _echo(request, body, prompt)):
                    yield {**head, "choices": [_choice(index, echo, None)]}
                is_whole = isinstance(item, Completion) and number not in told  # nothing of it was told before
                told.add(number)
                if not isinstance(item, Completion):
                    yield {**head, "choices": [_choice(index, item.text, None)]}
                    continue
                by_prompt[-1].append(item)
                text = item.text if is_whole else ""
                logprobs = _logprobs(item) if body.logprobs is not None else None
                yield {**head, "choices": [_choice(index, text, finish_reason(item), logprobs)]}
    if has_usage:
        yield {**head, "choices": [], "usage": usage(by_prompt)}


def _choice(index: int, text: str, reason: str | None, logprobs: Json | None = None) -> Json:
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason}


async def _echo(request: web.Request, body: OpenAIBody, prompt: Prompt) -> str:
    if not body.echo:
        return ""
    return prompt if isinstance(prompt, str) else await service_of(request).detokenize(prompt)


def _logprobs(completion: Completion) -> Json:
    """Of the tokens that were chosen; no others are known."""
    texts = [token.text for token in completion.tokens]
    values = [max(token.logprob, LEAST_LOGPROB) for token in completion.tokens]
    offsets = [sum(map(len, texts[:place])) for place in range(len(texts))]
    top = [{text: value} for text, value in zip(texts, values, strict=True)]
    return {"tokens": texts, "token_logprobs": values, "top_logprobs": top, "text_offset": offsets}


def _mean_logprob(completion: Completion) -> float:
    values = [token.logprob for token in completion.tokens]
    return sum(values) / len(values) if values else float("-inf")
