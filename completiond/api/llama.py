"""What llama.cpp's server answers: ``/infill``, a fill by our rules, and ``/completion``, what the model writes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from aiohttp import web
from pydantic import AliasChoices, Field

from completiond.api.asking import answers, stream
from completiond.api.body import Body, BodyError, read_body
from completiond.api.fields import MAX_PROMPTS, PromptField
from completiond.api.llama_reply import chunk_reply, final_reply, with_fields
from completiond.api.replies import Json, json_reply
from completiond.api.sampling_body import SamplingBody, choices
from completiond.api.sse import stream_reply
from completiond.complete.request import Completion, CompletionRequest, OtherText

__all__ = ["ROUTES"]

ROUTES: Final = web.RouteTableDef()


class LlamaBody(SamplingBody):
    """What both have."""

    n_predict: int | None = Field(
        None, validation_alias=AliasChoices("n_predict", "max_completion_tokens", "max_tokens"), ge=-1
    )
    n_cmpl: int | None = Field(None, ge=1)
    n: int | None = Field(None, ge=1)
    n_indent: int = 0
    t_max_predict_ms: float = 0.0
    response_fields: list[str] | None = None
    return_tokens: bool = False

    @property
    def counts(self) -> Mapping[str, int | None]:
        """See SamplingBody.counts."""
        return {"n_cmpl": self.n_cmpl} if self.n_cmpl is not None else {"n": self.n}

    @property
    def num_wanted(self) -> int:
        """How many answers to each prompt."""
        return self.n_cmpl or self.n or 1

    def described(self, prompt: str) -> Json:
        """What an answer says of the question."""
        sampling = self.sampling
        return {
            "prompt": prompt,
            "n_predict": -1 if self.n_predict is None else self.n_predict,
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "stop": list(self.stops),
        }


class Extra(Body):
    """Text of another file."""

    text: str
    filename: str = ""


class InfillBody(LlamaBody):
    """``path`` and ``language`` are ours."""

    input_prefix: str
    input_suffix: str
    input_extra: tuple[Extra, ...] = ()
    prompt: str = ""
    path: str = ""
    language: str = ""

    @property
    def asked(self) -> CompletionRequest:
        """The question."""
        return CompletionRequest(
            self.input_prefix + self.prompt,
            self.input_suffix,
            self.path,
            sampling=self.sampling,
            limits=self.limits(self.n_predict, self.n_indent, self.t_max_predict_ms),
            language_id=self.language,
            others=tuple(OtherText(one.filename, one.text) for one in self.input_extra),
        )


class CompletionBody(LlamaBody):
    """A prompt as it is; of several, each has its answer."""

    prompt: PromptField

    @property
    def prompts(self) -> list[str | list[int]]:
        """One or several. Raises BodyError for more than there may be."""
        if isinstance(self.prompt, str):
            return [self.prompt]
        several = [one for one in self.prompt if not isinstance(one, int)]
        if len(several) > MAX_PROMPTS:
            raise BodyError(f"There are {len(several)} prompts.", f"Send {MAX_PROMPTS} at most.", "prompt")
        return several or [[one for one in self.prompt if isinstance(one, int)]]

    def asked(self, prompt: str | list[int]) -> CompletionRequest:
        """The question of one of the prompts; without ``n_predict`` it is answered as far as there is room."""
        most = self.n_predict if self.n_predict is not None and self.n_predict >= 0 else 1 << 30
        return CompletionRequest(
            prompt if isinstance(prompt, str) else "",
            "",
            sampling=self.sampling,
            limits=self.limits(most, self.n_indent, self.t_max_predict_ms),
            is_raw=True,
            prompt_ids=None if isinstance(prompt, str) else tuple(prompt),
        )


@ROUTES.post("/infill")
async def infill(request: web.Request) -> web.StreamResponse:
    """https://github.com/ggml-org/llama.cpp/tree/master/tools/server, "POST /infill"."""
    body = await read_body(request, InfillBody)
    return await _reply(request, body, [(body.input_prefix + body.prompt, body.asked)])


@ROUTES.post("/completion")
@ROUTES.post("/completions")
async def completion(request: web.Request) -> web.StreamResponse:
    """The same, "POST /completion"."""
    body = await read_body(request, CompletionBody)
    asked = [(prompt if isinstance(prompt, str) else "", body.asked(prompt)) for prompt in body.prompts]
    return await _reply(request, body, asked)


async def _reply(
    request: web.Request, body: LlamaBody, asked: list[tuple[str, CompletionRequest]]
) -> web.StreamResponse:
    """Of one question one object; where several answers were asked for, a list of those that differ."""
    if body.stream:
        return await stream_reply(request, _events(request, body, asked))
    replies: list[Any] = []
    for prompt, one in asked:
        described = body.described(prompt)
        for found in await answers(request, one, choices(body.num_wanted)):
            reply = final_reply(request, len(replies), found, described, body.ignored, body.return_tokens)
            replies.append(with_fields(reply, body.response_fields))
    return json_reply(replies if len(asked) > 1 or body.num_wanted > 1 else replies[0])


async def _events(
    request: web.Request, body: LlamaBody, asked: list[tuple[str, CompletionRequest]]
) -> AsyncGenerator[Json, None]:
    base = 0
    for prompt, one in asked:
        described, told = body.described(prompt), set[int]()
        async with contextlib.aclosing(stream(request, one, choices(body.num_wanted))) as items:
            async for number, item in items:
                if not isinstance(item, Completion):
                    yield chunk_reply(base + number, item.text)
                else:
                    reply = final_reply(request, base + number, item, described, body.ignored, body.return_tokens)
                    reply["content"] = "" if number in told else item.text  # of the first, all was told by then
                    yield with_fields(reply, body.response_fields)
                told.add(number)
        base += len(told)
