"""What other programs take of the machine's CPUs while something is timed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

__all__ = ["OtherWork"]

STAT_FILE: Final = Path("/proc/stat")
MIN_S: Final = 0.5
"""The system counts in ticks of 10 ms on each CPU; over less time they say nothing."""
ALLOWED_CPUS: Final = 0.2
"""What any system does by the way."""


class OtherWork:
    """Watches from when it is made to ``stop``."""

    def __init__(self) -> None:
        self.cpus: float | None = None
        """How many CPUs others kept busy; None before ``stop``, where the system does not say, and after too short a
        time.
        """
        self._busy_s = _busy_s()
        self._own_s = time.process_time()
        self._started_s = time.perf_counter()

    def stop(self) -> None:
        """What was to be timed has been."""
        took_s, busy_s = time.perf_counter() - self._started_s, _busy_s()
        if busy_s is not None and self._busy_s is not None and took_s >= MIN_S:
            own_s = time.process_time() - self._own_s
            self.cpus = max(0.0, busy_s - self._busy_s - own_s) / took_s

    def disturbs(self, num_threads: int) -> bool:
        """Whether too few CPUs were left for as many threads of our own."""
        return self.cpus is not None and self.cpus + num_threads > (os.cpu_count() or 1) + ALLOWED_CPUS


def _busy_s() -> float | None:
    """What all CPUs have worked since the system's start; None where it does not say."""
    try:
        words = STAT_FILE.read_text(encoding="ascii").split("\n", 1)[0].split()
        user, nice, system, _idle, _waiting, irq, softirq, steal = map(int, words[1:9])
    except (OSError, ValueError):  # not Linux, or one that hides it
        return None
    return float(user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
