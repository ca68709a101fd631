"""What this process can still get of the machine's memory, so that it can ask for less instead of being killed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["available_bytes", "available_on"]

_CGROUP_FILES = {
    "v2": ("sys/fs/cgroup", "memory.max", "memory.current", ""),
    "v1": ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
}
"""Where groups are, their limit, their use, and how the names in ``memory.stat`` begin that count groups below too."""


def available_bytes(root: Path = Path("/"), mapped_bytes: int = 0) -> int | None:
    """Bytes of main memory that programs can still get; None where the system does not say.

    On Linux the least of MemAvailable, the limits of control groups (v1 and v2, this process's and those above it) and
    ``ulimit -v``, against which also count ``mapped_bytes`` of files that will be mapped. Elsewhere all memory that the
    machine has, used or not: then only what could never fit is noticed. ``root``: where /proc and /sys are.
    """
    meminfo = _text(root / "proc/meminfo")
    if (found := re.search(r"^MemAvailable:\s*(\d+) kB$", meminfo, re.MULTILINE)) is None:
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError, AttributeError):  # no way to know, as the docstring says
            return None
    address_space = [left - mapped_bytes for left in _left_of_address_space(root)]
    return max(0, min(int(found[1]) * 1024, *_left_of_groups(root), *address_space, 1 << 63))


def available_on(device: torch.device, mapped_bytes: int = 0) -> int | None:
    """Bytes that this process can still get where ``device`` computes: of a GPU's memory, or see ``available_bytes``.

    What torch holds of a GPU and does not use counts, since it is given out again first.
    """
    if device.type != "cuda":
        return available_bytes(mapped_bytes=mapped_bytes)
    import torch  # late: the command line reads this module for every verb

    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + unused


def _left_of_groups(root: Path) -> Iterator[int]:
    """Of each limit on this process's control groups. In a container their paths may be the host's: then what is found
    on the way up is the container's own.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        place, limit_name, usage_name, prefix = _CGROUP_FILES["v2" if number == "0" else "v1"]
        folder = root / place / path.lstrip("/")
        for group in (folder, *folder.parents[: len(Path(path).parts) - 1]):
            limit, usage = _text(group / limit_name).strip(), _text(group / usage_name).strip()
            if limit.isdigit() and usage.isdigit():  # "max": no limit
                # The kernel takes back what it holds of files before it kills anything, as MemAvailable reckons too.
                files = re.findall(rf"^{prefix}(?:in)?active_file (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
                yield int(limit) - int(usage) + sum(map(int, files))


def _left_of_address_space(root: Path) -> Iterator[int]:
    limit = re.search(r"^Max address space\s+(\d+)", _text(root / "proc/self/limits"), re.MULTILINE)
    used_kb = re.search(r"^VmSize:\s*(\d+) kB$", _text(root / "proc/self/status"), re.MULTILINE)
    if limit is not None and used_kb is not None:
        yield int(limit[1]) - int(used_kb[1]) * 1024


def _text(file: Path) -> str:
    """Empty where the system has no such file, or does not let it be read: then there is no such limit."""
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return ""
