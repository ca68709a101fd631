"""JSON-RPC messages on a byte stream (LSP 3.17 "Base Protocol"). Standard library only: the shim imports it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["FrameParser", "FramingError", "Json", "encode", "error_response", "frame", "parse", "response"]

Json = dict[str, Any]
"""A JSON object."""

# The names of header fields have no case (RFC 9110 §5.1), and some clients write them in lower case.
_CONTENT_LENGTH: Final = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_END_OF_HEADERS: Final = b"\r\n\r\n"
_MAX_HEADER_BYTES: Final = 8192


class FramingError(ValueError):
    """The stream is not a sequence of framed messages; where the next one begins cannot be known."""


class FrameParser:
    """Cuts a stream, given in pieces of any size, into message bodies."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body_bytes: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes of the stream and yield each body that is complete.

        Raises FramingError for a header without a length, or of more than 8 KiB.
        """
        self._buffer += data
        while True:
            if self._body_bytes is None:
                end = self._buffer.find(_END_OF_HEADERS, 0, _MAX_HEADER_BYTES)
                if end < 0:
                    if len(self._buffer) >= _MAX_HEADER_BYTES:
                        raise FramingError("a message header does not end")
                    return
                match = _CONTENT_LENGTH.search(self._buffer, 0, end)
                if match is None:
                    raise FramingError("a message header has no Content-Length")
                self._body_bytes = int(match[1])
                del self._buffer[: end + len(_END_OF_HEADERS)]
            if len(self._buffer) < self._body_bytes:
                return
            body = bytes(self._buffer[: self._body_bytes])
            del self._buffer[: self._body_bytes]
            self._body_bytes = None
            yield body


def frame(body: bytes) -> bytes:
    """Put the header before a body."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as it goes over the wire, header and compact JSON. A lone surrogate travels as an escape."""
    try:
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        body = json.dumps(message, separators=(",", ":")).encode()
    return frame(body)


def parse(body: bytes) -> Json:
    """Return the message in a body. Raises ValueError, with nothing of the body in it, if it is not a JSON object."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("a message is not JSON") from None
    if not isinstance(message, dict):
        raise ValueError("a message is not an object")
    return message


def response(message_id: object, result: object) -> Json:
    """Return the answer to a request."""
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def error_response(message_id: object, code: int, message: str, data: object = None) -> Json:
    """Return the answer to a request that failed (LSP 3.17 "ResponseError")."""
    error: Json = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": message_id, "error": error}
