"""One request in flight: what has been produced for it and not yet been read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from completiond.complete.request import Chunk, Completion, CompletionRequest

__all__ = ["Stream"]


class Stream:
    """A Reader (generation.py) that is itself read from, on the event loop."""

    def __init__(self, request: CompletionRequest, arrived: float) -> None:
        self.request = request
        self.arrived = arrived
        self._items: asyncio.Queue[Chunk | Completion | Exception] = asyncio.Queue()

    def put(self, item: Chunk | Completion | Exception) -> None:
        """See Reader.put."""
        self._items.put_nowait(item)

    async def items(self) -> AsyncGenerator[Chunk | Completion, None]:
        """What comes, up to the Completion. Raises what was put as an exception."""
        while True:
            item = await self._items.get()
            if isinstance(item, Exception):
                raise item
            yield item
            if isinstance(item, Completion):
                return
