"""Firing schedules of a pottery kiln: ramps, holds, and what the thermocouple says during a firing."""

from __future__ import annotations

from dataclasses import dataclass, field

AMBIENT_C = 18.0
KWH_PER_HOUR = 6.4


@dataclass
class Segment:
    """Heat or cool at ``ramp_c_per_hour`` to ``target_c``, then hold."""

    target_c: float
    ramp_c_per_hour: float
    hold_minutes: float = 0.0

    def minutes_from(self, start_c: float) -> float:
        """Minutes for the ramp and the hold together."""
        ramp_minutes = abs(self.target_c - start_c) / self.ramp_c_per_hour * 60
        return ramp_minutes + self.hold_minutes


@dataclass
class Schedule:
    """What the potter programs before the lid is closed."""

    name: str
    cone: str
    segments: list[Segment] = field(default_factory=list)

    def peak_c(self) -> float:
        """The hottest target of all segments."""
        return max(segment.target_c for segment in self.segments)

    def total_minutes(self) -> float:
        """Minutes from a cold kiln to the end of the last hold."""
        total, current_c = 0.0, AMBIENT_C
        for segment in self.segments:
            total += segment.minutes_from(current_c)
            current_c = segment.target_c
        return total

    def energy_kwh(self) -> float:
        """A rough guess: the elements are on half of the time."""
        return self.total_minutes() / 60 * KWH_PER_HOUR / 2


class KilnLog:
    """Readings of one firing, as (minute, celsius)."""

    def __init__(self, schedule: Schedule, tolerance_c: float = 15.0) -> None:
        self.schedule = schedule
        self.tolerance_c = tolerance_c
        self.readings: list[tuple[float, float]] = []

    def record(self, minute: float, celsius: float) -> None:
        """Take one reading; they come in order of time."""
        if self.readings and minute <= self.readings[-1][0]:
            raise ValueError(f"the reading at minute {minute} is not after the last one")
        self.readings.append((minute, celsius))

    def verdict(self) -> str:
        """One word for the wall chart."""
        hottest_c = max(celsius for _, celsius in self.readings)
        if hottest_c > self.schedule.peak_c() + self.tolerance_c:
            return "overfired"
        elif hottest_c < self.schedule.peak_c() - self.tolerance_c:
            return "underfired"
        else:
            return "good"
