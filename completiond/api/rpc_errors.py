"""Errors on the wire: ``[code, message, advice]``, three strings, and back to exceptions at the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from completiond import errors
from completiond.complete.service_protocol import SupersededError
from completiond.errors import CompletiondError, DaemonError

__all__ = [
    "CANCELLED",
    "FRAME",
    "INTERNAL",
    "SUPERSEDED",
    "UNKNOWN_METHOD",
    "ErrorTriple",
    "RequestCancelledError",
    "error_from",
    "triple_of",
]

ErrorTriple = tuple[str, str, str]
"""A code, what is wrong, what to do; the code of a CompletiondError is the name of its class."""

SUPERSEDED: Final = "SupersededError"
CANCELLED: Final = "RequestCancelledError"
UNKNOWN_METHOD: Final = "UnknownMethodError"
FRAME: Final = "FrameError"
INTERNAL: Final = "InternalError"


class RequestCancelledError(Exception):
    """A request was cancelled by another task than the one that waits for it."""


def triple_of(error: BaseException) -> ErrorTriple:
    """What a client is told of ``error``; the message of one that is not ours stays here, since it may quote code."""
    if isinstance(error, CompletiondError):
        return type(error).__name__, error.message, error.advice
    if isinstance(error, SupersededError):
        return SUPERSEDED, "A newer request took the place of this one, or the document was closed.", ""
    return INTERNAL, "completiond failed, which is a defect.", "Its log says where: `completiond logs`."


def error_from(told: object) -> Exception:
    """The exception that an error on the wire stands for: of the same class as at the daemon, else a DaemonError."""
    if not isinstance(told, Sequence) or isinstance(told, str) or len(told) != 3:
        return DaemonError("The daemon answered with an error that is none.")
    code, message, advice = (str(part) for part in told)
    if code == SUPERSEDED:
        return SupersededError(message)
    if code == CANCELLED:
        return RequestCancelledError(message)
    kind = getattr(errors, code) if code in errors.__all__ else DaemonError
    error: CompletiondError = kind(message, advice)
    return error
