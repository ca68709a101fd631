"""Memory that a batch has given back is kept for the next one."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_freed_memory"]

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt(3)."""


def keep_freed_memory() -> bool:
    """Have the C library keep large blocks that are freed, for the rest of the process; whether it can.

    Otherwise each of a batch's large tensors is new memory from the system, which is cleared page by page: up to half
    of the time of a training step (docs/log.md). Only glibc has this setting; other allocators do well without.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # musl
        return False
    is_never_trimmed = bool(mallopt(TRIM_THRESHOLD, (1 << 31) - 1))
    return bool(mallopt(MMAP_THRESHOLD, 1 << 30)) and is_never_trimmed  # older versions refuse so large a threshold
