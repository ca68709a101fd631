"""Finished answers, found again while the user types them, goes back to them, or asks once more.

An answer belongs to the whole text on both sides of the cursor, never to the text before it alone. From the answer
``A`` at prefix ``P``, every prefix ``P + A[:k]`` is served with no pass of the model: typing it along, accepting it by
word or line, and deleting back to any such place.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

__all__ = ["ResultCache"]

T = TypeVar("T")

MAX_ENTRIES = 512


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    prefix_chars: int
    prefix_digest: bytes
    text: str
    value: T


class ResultCache(Generic[T]):
    """At most ``max_entries`` answers, the ones longest not used going first.

    ``group`` stands for all that an answer depends on besides the text before the cursor.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._groups: OrderedDict[Hashable, list[_Entry[T]]] = OrderedDict()
        """Least recently used group first, and so its entries."""
        self._num_entries = 0

    def __len__(self) -> int:
        return self._num_entries

    def __contains__(self, place: tuple[Hashable, str]) -> bool:
        """Whether there is an answer at exactly this group and prefix."""
        group, prefix = place
        key = (len(prefix), _digest(prefix))
        return any((one.prefix_chars, one.prefix_digest) == key for one in self._groups.get(group, []))

    def put(self, group: Hashable, prefix: str, text: str, value: T) -> None:
        """Keep the answer ``text`` at ``prefix``, in place of an older one there."""
        entry = _Entry(len(prefix), _digest(prefix), text, value)
        entries = self._groups.setdefault(group, [])
        self._groups.move_to_end(group)
        for older in entries:
            if older.prefix_chars == entry.prefix_chars and older.prefix_digest == entry.prefix_digest:
                entries.remove(older)
                self._num_entries -= 1
                break
        entries.append(entry)
        self._num_entries += 1
        while self._num_entries > self._max_entries:
            self._drop_oldest()

    def find(self, group: Hashable, prefix: str) -> tuple[T, int] | None:
        """An answer that goes on from ``prefix``, and how many of its characters have been typed already.

        Of several, the one used last: a suggestion that is being typed along does not change. One that was typed to
        its end, or but for blanks, is none; an empty one is found at its own place.
        """
        entries = self._groups.get(group, [])
        digests: dict[int, bytes] = {}
        for entry in reversed(entries):
            typed = len(prefix) - entry.prefix_chars
            if not 0 <= typed <= len(entry.text) or not entry.text.startswith(prefix[entry.prefix_chars :]):
                continue
            if typed and not entry.text[typed:].strip():
                continue
            if entry.prefix_chars not in digests:
                digests[entry.prefix_chars] = _digest(prefix[: entry.prefix_chars])
            if digests[entry.prefix_chars] == entry.prefix_digest:
                entries.remove(entry)
                entries.append(entry)
                self._groups.move_to_end(group)
                return entry.value, typed
        return None

    def forget(self, group: Hashable) -> None:
        """Drop all answers of a group."""
        self._num_entries -= len(self._groups.pop(group, []))

    @property
    def groups(self) -> list[Hashable]:
        """All groups there are answers of."""
        return list(self._groups)

    def _drop_oldest(self) -> None:
        group, entries = next(iter(self._groups.items()))
        del entries[0]
        self._num_entries -= 1
        if not entries:
            del self._groups[group]


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
