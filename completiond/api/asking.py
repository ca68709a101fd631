"""From a question to its answers: one or several, at once or as they are written, and counted either way."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from typing import Final

from aiohttp import web

from completiond.api.context import API, service_of
from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.complete.service_protocol import SupersededError

__all__ = ["CLIENT_ID", "answers", "client_name", "question", "stream"]

CLIENT_ID: Final = "http"
"""All HTTP clients are one to the service: the same question of two is answered once."""
_MAX_NAME_CHARS: Final = 40


def client_name(request: web.Request) -> str:
    """What the client calls itself, in printable characters."""
    name = request.headers.get("User-Agent", "").partition("/")[0][:_MAX_NAME_CHARS]
    return "".join(char for char in name if char.isprintable()).strip() or "HTTP"


def question(request: web.Request, asked: CompletionRequest) -> CompletionRequest:
    """``asked`` by an HTTP client: it takes no other's place, and the same question has the same answer. Not so the
    page, which says who it is: it asks as an editor does.
    """
    if asked.client_id:
        return asked
    return replace(asked, client_id=CLIENT_ID, document_id=CLIENT_ID, is_exact=True, client_name=client_name(request))


async def answers(request: web.Request, asked: CompletionRequest, count: int = 1) -> list[Completion]:
    """At least one and at most ``count`` answers, all different. Raises what Service.stream does."""
    async with contextlib.aclosing(stream(request, asked, count)) as items:
        return [item async for _, item in items if isinstance(item, Completion)]


async def stream(
    request: web.Request, asked: CompletionRequest, count: int = 1
) -> AsyncGenerator[tuple[int, Chunk | Completion], None]:
    """What is written of each answer, with its number, and each answer last.

    Above temperature 0 each is drawn by another seed; at 0 each begins with another token, the likeliest first.
    """
    service = service_of(request)
    asked = question(request, asked)
    with _counted(request) as ended:
        is_drawn = asked.sampling.temperature > 0
        found: list[Completion] = []
        for offset in range(count if is_drawn else 1):
            sampling = replace(asked.sampling, seed=(asked.sampling.seed + offset) % 2**63)
            one = replace(asked, sampling=sampling)
            if not offset:
                async with contextlib.aclosing(service.stream(one)) as items:
                    async for item in items:
                        if isinstance(item, Completion):
                            found.append(item)
                            ended.append(item)
                        yield 0, item
            elif (other := await service.complete(one)).text not in {known.text for known in found}:
                found.append(other)
                yield len(found) - 1, other
        if not is_drawn and count > 1 and found:
            for number, other in enumerate(await service.alternatives(asked, found[0], count - 1), start=1):
                yield number, other


@contextlib.contextmanager
def _counted(request: web.Request) -> Iterator[list[Completion]]:
    """Count what becomes of a request; the answer is put into the list."""
    api = request.app[API]
    counters = api.host.counters
    ended: list[Completion] = []
    counters.requests += 1
    api.num_running += 1
    try:
        yield ended
    except SupersededError:
        counters.superseded += 1
        raise
    except Exception:
        counters.empty += 1
        raise
    except BaseException:
        counters.cancelled += not ended
        raise
    finally:
        api.num_running -= 1
        if ended:
            counters.cached += ended[0].served_from == "cache"
            counters.answered += bool(ended[0].text)
            counters.empty += not ended[0].text
