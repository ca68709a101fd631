"""Who may ask: everyone at the Unix socket, which is the user alone; over TCP, who knows the token.

A web page in the user's browser can send requests to a port of this machine. It does not know the token, its browser
says in Origin where it is from, and where it has a name of its own lead here, Host is that name.
"""

from __future__ import annotations

import hmac
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from completiond.api.page_files import PAGE_PATHS
from completiond.api.replies import error_reply
from completiond.config.http_address import HttpAddress

__all__ = ["OPEN_PATHS", "access_middleware"]

OPEN_PATHS: Final = frozenset({"/health", "/v1/health"}) | PAGE_PATHS
"""What is told to anyone on this machine."""


def access_middleware(address: HttpAddress, token: str) -> Middleware:
    """Lets through who sends ``token`` to ``address``, the port's."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = _why_not(request, address, token)
        return await handler(request) if refused is None else refused

    return check


def _why_not(request: web.Request, address: HttpAddress, token: str) -> web.Response | None:
    names = address.names
    if request.headers.get("Host", "").lower() not in names:
        return error_reply(403, "The Host header is not this server's.", f"Ask {address.url}.")
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() not in {f"http://{name}" for name in names}:
        return error_reply(403, "Web pages of other sites may not ask.", "Use a program, or a page of this server.")
    if request.path in OPEN_PATHS or any(_is_same(given, token) for given in _given_tokens(request)):
        return None
    return error_reply(
        401, "The token is missing or wrong.", "Send Authorization: Bearer TOKEN; `completiond token` prints it."
    )


def _given_tokens(request: web.Request) -> list[str]:
    """Clients put it in one of these."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    bearer = [token.strip()] if scheme.lower() == "bearer" else []
    return [*bearer, *(request.headers[name] for name in ("api-key", "x-api-key") if name in request.headers)]


def _is_same(given: str, token: str) -> bool:
    """In a time that does not tell how much of it was right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
