"""Files of a run, which may be broken off at any time and meets full disks: each appears whole or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch

__all__ = ["checkpoint_bytes", "write_whole"]


def write_whole(file: Path, content: bytes | str) -> None:
    """Write ``file`` beside its place and move it there. Raises OSError, and leaves what was there."""
    partial = file.with_name(f"{file.name}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def checkpoint_bytes(state: dict[str, Any]) -> bytes:
    """``state`` as torch saves it; in memory first, as torch hides what a disk says in errors of its own."""
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()
