"""Text to tokens and back."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from completiond.api.body import Body, read_body
from completiond.api.context import service_of
from completiond.api.replies import json_reply

__all__ = ["ROUTES"]

ROUTES: Final = web.RouteTableDef()


class TokenizeBody(Body):
    """``parse_special``: what spells a control token is one."""

    content: str = ""
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeBody(Body):
    """Tokens of the model."""

    tokens: tuple[int, ...] = ()


@ROUTES.post("/tokenize")
async def tokenize(request: web.Request) -> web.Response:
    """As llama.cpp's server does it; nothing is put before the text."""
    body = await read_body(request, TokenizeBody)
    service = service_of(request)
    tokens = await service.tokenize(body.content, body.parse_special)
    if not body.with_pieces:
        return json_reply({"tokens": list(tokens)})
    return json_reply({"tokens": [{"id": token, "piece": await service.detokenize([token])} for token in tokens]})


@ROUTES.post("/detokenize")
async def detokenize(request: web.Request) -> web.Response:
    """The same."""
    body = await read_body(request, DetokenizeBody)
    return json_reply({"content": await service_of(request).detokenize(body.tokens)})
