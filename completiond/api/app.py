"""The aiohttp application: errors in one shape, and a table of routes for each family of clients."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from completiond.api import about, fim, llama, openai, page_files, page_routes, tabby, tokens
from completiond.api.body import BodyError
from completiond.api.context import API, ApiContext
from completiond.api.replies import error_reply, json_reply, reply_to
from completiond.complete.service_protocol import SupersededError
from completiond.errors import CompletiondError
from completiond.logs import describe

__all__ = ["MAX_BODY_BYTES", "make_app"]

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 8 << 20


def make_app(api: ApiContext, *first: Middleware) -> web.Application:
    """All that is served. ``first``: what a request has to get through before."""
    app = web.Application(middlewares=[*first, _errors], client_max_size=MAX_BODY_BYTES)
    app[API] = api
    # Further families of routes: a module with ROUTES, and its line here.
    for family in (about, openai, fim, llama, tabby, tokens, page_files, page_routes):
        app.add_routes(family.ROUTES)
    return app


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Whatever goes wrong is told in the shape of replies.py, and logged without users' text."""
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        return _too_large()
    except web.HTTPNotFound:
        return error_reply(404, "There is nothing at this path.", "docs/api.md lists what there is.")
    except web.HTTPMethodNotAllowed as error:
        return error_reply(
            405, f"{error.method} is not allowed here.", f"Use {', '.join(sorted(error.allowed_methods))}."
        )
    except BodyError as error:
        return error_reply(error.status, error.message, error.advice, error.param)
    except TimeoutError:
        return error_reply(408, "The body did not come in time.", "Send all of it.")
    except (CompletiondError, SupersededError) as error:
        status, body = reply_to(error)
    except web.HTTPException as error:
        return error_reply(error.status, error.reason, "docs/api.md says what can be asked.")
    except Exception as error:
        log.error("%s failed: %s", request.path if request.match_info.route.resource else "a request", describe(error))
        status, body = reply_to(error)
    return json_reply(body, status)


def _too_large() -> web.Response:
    reply = error_reply(413, f"A request may have {MAX_BODY_BYTES >> 20} MiB.", "Send only the text around the cursor.")
    reply.force_close()
    return reply
