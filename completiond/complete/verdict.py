"""What the stop rules say of an answer so far."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``end``: the answer is ``text[:end]`` for ``reason``, or None to go on. ``text[:safe]`` is never taken back.

    ``fallback``: where the answer ends, for ``reason``, if what is looked for behind it does not come.
    """

    end: int | None
    reason: str
    safe: int
    fallback: int | None = None
