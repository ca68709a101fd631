"""What the page asks for: how the daemon is, and text as it is written, with where each piece came from.

These routes are the page's own and change with it; other programs use those of the other modules here.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Final

from aiohttp import web
from pydantic import Field

from completiond.api.asking import stream
from completiond.api.body import Body, read_body
from completiond.api.context import API, service_of
from completiond.api.replies import Json, json_reply
from completiond.api.sampling_body import MAX_CHOICES
from completiond.api.sse import stream_reply
from completiond.complete.reasons import meaning_of
from completiond.complete.request import Completion, CompletionRequest

__all__ = ["ROUTES"]

ROUTES: Final = web.RouteTableDef()

_CLIENT: Final = "page"
"""All open pages are one client to the service."""


class DocumentBody(Body):
    """``page`` names one open page, so that two do not take each other's place; ``path`` decides the language."""

    page: str = Field("", max_length=64)
    path: str = Field("", max_length=1024)

    @property
    def document_id(self) -> str:
        """The page's text, to the service."""
        return f"{self.page}:{self.path}"


class CompleteBody(DocumentBody):
    """``prefix`` and ``suffix``: the whole text on both sides of the cursor. ``count``: how many different answers."""

    prefix: str
    suffix: str = ""
    explain: bool = False
    count: int = Field(1, ge=1, le=MAX_CHOICES)

    @property
    def asked(self) -> CompletionRequest:
        """The question, as an editor asks it: a newer one takes an older one's place, kept answers are answers."""
        return CompletionRequest(
            self.prefix, self.suffix, self.path, client_id=_CLIENT, document_id=self.document_id,
            explain=self.explain, may_read_less=True, client_name=_CLIENT,
        )  # fmt: skip


@ROUTES.get("/api/status")
async def status(request: web.Request) -> web.Response:
    """What ``completiond status --json --why`` prints; ``answers``: figures of the last ones, oldest first;
    ``drafter``: what is set.
    """
    api = request.app[API]
    settings = api.host.settings
    more: Json = {
        "answers": [asdict(one) for one in api.last_answers.oldest_first],
        "drafter": settings.config.spec.drafter if settings is not None else "",
    }
    reply = json_reply(api.host.status(asks_why=True) | more)
    reply.headers["Cache-Control"] = "no-store"
    return reply


@ROUTES.post("/api/complete")
async def complete(request: web.Request) -> web.StreamResponse:
    """Events: ``{"number", "text", "spans"}`` for each piece, ``{"number", "completion", "meaning"}`` when an answer is
    whole; ``meaning`` is why it ends there, or is empty, in words.
    """
    body = await read_body(request, CompleteBody)
    return await stream_reply(request, _events(request, body))


async def _events(request: web.Request, body: CompleteBody) -> AsyncGenerator[Json, None]:
    async with contextlib.aclosing(stream(request, body.asked, body.count)) as items:
        async for number, item in items:
            if isinstance(item, Completion):
                yield {"number": number, "completion": asdict(item), "meaning": meaning_of(item.stop_reason)}
            else:
                yield {"number": number, **asdict(item)}


@ROUTES.post("/api/close")
async def close(request: web.Request) -> web.Response:
    """The page is left, or its file has another name: nothing of that text is kept."""
    body = await read_body(request, DocumentBody)
    service_of(request).close_document(_CLIENT, body.document_id)
    return web.Response(status=204)
