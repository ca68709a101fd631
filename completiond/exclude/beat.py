"""When it is time to look at files again."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Beat"]

CHECK_EVERY_S = 1.0
"""How old an answer may be before the files' times are looked at again."""


class Beat:
    """Tells when it is time to look at files again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_s: float | None = None

    def is_due(self) -> bool:
        """True the first time, and then once whenever CHECK_EVERY_S seconds have passed."""
        now_s = self._clock()
        if self._last_s is not None and 0 <= now_s - self._last_s < CHECK_EVERY_S:
            return False
        self._last_s = now_s
        return True
