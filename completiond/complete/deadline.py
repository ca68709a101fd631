"""When an editor gets the lines there are."""

from __future__ import annotations

from completiond.config import Config
from completiond.spec.policy import MeasuredPolicy

__all__ = ["deadline_ms"]

PASSES = 20
BOUNDS_MS = (300.0, 1500.0)
"""Unless the settings say when: the time of so many passes, but no less and no more than this. Chosen, not measured."""


def deadline_ms(settings: Config, policy: MeasuredPolicy | None) -> float:
    """Milliseconds from a request on. ``policy`` has measured what passes cost; None: not yet."""
    if settings.completion.deadline_ms:
        return settings.completion.deadline_ms
    pass_ms = policy.costs.pass_ms(1) if policy else 0.0
    return min(max(pass_ms * PASSES, BOUNDS_MS[0]), BOUNDS_MS[1])
