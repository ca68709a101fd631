"""Our own methods, on the same socket as LSP and with no need of ``initialize``: for the command line and plugins."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pygls.exceptions import JsonRpcException

from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.complete.service_protocol import SupersededError
from completiond.complete.until_loaded import until_loaded
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import CompletiondError, UsageError
from completiond.spec.drafter_names import DRAFTERS

if TYPE_CHECKING:
    from completiond.lsp.server import CompletionServer

__all__ = ["CHUNK", "COMPLETE", "STATUS", "STOP", "complete", "status", "stop"]

COMPLETE: Final = "completiond/complete"
CHUNK: Final = "completiond/chunk"
STATUS: Final = "completiond/status"
STOP: Final = "completiond/stop"

# LSP 3.17 "ErrorCodes"
_INVALID_PARAMS: Final = -32602
_SERVER_CANCELLED: Final = -32802
_REQUEST_FAILED: Final = -32803

_PARAMS: Final = frozenset(
    {"path", "prefix", "suffix", "maxTokens", "temperature", "topK", "topP", "seed", "drafter"}
    | {"stream", "waitUntilReady", "explain"}
)

T = TypeVar("T")


async def complete(ls: CompletionServer, params: Any) -> dict[str, Any]:
    """Answer ``completiond/complete`` with a Completion, its keys in snake_case.

    ``params``: ``prefix``, and optionally ``path``, ``suffix``, ``maxTokens``, ``temperature``, ``topK``, ``topP``,
    ``seed``, ``drafter``, ``explain``, ``stream`` (send ``completiond/chunk`` notifications on the way) and
    ``waitUntilReady``. A newer request of the same client for the same non-empty ``path`` supersedes an older one.
    """
    counters, service = ls.host.counters, ls.host.service
    counters.requests += 1
    ls.is_at_work = True
    message_id = ls.protocol.msg_id
    try:
        request = replace(_request(ls.client_id, message_id, params), client_name=ls.client_name)
        if _value(params, "waitUntilReady", bool, False):
            await until_loaded(service)
        if _value(params, "stream", bool, False):
            completion = await _stream(ls, message_id, request)
        else:
            completion = await service.complete(request)
    except SupersededError:
        counters.superseded += 1
        raise JsonRpcException("A newer request took the place of this one.", _SERVER_CANCELLED) from None
    except CompletiondError as error:
        counters.empty += 1
        raise _rpc_error(error) from error
    except Exception:
        counters.empty += 1
        raise
    counters.cached += completion.served_from == "cache"
    if completion.text:
        counters.answered += 1
    else:
        counters.empty += 1
    return asdict(completion)


def status(ls: CompletionServer, params: Any) -> dict[str, Any]:
    """Answer ``completiond/status``. ``params``: with ``why`` true, ``recent`` has the last requests, newest first:
    each a RecentRequest (complete/recent.py), its keys in snake_case.

    A client that only asks is not one of ``clients``: one that neither said ``initialize`` nor asked for a completion.
    """
    asks_why = isinstance(params, dict) and params.get("why") is True
    return ls.host.status(None if ls.is_at_work else ls.client_id, asks_why)


def stop(ls: CompletionServer, _params: Any) -> None:
    """Answer ``completiond/stop``. The answer is on its way before the process begins to end."""
    ls.host.request_stop()


async def _stream(ls: CompletionServer, message_id: object, request: CompletionRequest) -> Completion:
    async with contextlib.aclosing(ls.host.service.stream(request)) as events:
        async for event in events:
            if isinstance(event, Completion):
                return event
            ls.protocol.notify(CHUNK, _chunk_params(message_id, event))
    raise RuntimeError("the stream ended without a completion")


def _chunk_params(message_id: object, chunk: Chunk) -> dict[str, Any]:
    return {"id": message_id, "text": chunk.text, "spans": [asdict(span) for span in chunk.spans]}


def _request(client_id: str, message_id: object, params: Any) -> CompletionRequest:
    if not isinstance(params, dict):
        raise UsageError(f"{COMPLETE} takes named parameters.")
    if unknown := sorted(params.keys() - _PARAMS):
        raise UsageError(f"{COMPLETE} has no parameter {unknown[0]}.", f"It has {', '.join(sorted(_PARAMS))}.")
    drafter = _value(params, "drafter", str, "auto")
    if drafter not in DRAFTERS:
        raise UsageError(f"drafter is {drafter!r}.", f"Use one of {', '.join(DRAFTERS)}.")
    if "prefix" not in params:
        raise UsageError(f"{COMPLETE} needs a prefix.")
    max_tokens = params.get("maxTokens")
    if max_tokens is not None and _value(params, "maxTokens", int, 0) < 1:
        raise UsageError(f"maxTokens is {max_tokens}.", "Use a positive number.")
    path = _value(params, "path", str, "")
    return CompletionRequest(
        prefix=_value(params, "prefix", str, ""),
        suffix=_value(params, "suffix", str, ""),
        path=path,
        client_id=client_id,
        document_id=path or f"request {message_id}",
        max_tokens=max_tokens,
        sampling=SamplingParams(
            temperature=_number(params, "temperature", 0.0),
            top_k=_value(params, "topK", int, 0),
            top_p=_number(params, "topP", 1.0),
            seed=_value(params, "seed", int, 0),
        ),
        drafter=drafter,
        explain=_value(params, "explain", bool, False),
    )


def _value(params: dict[str, Any], name: str, kind: type[T], default: T) -> T:
    value = params.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{name} is not of type {kind.__name__}.")
    return value


def _number(params: dict[str, Any], name: str, default: float) -> float:
    value = params.get(name)
    return (
        float(value) if isinstance(value, int) and not isinstance(value, bool) else _value(params, name, float, default)
    )


def _rpc_error(error: CompletiondError) -> JsonRpcException:
    code = _INVALID_PARAMS if isinstance(error, UsageError) else _REQUEST_FAILED
    data = {
        "type": type(error).__name__,
        "message": error.message,
        "advice": error.advice,
        "exit_status": error.exit_status,
    }
    return JsonRpcException(str(error), code, data)
