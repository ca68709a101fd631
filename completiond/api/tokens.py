"""Text to tokens and back."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from completiond.api.body import Body, BodyError, read_body
from completiond.api.context import service_of
from completiond.api.replies import json_reply

__all__ = ["ROUTES"]

ROUTES: Final = web.RouteTableDef()

MAX_KIB: Final = 256
"""Of text, and so many times 1024 tokens: the tokenizer lets nothing else run, and editors are not to wait for it."""


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
    if len(body.content.encode()) > MAX_KIB << 10:
        raise BodyError(f"The text has more than {MAX_KIB} KiB.", "Send it in parts.", "content", 413)
    service = service_of(request)
    tokens = await service.tokenize(body.content, body.parse_special)
    if not body.with_pieces:
        return json_reply({"tokens": list(tokens)})
    pieces = await service.spellings(tokens)
    return json_reply({"tokens": [{"id": token, "piece": piece} for token, piece in zip(tokens, pieces, strict=True)]})


@ROUTES.post("/detokenize")
async def detokenize(request: web.Request) -> web.Response:
    """The same."""
    body = await read_body(request, DetokenizeBody)
    if len(body.tokens) > MAX_KIB << 10:
        raise BodyError(f"There are more than {MAX_KIB << 10} tokens.", "Send them in parts.", "tokens", 413)
    return json_reply({"content": await service_of(request).detokenize(body.tokens)})
