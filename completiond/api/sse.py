"""Server-sent events: ``data:`` and JSON, a line for each."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Final

from aiohttp import web

from completiond.api.replies import Json, compact, reply_to
from completiond.complete.service_protocol import SupersededError
from completiond.errors import CompletiondError
from completiond.logs import describe

__all__ = ["DONE", "stream_reply"]

log = logging.getLogger(__name__)

DONE: Final = b"data: [DONE]\n\n"
"""What OpenAI's clients wait for."""


async def stream_reply(
    request: web.Request, events: AsyncGenerator[Json, None], ending: bytes = b""
) -> web.StreamResponse:
    """Send ``events`` as they come. What they raise before the first is raised; later it is the last event.

    A client that hangs up has this task cancelled, and closing ``events`` stops the engine.
    """
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    async with contextlib.aclosing(events):
        first = await anext(events)
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):  # it hung up just now
            await response.write(_event(first))
            try:
                async for event in events:
                    await response.write(_event(event))
            except ConnectionError:
                raise
            except Exception as error:
                if not isinstance(error, CompletiondError | SupersededError):
                    log.error("%s failed amid its answer: %s", request.path, describe(error))
                await response.write(_event(reply_to(error)[1]))
            else:
                await response.write(ending)
            await response.write_eof()
    return response


def _event(value: Json) -> bytes:
    return b"data: " + compact(value) + b"\n\n"
