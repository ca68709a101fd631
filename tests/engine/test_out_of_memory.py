"""Allocations that fail are told from other errors, wherever they happen."""

from __future__ import annotations

import errno

import pytest
import torch

from completiond.engine.out_of_memory import is_out_of_memory
from completiond.errors import MemoryFullError, ModelCorruptError

CUDA = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.79 GiB."


def caused(error: Exception, by: BaseException) -> Exception:
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (MemoryError("std::bad_alloc"), True),
        (torch.OutOfMemoryError(CUDA), True),
        (RuntimeError("unable to mmap 8388720 bytes from file </x>: Cannot allocate memory (12)"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (caused(ModelCorruptError("It cannot be read.", ""), OSError(errno.ENOMEM, "")), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("shape mismatch"), False),
        (ValueError("no room"), False),
        (MemoryFullError("There is not enough memory.", ""), False),
        (caused(ModelCorruptError("It cannot be read.", ""), OSError(errno.EIO, "")), False),
    ],
)
def test_each_kind(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_what_torch_raises_for_more_than_any_machine_has() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 58, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


def test_no_error_is_none() -> None:
    assert not is_out_of_memory(None)
