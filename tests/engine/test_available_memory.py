"""What a machine can give, read from files as Linux writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from completiond.engine.available_memory import available_bytes, available_on

MB = 1 << 20
MEMINFO = """MemTotal:       24684084 kB
MemFree:        13608556 kB
MemAvailable:    4194304 kB
Buffers:           86148 kB
"""
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max data size             unlimited            unlimited            bytes
Max address space         {limit:<20} unlimited            bytes
Max file locks            unlimited            unlimited            locks
"""
V2_STAT = "anon 1048576\nfile 900\ninactive_anon 1048576\nactive_anon 0\ninactive_file {0}\nactive_file {1}\n"
V1_STAT = "cache 1\nactive_file 999\ninactive_file 999\ntotal_inactive_file {0}\ntotal_active_file {1}\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with 4 GB available and no other limit."""
    own = {"cgroup": "0::/\n", "limits": LIMITS.format(limit="unlimited"), "status": "VmSize:\t  102400 kB\n"}
    return write(tmp_path, {"proc/meminfo": MEMINFO, **{f"proc/self/{name}": text for name, text in own.items()}})


def test_without_limits_it_is_what_the_kernel_says_is_available(machine: Path) -> None:
    assert available_bytes(machine) == 4096 * MB


@pytest.mark.parametrize("limited", ["user.slice/app", "user.slice", ""])
def test_a_v2_group_at_any_level_is_a_limit(machine: Path, limited: str) -> None:
    write(machine, {"proc/self/cgroup": "0::/user.slice/app\n"})
    for group in ("", "user.slice", "user.slice/app"):
        limit = f"{500 * MB}\n" if group == limited else "max\n"
        stat = V2_STAT.format(30 * MB, 20 * MB)
        here = f"sys/fs/cgroup/{group}"
        write(machine, {f"{here}/memory.max": limit, f"{here}/memory.current": f"{400 * MB}\n"})
        write(machine, {f"{here}/memory.stat": stat})
    assert available_bytes(machine) == (500 - 400 + 50) * MB, "what is held of files is given back"


def test_a_v1_group_is_a_limit_also_where_its_path_is_the_hosts(machine: Path) -> None:
    lines = "12:cpu,cpuacct:/docker/1f\n4:memory:/docker/1f\n0::/docker/1f\n"
    own = "sys/fs/cgroup/memory"  # in the container, the group is mounted there
    write(machine, {"proc/self/cgroup": lines, f"{own}/memory.limit_in_bytes": f"{800 * MB}\n"})
    write(machine, {f"{own}/memory.usage_in_bytes": f"{300 * MB}\n", f"{own}/memory.stat": V1_STAT.format(MB, 2 * MB)})
    assert available_bytes(machine) == 503 * MB
    write(machine, {f"{own}/docker/1f/memory.limit_in_bytes": "9223372036854771712\n"})
    write(machine, {f"{own}/docker/1f/memory.usage_in_bytes": f"{300 * MB}\n"})
    assert available_bytes(machine) == 503 * MB, "the least of all levels"


def test_a_group_that_is_larger_than_the_machine_is_no_limit(machine: Path) -> None:
    here = "sys/fs/cgroup"
    write(machine, {f"{here}/memory.max": f"{64 << 30}\n", f"{here}/memory.current": f"{MB}\n"})
    assert available_bytes(machine) == 4096 * MB


def test_a_group_over_its_limit_has_nothing_left(machine: Path) -> None:
    here = "sys/fs/cgroup"
    write(machine, {f"{here}/memory.max": f"{10 * MB}\n", f"{here}/memory.current": f"{12 * MB}\n"})
    assert available_bytes(machine) == 0


def test_address_space_is_a_limit_that_mapped_files_count_against(machine: Path) -> None:
    write(machine, {"proc/self/limits": LIMITS.format(limit=600 * MB)})
    assert available_bytes(machine) == 500 * MB
    assert available_bytes(machine, mapped_bytes=200 * MB) == 300 * MB
    write(machine, {"proc/self/limits": LIMITS.format(limit="unlimited")})
    assert available_bytes(machine, mapped_bytes=200 * MB) == 4096 * MB


def test_where_there_is_no_proc_it_is_what_the_machine_has(tmp_path: Path) -> None:
    assert available_bytes(tmp_path) == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_where_nobody_says_it_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sysconf(name: str) -> int:
        raise ValueError(f"unrecognized configuration name: {name}")

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert available_bytes(tmp_path) is None


def test_this_machine_says_what_it_has() -> None:
    found = available_bytes()
    assert found is None or 1_000_000 < found <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert available_on(torch.device("cpu")) is not None or found is None


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="the kernel does not say what a process may have")
def test_a_real_limit_of_this_kind_is_seen() -> None:
    """A real process, which limits itself and then takes some of what it may."""
    ask = """
import resource
from completiond.engine.available_memory import available_bytes
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (300 << 20), resource.RLIM_INFINITY))
print(available_bytes())
taken = bytearray(100 << 20)
print(available_bytes())
"""
    child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    before, after = map(int, child.stdout.split())
    assert 290 * MB < before <= 300 * MB
    assert before - after == pytest.approx(100 * MB, abs=10 * MB)


def test_of_a_gpu_what_torch_holds_and_does_not_use_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The three figures are faked, since most machines that run this have no GPU."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 8000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 500)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 300)
    assert available_on(torch.device("cuda")) == 1200
