"""Answers in JSON without blanks (one client looks for ``"content":"`` in the text), errors in one shape for all.

The shape is OpenAI's with llama.cpp's whole number for a code, and ``advice``: what to do about it.
"""

from __future__ import annotations

import json
from typing import Any, Final

from aiohttp import web

from completiond.complete.service_protocol import SupersededError
from completiond.errors import CompletiondError, MemoryFullError, NotReadyError, UsageError

__all__ = ["Json", "compact", "error_body", "error_reply", "json_reply", "reply_to"]

Json = dict[str, Any]

LOADING: Final = "Loading model"
"""By this message, and status 503, llama.cpp's clients know that they have to wait."""

_TYPES: Final = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    405: "invalid_request_error", 408: "timeout_error", 413: "invalid_request_error", 501: "not_supported_error",
    503: "unavailable_error",
}  # fmt: skip


def compact(value: object) -> bytes:
    """JSON as it goes over the wire. A lone surrogate travels as an escape."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def json_reply(value: object, status: int = 200) -> web.Response:
    """``value`` as an answer."""
    return web.Response(body=compact(value), status=status, content_type="application/json", charset="utf-8")


def error_body(status: int, message: str, advice: str = "", param: str | None = None) -> Json:
    """The body of an error."""
    kind = _TYPES.get(status, "server_error")
    return {"error": {"code": status, "message": message, "type": kind, "param": param, "advice": advice}}


def error_reply(status: int, message: str, advice: str = "", param: str | None = None) -> web.Response:
    """An answer that says what is wrong and what to do."""
    return json_reply(error_body(status, message, advice, param), status)


def reply_to(error: Exception) -> tuple[int, Json]:
    """Status and body of the answer to a request that ended with ``error``.

    Of an error that is not ours nothing is told: its message may quote a text.
    """
    if isinstance(error, SupersededError):
        return 503, error_body(503, "The daemon gave this request up.", "Ask again.")
    if isinstance(error, NotReadyError):
        return 503, error_body(503, error.message, error.advice)
    if isinstance(error, UsageError):
        return 400, error_body(400, error.message, error.advice, error.param)
    if isinstance(error, MemoryFullError):
        return 503, error_body(503, error.message, error.advice)
    if isinstance(error, CompletiondError):
        return 500, error_body(500, error.message, error.advice)
    return 500, error_body(500, "completiond failed, which is a defect.", "The daemon's log says where.")
