"""The page in a browser: its own files, which are the same for everyone and hold nothing of the user's.

They are given to who does not know the token; what the page shows it asks for, with the token, in page_routes.py.
"""

from __future__ import annotations

from importlib.resources import files
from types import MappingProxyType
from typing import Final

from aiohttp import web

__all__ = ["PAGE_PATHS", "ROUTES"]

ROUTES: Final = web.RouteTableDef()

_NAMES: Final = (
    "answer.js", "api.js", "app.js", "chart.js", "charts.js", "dom.js", "editor.js", "explain.js", "icon.svg",
    "index.html", "sources.js", "status.js", "style.css", "theme.js",
)  # fmt: skip
_FILES: Final = MappingProxyType({"/" if name == "index.html" else f"/page/{name}": name for name in _NAMES})

PAGE_PATHS: Final = frozenset(_FILES)
"""Every path that is answered here."""

_TYPES: Final = MappingProxyType({
    "css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml",
})  # fmt: skip

# Only what this server sends runs or is shown, and nobody frames it: a text that a model wrote stays a text.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = MappingProxyType({
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
})  # fmt: skip


@ROUTES.get("/")
@ROUTES.get("/page/{name}")
async def page_file(request: web.Request) -> web.Response:
    """One of the files above, and no other."""
    name = _FILES.get(request.path)
    if name is None:
        raise web.HTTPNotFound
    body = files("completiond.api").joinpath("page", name).read_bytes()
    return web.Response(body=body, headers=_HEADERS, content_type=_TYPES[name.rpartition(".")[2]], charset="utf-8")
