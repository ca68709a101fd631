"""What a long operation tells whoever waits for it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["SILENT", "Progress"]


class Progress(Protocol):
    """Told what goes on; may raise to stop it (what has arrived is kept)."""

    def step(self, text: str) -> None:
        """One line about what begins now, or about what failed."""

    def bytes_done(self, done_bytes: int, total_bytes: int) -> None:
        """So much of the present file is here, or has been checked."""


class _Silent:
    def step(self, text: str) -> None:
        return

    def bytes_done(self, done_bytes: int, total_bytes: int) -> None:
        return


SILENT: Progress = _Silent()
