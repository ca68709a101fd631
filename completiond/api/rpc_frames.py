"""From bytes to msgpack values, one connection at a time, and no more memory for it than a message is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgpack

__all__ = ["MAX_FRAME_BYTES", "FrameError", "Frames", "NotTextKeys", "pack"]

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The longest message: a document of that size is none that a model could make use of."""
MAX_LIST_ITEMS: Final = 4096
"""Lists and maps are allocated by the length they declare, one within the other: 32 kB for each of msgpack's levels."""
MAX_VALUES: Final = 65_536
"""Values in the lists and maps of one message; an empty list is one byte on the wire and 64 in memory."""


class FrameError(Exception):
    """Bytes that are no message, or one that is too large. There is no way to go on reading behind them."""


class NotTextKeys:
    """Stands for a map with keys that are no strings: nothing we know takes one."""


class Frames:
    """Takes bytes as they come and gives the values in them."""

    def __init__(self) -> None:
        self._num_values = 0
        self._fed_bytes = 0
        self._start_bytes = 0
        self._unpacker = msgpack.Unpacker(
            strict_map_key=False,  # _map looks at the keys, and never hashes one that is a list
            unicode_errors="surrogateescape",  # refused where a text is expected, with an answer
            max_buffer_size=MAX_FRAME_BYTES,
            max_str_len=MAX_FRAME_BYTES,
            max_bin_len=MAX_FRAME_BYTES,
            max_ext_len=MAX_FRAME_BYTES,
            max_array_len=MAX_LIST_ITEMS,
            max_map_len=MAX_LIST_ITEMS,
            list_hook=self._list,
            object_pairs_hook=self._map,
        )

    @property
    def is_within(self) -> bool:
        """Whether a message has begun and not ended."""
        return self._fed_bytes > self._start_bytes

    def feed(self, data: bytes) -> Iterator[Any]:
        """The values that are whole with ``data``. Raises FrameError, after which nothing more may be fed."""
        self._fed_bytes += len(data)
        try:
            self._unpacker.feed(data)
            while True:
                value = self._unpacker.unpack()
                self._check_size(self._unpacker.tell())
                self._start_bytes = self._unpacker.tell()
                self._num_values = 0
                yield value
        except msgpack.OutOfData:
            self._check_size(self._fed_bytes)
        except msgpack.StackError:
            raise FrameError("A message is nested too deeply.") from None
        except msgpack.BufferFull:
            raise _too_large() from None
        except (ValueError, RecursionError):  # FormatError, a length above the limits, a timestamp that is none
            raise FrameError("What was sent is no msgpack, or a list in it is too long.") from None

    def _check_size(self, end_bytes: int) -> None:
        if end_bytes - self._start_bytes > MAX_FRAME_BYTES:
            raise _too_large()

    def _count(self, num: int) -> None:
        self._num_values += 1 + num
        if self._num_values > MAX_VALUES:
            raise FrameError(f"A message has more than {MAX_VALUES} values.")

    def _list(self, items: list[Any]) -> list[Any]:
        self._count(len(items))
        return items

    def _map(self, pairs: list[tuple[Any, Any]]) -> dict[str, Any] | NotTextKeys:
        self._count(len(pairs))
        return dict(pairs) if all(isinstance(key, str) for key, _ in pairs) else NotTextKeys()


def pack(value: Any) -> bytes:
    """``value`` as msgpack; half a surrogate pair, which has no UTF-8, becomes a question mark."""
    packed: bytes = msgpack.packb(value, unicode_errors="replace")
    return packed


def _too_large() -> FrameError:
    return FrameError(f"A message has more than {MAX_FRAME_BYTES // 1024**2} MiB.")
