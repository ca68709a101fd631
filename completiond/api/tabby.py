"""What Tabby's editor plugins ask and tell."""

from __future__ import annotations

from typing import Any, Final, Literal
from uuid import uuid4

from aiohttp import web

from completiond.api.asking import answers
from completiond.api.body import Body, read_body
from completiond.api.context import API
from completiond.api.replies import Json, error_reply, json_reply
from completiond.api.sampling_body import SamplingBody
from completiond.complete.request import CompletionRequest, OtherText

__all__ = ["ROUTES", "Segments", "complete_segments"]

ROUTES: Final = web.RouteTableDef()


class Snippet(Body):
    """Text of another file."""

    filepath: str = ""
    body: str = ""


class Segments(Body):
    """The text around the cursor, and what may help."""

    prefix: str
    suffix: str = ""
    filepath: str = ""
    declarations: tuple[Snippet, ...] = ()
    relevant_snippets_from_changed_files: tuple[Snippet, ...] = ()
    relevant_snippets_from_recently_opened_files: tuple[Snippet, ...] = ()
    clipboard: str = ""

    @property
    def others(self) -> tuple[OtherText, ...]:
        """All texts besides the one the cursor is in."""
        snippets = [
            *self.declarations,
            *self.relevant_snippets_from_changed_files,
            *self.relevant_snippets_from_recently_opened_files,
        ]
        clipboard = [OtherText("", self.clipboard)] if self.clipboard else []
        return (*(OtherText(one.filepath, one.body) for one in snippets), *clipboard)


class DebugOptions(Body):
    """``debug_options``."""

    raw_prompt: str | None = None


class SegmentsBody(SamplingBody):
    """A question of Tabby's plugins."""

    language: str = ""
    segments: Segments
    mode: str = "standard"
    debug_options: DebugOptions = DebugOptions()


class EventBody(Body):
    """What became of a suggestion."""

    type: Literal["view", "select", "dismiss"]
    completion_id: Any = None
    choice_index: Any = None


async def complete_segments(request: web.Request) -> web.Response:
    """Answer ``POST /v1/completions`` with ``segments``."""
    body = await read_body(request, SegmentsBody)
    if body.mode != "standard":
        return error_reply(501, "Only completions are written, no suggestions of edits.", "Use the mode standard.")
    segments, raw = body.segments, body.debug_options.raw_prompt
    asked = CompletionRequest(
        segments.prefix if raw is None else raw,
        segments.suffix if raw is None else "",
        segments.filepath,
        sampling=body.sampling,
        limits=body.limits(None),
        language_id=body.language,
        is_raw=raw is not None,
        others=segments.others,
    )
    (one,) = await answers(request, asked)
    reply: Json = {"id": f"cmpl-{uuid4().hex}", "choices": [{"index": 0, "text": one.text}], "mode": "standard"}
    return json_reply(reply)


@ROUTES.post("/v1/events")
async def events(request: web.Request) -> web.Response:
    """Count a suggestion that was seen, taken or sent away; which one it was is not kept."""
    body = await read_body(request, EventBody)
    request.app[API].metrics.count_event(body.type)
    return web.Response()
