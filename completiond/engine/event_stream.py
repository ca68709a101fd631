"""Server-sent events (WHATWG HTML, "Server-sent events") from bytes as they come: the ``data`` of each."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_EVENT_BYTES", "EventStream"]

MAX_EVENT_BYTES: Final = 1 << 20
"""Of a line, and of an event: a few tokens have some hundred."""


class EventStream:
    """Lines end with ``\\n`` or ``\\r\\n`` (no server that we know of ends them with ``\\r`` alone)."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def push(self, received: bytes) -> list[str]:
        """The data of the events that are whole now. Raises ValueError for what is too long, or no UTF-8."""
        *lines, self._rest = (self._rest + received).split(b"\n")
        events = [event for line in lines if (event := self._line(line.removesuffix(b"\r"))) is not None]
        if len(self._rest) + self._size > MAX_EVENT_BYTES:
            raise ValueError("an event is too long")
        return events

    def end(self) -> list[str]:
        """The last event, if no blank line came behind it; raises as ``push`` does."""
        events = self.push(b"\n\n") if self._rest or self._data else []
        self._rest, self._data = b"", []
        return events

    def _line(self, line: bytes) -> str | None:
        if not line:
            data, self._data, self._size = self._data, [], 0
            return b"\n".join(data).decode("utf-8") if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value)
            if self._size > MAX_EVENT_BYTES:
                raise ValueError("an event is too long")
        return None
