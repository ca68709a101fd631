"""What others take of the machine, by the system's own counts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from completiond.bench import other_work
from completiond.bench.other_work import MIN_S, OtherWork

needs_counts = pytest.mark.skipif(not Path("/proc/stat").exists(), reason="only Linux says what others do")


def watched(until: Callable[[float], bool]) -> OtherWork:
    """``until`` is asked, without a pause, whether so many seconds are enough."""
    others, started_s = OtherWork(), time.perf_counter()
    while not until(time.perf_counter() - started_s):
        pass
    others.stop()
    return others


@needs_counts
def test_a_busy_program_is_seen() -> None:
    code = "while True: pass"
    with subprocess.Popen([sys.executable, "-c", code]) as busy:
        try:
            stat = Path(f"/proc/{busy.pid}/stat")

            def has_worked(_: float) -> bool:
                fields = stat.read_text().rpartition(")")[2].split()
                return int(fields[11]) + int(fields[12]) >= os.sysconf("SC_CLK_TCK")

            took_s = time.perf_counter()
            others = watched(has_worked)
            took_s = time.perf_counter() - took_s
        finally:
            busy.kill()
    assert others.cpus is not None
    assert others.cpus * took_s > 0.7, "it worked for a second, but for what came before the watch"
    assert others.disturbs(os.cpu_count() or 1)


def stat(**ticks: int) -> str:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
    return "cpu  " + " ".join(str(ticks.get(name, 1000)) for name in names) + "\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_our_own_work_and_waiting_are_none_of_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clock, file = SimpleNamespace(wall_s=100.0, own_s=7.0), tmp_path / "stat"
    monkeypatch.setattr(other_work, "STAT_FILE", file)
    times = SimpleNamespace(perf_counter=lambda: clock.wall_s, process_time=lambda: clock.own_s)
    monkeypatch.setattr(other_work, "time", times)
    tick = os.sysconf("SC_CLK_TCK")
    file.write_text(stat())
    others = OtherWork()
    clock.wall_s, clock.own_s = 104.0, 10.0
    file.write_text(stat(user=1000 + 4 * tick, steal=1000 + tick, idle=9_000_000, iowait=9_000_000, guest=9_000_000))
    others.stop()
    assert others.cpus == pytest.approx((4 + 1 - 3) / 4)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert [others.disturbs(num_threads) for num_threads in (1, 3, 4)] == [False, False, True]


def test_where_the_system_says_nothing_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(other_work, "STAT_FILE", tmp_path / "none")
    others = watched(lambda took_s: took_s >= MIN_S)
    assert others.cpus is None
    assert not others.disturbs(1000)
