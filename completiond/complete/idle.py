"""Letting go of a model that nobody has used for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["IdleRelease"]


class IdleRelease:
    """On the event loop's thread. There is one timer, and none any more once it has run out: an idle daemon sleeps.

    ``is_busy``: whether the model is at work, or cannot be let go of; ``release`` lets go of it, told after how long;
    ``load`` has it loaded again.
    """

    def __init__(self, is_busy: Callable[[], bool], release: Callable[[int], None], load: Callable[[], None]) -> None:
        self._is_busy = is_busy
        self._release = release
        self._load = load
        self._timer: asyncio.TimerHandle | None = None
        self._used_s = 0.0
        self.is_released = False

    def use(self, after_s: int) -> None:
        """The model is wanted now, or will be soon; unless it is again in ``after_s`` seconds (0: ever), it goes."""
        loop = asyncio.get_running_loop()
        self._used_s = loop.time()
        if self.is_released:
            self.is_released = False
            self._load()
        if self._timer is None and after_s:
            self._timer = loop.call_later(after_s, self._look, after_s)

    def stop(self) -> None:
        """There is no more to do."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, after_s: int) -> None:
        loop = asyncio.get_running_loop()
        left_s = self._used_s + after_s - loop.time()
        if left_s > 0 or self._is_busy():
            self._timer = loop.call_later(left_s if left_s > 0 else after_s, self._look, after_s)
            return
        self._timer = None
        self.is_released = True
        self._release(after_s)
