"""msgpack-rpc messages: ``[0, id, method, params]``, ``[1, id, error, result]``, ``[2, method, params]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from completiond.errors import UsageError

__all__ = ["MAX_MESSAGE_ID", "Call", "WrongMessageError", "call_of", "named_params", "notification", "response"]

_REQUEST, _RESPONSE, _NOTIFICATION = 0, 1, 2
MAX_MESSAGE_ID: Final = 2**32 - 1
MAX_METHOD_CHARS: Final = 100


class WrongMessageError(UsageError):
    """A value is no message of a client. ``message_id`` is that of the request it seems to be, or None."""

    def __init__(self, message: str, message_id: int | None = None) -> None:
        super().__init__(message, "Send [0, id, method, params] or [2, method, params].")
        self.message_id = message_id


@dataclass(frozen=True, slots=True)
class Call:
    """What a client wants: an answer with its ``message_id``, or none if that is None (a notification).

    ``params`` are as they came: see ``named_params``.
    """

    message_id: int | None
    method: str
    params: Any


def call_of(value: Any) -> Call:
    """Read a message. Raises WrongMessageError."""
    if not isinstance(value, list) or not value or not _is_whole(value[0]):
        raise WrongMessageError("A message is no list that begins with its type.")
    kind = value[0]
    if kind == _REQUEST and len(value) == 4:
        message_id = value[1]
        if not _is_whole(message_id) or not 0 <= message_id <= MAX_MESSAGE_ID:
            raise WrongMessageError("The id of a request is no whole number of 32 bits.")
        return _call(message_id, value[2], value[3])
    if kind == _NOTIFICATION and len(value) == 3:
        return _call(None, value[1], value[2])
    if kind == _RESPONSE:
        raise WrongMessageError("A response came, but the daemon never asks.")
    raise WrongMessageError("A message has a type or a length that msgpack-rpc does not know.")


def named_params(call: Call) -> dict[str, Any]:
    """The one map that every method takes, its parameters by name; without it, an empty one. Raises UsageError."""
    params = call.params
    named = params[0] if isinstance(params, list) and len(params) == 1 else params
    if named == []:  # none, or what Lua makes of an empty table
        return {}
    if named is params or not isinstance(named, dict):
        raise UsageError(
            "The parameters are no list with one map in it, with strings for keys.", "Send [{name: value}]."
        )
    return named


def response(message_id: int, error: Any, result: Any) -> list[Any]:
    """The answer to a request."""
    return [_RESPONSE, message_id, error, result]


def notification(method: str, params: list[Any]) -> list[Any]:
    """A message that has no answer."""
    return [_NOTIFICATION, method, params]


def _call(message_id: int | None, method: Any, params: Any) -> Call:
    if not isinstance(method, str) or len(method) > MAX_METHOD_CHARS:
        raise WrongMessageError(f"A method is no string of at most {MAX_METHOD_CHARS} characters.", message_id)
    return Call(message_id, method, params)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
