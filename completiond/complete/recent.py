"""The last requests and what became of them, for those who wonder why there was no suggestion. In memory only, and
nothing of any text.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from completiond.complete.reasons import meaning_of, reason_of
from completiond.complete.request import EXCLUDED, OFF, Chunk, Completion, CompletionRequest, ServedFrom
from completiond.exclude.guard import file_in

__all__ = ["MAX_RECENT", "Recent", "RecentRequest", "document_name"]

MAX_RECENT = 20
"""Requests that are kept; chosen: what fits on a screen."""
MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class RecentRequest:
    """A request that has ended, ``ago_s`` seconds ago, ``took_ms`` milliseconds after it came.

    ``client`` is the editor's name, empty for who did not tell any. ``line`` from 1 and ``column`` from 0 in UTF-16
    units, as in ``completiond complete``. ``served_from`` is empty where no answer was looked for. ``meaning`` says in
    words what ``reason`` (reasons.py) means.
    """

    ago_s: float
    client: str
    document: str
    line: int
    column: int
    lines: int
    characters: int
    served_from: ServedFrom | Literal[""]
    took_ms: float
    reason: str
    meaning: str


class Recent:
    """The newest MAX_RECENT requests that have ended; older ones are forgotten. On the event loop's thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds."""
        self._clock = clock
        self._ended: deque[tuple[float, RecentRequest]] = deque(maxlen=MAX_RECENT)
        self._listeners: list[Callable[[Completion], None]] = []

    def observe(self, listener: Callable[[Completion], None]) -> Callable[[], None]:
        """Call ``listener`` with every answer; the returned function ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def newest_first(self) -> list[RecentRequest]:
        """Those that are known, as of now."""
        now_s = self._clock()
        return [replace(one, ago_s=round(now_s - ended_s, 3)) for ended_s, one in reversed(self._ended)]

    async def follow(
        self,
        request: CompletionRequest,
        items: AsyncGenerator[Chunk | Completion, None],
        folders: Sequence[str] = (),
        is_loading: bool = False,
    ) -> AsyncGenerator[Chunk | Completion, None]:
        """``items``, the answer to ``request``; and when they end, in whatever way, that is noted. Raises what they do.

        ``folders``: paths of the client's. ``is_loading``: whether the model was being loaded when the request came.
        """
        came_s = self._clock()
        line, column = _position(request.prefix)
        name = document_name(request.path, folders)
        one = RecentRequest(0.0, request.client_name, name, line, column, 0, 0, "", 0.0, "", "")
        try:
            async with contextlib.aclosing(items):
                async for item in items:
                    if isinstance(item, Completion):
                        one = _answered(one, item)
                        if request.avoided_ids is None:  # else it is a part of another request
                            for listener in self._listeners:
                                listener(item)
                    yield item
        except BaseException as error:
            if not one.reason:  # who has the answer closes the stream
                reason, meaning = reason_of(error, is_loading)
                one = replace(one, reason=reason, meaning=meaning)
            raise
        finally:
            ended_s = self._clock()
            if request.avoided_ids is None:  # else it is a part of another request
                self._ended.append((ended_s, replace(one, took_ms=round((ended_s - came_s) * 1e3, 1))))


def _answered(one: RecentRequest, completion: Completion) -> RecentRequest:
    text, reason = completion.text, completion.stop_reason
    return replace(
        one,
        lines=text.count("\n") + 1 if text else 0,
        characters=len(text),
        served_from="" if reason.startswith((EXCLUDED, OFF)) else completion.served_from,
        reason=reason,
        meaning=meaning_of(reason),
    )


def document_name(path: str, folders: Sequence[str]) -> str:
    """A document's path relative to the innermost of ``folders`` it is in, else its last part; empty for no path.

    Of a URI that is no file's only the scheme is left, since the rest may be anything, a text among others; but an
    editor's number for a document that was never saved stays.
    """
    file = file_in(path)
    if not file.startswith("/") and ":" in path and not path.startswith("untitled:"):
        return _printable(path.partition(":")[0] + ":")
    inside = [folder.rstrip("/") + "/" for folder in folders if file.startswith(folder.rstrip("/") + "/")]
    if inside:
        return _printable(file[len(max(inside, key=len)) :])
    return _printable(file.rpartition("/")[2])


def _printable(name: str) -> str:
    """A name may hold what a terminal would obey, or be as long as it likes."""
    return "".join(char if char.isprintable() else "?" for char in name[-MAX_NAME_CHARS:])


def _position(prefix: str) -> tuple[int, int]:
    """Line from 1 and column from 0, in UTF-16 units, of the end of ``prefix``. Lines end as in LSP."""
    num_ends = prefix.count("\n")
    if "\r" in prefix:
        num_ends += prefix.count("\r") - prefix.count("\r\n")
    last = prefix[max(prefix.rfind("\n"), prefix.rfind("\r")) + 1 :]
    return num_ends + 1, len(last.encode("utf-16-le", "surrogatepass")) // 2
