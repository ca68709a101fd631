"""What is freed is kept, in a process of its own: the setting is for good."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from completiond.train.allocator import keep_freed_memory
import torch
assert {keep} is False or keep_freed_memory()
for _ in range(10):
    torch.ones(20_000_000).sum()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    torch.ones(20_000_000).sum()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * resource.getpagesize() / 80_000_000)
"""


def faulted_shares(keep: bool) -> float:
    """How many times the 80 MB of a tensor came anew from the system while fifty such were made."""
    program = PROGRAM.format(keep=keep)
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


# keep_freed_memory's own condition.
@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="only glibc's allocator has the setting",
)
def test_a_large_tensor_is_made_from_memory_that_was_freed() -> None:
    assert faulted_shares(keep=True) < faulted_shares(keep=False) / 2
