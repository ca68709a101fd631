"""The aiohttp application: who may ask (access.py), errors in one shape, and a table of routes for each family."""

from __future__ import annotations

import logging
import time
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from completiond.api import about
from completiond.api.access import access_middleware
from completiond.api.keys import HOST, RUNNING, STARTED, Running
from completiond.api.replies import error_reply, json_reply, reply_to
from completiond.complete.service_protocol import SupersededError
from completiond.config.http_address import HttpAddress
from completiond.errors import CompletiondError
from completiond.logs import describe
from completiond.lsp.host import Host

__all__ = ["MAX_BODY_BYTES", "make_app"]

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 8 << 20


def make_app(host: Host, address: HttpAddress | None, token: str) -> web.Application:
    """All that is served. ``address`` and ``token``: of TCP, None and empty where there is none."""
    app = web.Application(middlewares=[access_middleware(address, token), _errors], client_max_size=MAX_BODY_BYTES)
    app[HOST] = host
    app[STARTED] = int(time.time())
    app[RUNNING] = Running()
    # Further families of routes: a module with ROUTES, and its line here.
    for routes in (about.ROUTES,):
        app.add_routes(routes)
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
