"""The same holes asked of another server, by llama.cpp's contract: ``POST /infill``."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from completiond.bench.fim.cut import cut_to_reference
from completiond.bench.fim.hole import FimHole
from completiond.bench.fim.product import ORACLE
from completiond.bench.fim.score import FimAnswer
from completiond.errors import CompletiondError, UsageError

__all__ = ["FIRST_LINE", "RAW", "InfillServer"]

RAW: Final = "raw"
FIRST_LINE: Final = "first line"
_MAX_REPLY_BYTES: Final = 1 << 20


class InfillServer:
    """A server at ``url``, without ``/infill``. ``timeout_s``: of silence, in seconds."""

    def __init__(self, url: str, max_tokens: int, timeout_s: float = 120.0) -> None:
        """Raises UsageError for what is no address of a server."""
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            raise UsageError(f"--server {url} is not the address of a server.", "Use http://HOST:PORT.")
        self._url = url.rstrip("/").removesuffix("/infill") + "/infill"
        self._max_tokens = max_tokens
        self._timeout_s = timeout_s
        # Never through a proxy: the server is on this machine or near it.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, hole: FimHole) -> Mapping[str, FimAnswer]:
        """The server's answer as it is, cut at its first line's end, and cut where the reference ends.

        Raises CompletiondError when the server cannot be reached, refuses, or answers what is no completion.
        """
        reply = self._post(
            {
                "input_prefix": hole.prefix,
                "input_suffix": hole.suffix,
                "n_predict": self._max_tokens,
                "temperature": 0.0,
                "stream": False,
                "cache_prompt": True,
            }
        )
        text = reply.get("content") if isinstance(reply, dict) else None
        if not isinstance(text, str):
            raise self._nonsense(f"no text in content: {json.dumps(reply)[:200]}")
        timings = reply.get("timings")
        time_ms = timings.get("predicted_per_token_ms") if isinstance(timings, dict) else None
        raw = FimAnswer(text, _count(reply.get("tokens_predicted")), _time_ms(time_ms))
        first_line = FimAnswer(text.partition("\n")[0])
        return {RAW: raw, FIRST_LINE: first_line, ORACLE: FimAnswer(cut_to_reference(text, hole))}

    def _post(self, order: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url, json.dumps(order).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with self._opener.open(request, timeout=self._timeout_s) as reply:
                body = reply.read(_MAX_REPLY_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from error
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            what = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
            raise CompletiondError(
                f"{self._url} cannot be reached: {what or type(reason).__name__}.",
                "Start the server, or correct --server.",
            ) from error
        try:
            return json.loads(body)
        except ValueError as error:
            text = body[:200].decode(errors="backslashreplace")
            shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
            raise self._nonsense(f"no JSON: {shown}") from error

    def _refusal(self, error: urllib.error.HTTPError) -> CompletiondError:
        """With the server's own words, if it has any."""
        try:
            said = json.loads(error.read(_MAX_REPLY_BYTES))["error"]
            text = said if isinstance(said, str) else said["message"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            text = error.reason
        return CompletiondError(
            f"{self._url} refuses with status {error.code}: {text}.", "Its model and its version may not support it."
        )

    def _nonsense(self, what: str) -> CompletiondError:
        return CompletiondError(f"{self._url} answers {what}.", "It should be a server with llama.cpp's /infill.")


def _count(value: object) -> int | None:
    """A figure that is missing or wrong is no reason to give up."""
    return value if type(value) is int and value >= 0 else None


def _time_ms(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
