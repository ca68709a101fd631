"""Single keys from a terminal."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["single_keys"]


@contextmanager
def single_keys(fd: int) -> Iterator[Callable[[float], str]]:
    """Read keys of the terminal ``fd`` as they are pressed, without showing them; as before in the end.

    What is yielded waits up to so many seconds and returns what was typed, empty for nothing. Ctrl-C stays what it is.
    Raises EOFError when the terminal has gone.
    """
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)

    def read(timeout_s: float) -> str:
        ready, _, _ = select.select([fd], [], [], timeout_s)
        if not ready:
            return ""
        try:
            data = os.read(fd, 64)
        except OSError:  # the terminal has gone
            data = b""
        if not data:
            raise EOFError
        return data.decode(errors="replace")

    try:
        yield read
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
