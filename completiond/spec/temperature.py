"""The effect of temperature on acceptance, as far as it was seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from completiond.spec.acceptance import AcceptanceCounts

__all__ = ["TemperatureFall", "temperature_falls"]


@dataclass(frozen=True, slots=True)
class TemperatureFall:
    """How much lower the acceptance of first guesses was at ``temperature`` than at the lowest one seen.

    ``low`` and ``high`` bound the true difference with a confidence of 95 %.
    """

    temperature: float
    fall: float
    low: float
    high: float


def temperature_falls(counts: Sequence[AcceptanceCounts]) -> tuple[TemperatureFall, ...]:
    """The effect of temperature as it was seen, from one AcceptanceCounts for each; empty means unknown, which it is
    until two temperatures have enough counts.

    No formula gives it: it depends on how sure the target is of its tokens. First guesses only, because every draft
    has one checked; deeper ones are checked at a high temperature only where the text was easy. Bounds: Agresti and
    Caffo 2000, which hold for shares near 0 and 1 too.
    """
    trusted = sorted((one for one in counts if one.enough), key=lambda one: one.temperature)
    falls = []
    for cool, warm in itertools.product(trusted[:1], trusted[1:]):
        fall = cool.accepted[0] / cool.tried[0] - warm.accepted[0] / warm.tried[0]
        shares = [(c.accepted[0] + 1) / (c.tried[0] + 2) for c in (cool, warm)]
        variances = [p * (1 - p) / (c.tried[0] + 2) for p, c in zip(shares, (cool, warm), strict=True)]
        middle, margin = shares[0] - shares[1], 1.96 * math.sqrt(sum(variances))
        falls.append(TemperatureFall(warm.temperature, fall, middle - margin, middle + margin))
    return tuple(falls)
