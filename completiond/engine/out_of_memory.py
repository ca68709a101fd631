"""Telling an allocation that failed from other errors. Without torch: the event loop's side asks too."""

from __future__ import annotations

import errno

from completiond.errors import CompletiondError

__all__ = ["MEMORY_ADVICE", "is_out_of_memory"]

MEMORY_ADVICE = "Close other programs, or choose a smaller model: `completiond model list`."

_TEXTS = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "bad_alloc",
    "could not create a primitive",
)
"""What torch's allocators, oneDNN and safetensors write; their errors are of no class of their own on a CPU."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether ``error``, or what it was raised from, is an allocation that failed, in main memory or on a GPU."""
    while error is not None:
        is_foreign = not isinstance(error, CompletiondError)
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if is_foreign and any(text in str(error).lower() for text in _TEXTS):
            return True
        error = error.__cause__
    return False
