"""What goes wrong with a remote engine, in words, with what to do. Nothing that a server says is repeated: it may quote
the prompt.
"""

from __future__ import annotations

from typing import Final

import httpx

from completiond.engine.remote_key import KEY_VARIABLE
from completiond.errors import CompletiondError, RemoteDownError, RemoteRefusedError

__all__ = ["error_of_failure", "error_of_status", "is_worth_a_retry", "not_ours"]

_RETRIED: Final = frozenset({429, 502, 503, 504})
_NO_SUFFIX: Final = "Many servers take no suffix: set engine.remote_format to the model's family."
_KEY_ADVICE: Final = f"Put it into {KEY_VARIABLE}, or into a file that engine.remote_key_file names."


def is_worth_a_retry(problem: int | httpx.HTTPError) -> bool:
    """Whether the same may go well in a moment: a status, or a failure before there was one. A wait was long enough."""
    if isinstance(problem, int):
        return problem in _RETRIED
    return isinstance(problem, httpx.NetworkError | httpx.RemoteProtocolError)


def error_of_failure(error: Exception, shown: str, timeout_ms: int) -> CompletiondError:
    """For a request to the server at ``shown`` that had no answer, or not all of it."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return RemoteDownError(f"The server at {shown} does not answer.", "Start it, or correct engine.remote.")
    if isinstance(error, httpx.TimeoutException):
        return RemoteDownError(
            f"The server at {shown} did not answer within {timeout_ms} ms.", "See its log, or raise engine.timeout_ms."
        )
    if isinstance(error, httpx.HTTPError):
        return RemoteDownError(f"The server at {shown} broke the connection off.", "See its log.")
    return not_ours(shown)


def error_of_status(status: int, shown: str, model: str, has_key: bool, has_suffix: bool) -> CompletiondError:
    """For an answer that is none."""
    if status in (401, 403):
        what = "refuses the key" if has_key else "wants a key"
        return RemoteDownError(f"The server at {shown} {what} ({status}).", _KEY_ADVICE)
    if status == 404:
        return RemoteDownError(
            f"The server at {shown} has no model {model!r}, or no completions ({status}).",
            "Correct engine.remote or engine.remote_model.",
        )
    if status == 429:
        return RemoteRefusedError(f"The server at {shown} has too much to do ({status}).", "Ask again in a moment.")
    if status in (502, 503, 504):
        return RemoteDownError(f"The server at {shown} is not ready ({status}).", "Wait for its model to be loaded.")
    if 400 <= status < 500:
        small = "See its log; a smaller prompt.prefix_tokens helps where its context is small."
        return RemoteRefusedError(
            f"The server at {shown} refuses the request ({status}).", _NO_SUFFIX if has_suffix else small
        )
    if status < 400:
        return RemoteDownError(f"The server at {shown} sends elsewhere ({status}).", "Set engine.remote to that.")
    advice = f"See its log. {_NO_SUFFIX}" if has_suffix else "See its log."
    return RemoteDownError(f"The server at {shown} has failed ({status}).", advice)


def not_ours(shown: str) -> RemoteDownError:
    """For an answer that cannot be read."""
    return RemoteDownError(
        f"What the server at {shown} sends are no completions as OpenAI's.", "Correct engine.remote: most end in /v1."
    )
