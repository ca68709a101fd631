"""A pickle that does something when it is read carelessly."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Malicious:
    """What it is unpickled to is the result of a call."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.file,)
