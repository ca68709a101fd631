"""Fills in the form of Mistral's and DeepSeek's servers: the text is in a message."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Final
from uuid import uuid4

from aiohttp import web
from pydantic import AliasChoices, Field

from completiond.api.about import model_id
from completiond.api.asking import answers, stream
from completiond.api.body import read_body
from completiond.api.context import service_of
from completiond.api.openai import finish_reason, usage
from completiond.api.replies import Json, json_reply
from completiond.api.sampling_body import SamplingBody
from completiond.api.sse import DONE, stream_reply
from completiond.complete.request import Completion, CompletionRequest

__all__ = ["ROUTES"]

ROUTES: Final = web.RouteTableDef()


class FimBody(SamplingBody):
    """``path`` and ``language`` are ours."""

    prompt: str
    suffix: str = ""
    max_tokens: int | None = Field(None, ge=1)
    seed: int = Field(0, validation_alias=AliasChoices("random_seed", "seed"))
    path: str = ""
    language: str = ""


@ROUTES.post("/v1/fim/completions")
async def fim_completions(request: web.Request) -> web.StreamResponse:
    """https://docs.mistral.ai/api, "FIM completion"."""
    body = await read_body(request, FimBody)
    asked = CompletionRequest(
        body.prompt, body.suffix, body.path, sampling=body.sampling, limits=body.limits(body.max_tokens),
        language_id=body.language,
    )  # fmt: skip
    head: Json = {
        "id": f"fim-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model_id(service_of(request).state),
    }
    head |= {"ignored": body.ignored} if body.ignored else {}
    if body.stream:
        return await stream_reply(request, _events(request, asked, head), DONE)
    (one,) = await answers(request, asked)
    message = {"role": "assistant", "content": one.text, "tool_calls": None}
    listed = [{"index": 0, "message": message, "finish_reason": finish_reason(one)}]
    return json_reply({**head, "choices": listed, "usage": usage([[one]])})


async def _events(request: web.Request, asked: CompletionRequest, head: Json) -> AsyncGenerator[Json, None]:
    head = {**head, "object": "chat.completion.chunk"}
    role: Json = {"role": "assistant"}
    async with contextlib.aclosing(stream(request, asked)) as items:
        async for _, item in items:
            if isinstance(item, Completion):
                last = {"index": 0, "delta": {**role, "content": ""}, "finish_reason": finish_reason(item)}
                yield {**head, "choices": [last], "usage": usage([[item]])}
            else:
                more = {"index": 0, "delta": {**role, "content": item.text}, "finish_reason": None}
                yield {**head, "choices": [more]}
            role = {}
