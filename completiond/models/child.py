"""A program that downloads for us, watched: it may be slow, but not silent.

Both kinds of source run as child processes: they can be stopped at any moment, even inside a name look-up that hangs.
"""

from __future__ import annotations

import errno
import os
import queue
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from completiond.models.disk import FULL_ERRNOS
from completiond.models.source import ANSWER_LIMIT_S, SourceFailedError

__all__ = ["ChildResult", "Patience", "run_child"]

_POLL_S = 0.1
_KEPT_LINES = 400
_ERRNO = re.compile(r"\[Errno (\d+)\]")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a child may take, in seconds, to each of its first signs of life. Once bytes arrive nothing is cut.

    ``answer_s`` counts from the start of the program, but leaves ``least_answer_s`` after its first line, because a
    busy machine that starts programs slowly is not the source's fault.
    """

    start_s: float = 60.0
    answer_s: float = ANSWER_LIMIT_S
    least_answer_s: float = 3.0
    first_byte_s: float = 20.0


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child ended: its exit status and the last lines it wrote (both streams)."""

    exit_status: int
    lines: tuple[str, ...]


def run_child(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    on_line: Callable[[str], bool],
    count_bytes: Callable[[], int],
    on_bytes: Callable[[int], None],
    patience: Patience,
) -> ChildResult:
    """Run ``command`` until it ends, or stop it when it stays silent too long.

    ``on_line`` gets each line and says whether it shows that the source has answered; ``count_bytes`` is what has
    arrived so far. Raises SourceFailedError when patience ends, OSError (no space, quota, too large) when the child met
    one, and whatever the callbacks raise. The child does not outlive this call, whatever ends it.
    """
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    started_s = time.monotonic()
    phase, deadline_s = "starting", started_s + patience.start_s
    with subprocess.Popen(
        command,
        env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,  # closes when we die, by which a child of ours notices
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            present_bytes = count_bytes()
            while process.poll() is None:
                for line in _available(lines):
                    kept.append(line)
                    if phase == "starting":
                        now_s = time.monotonic()
                        phase = "asking"
                        deadline_s = max(started_s + patience.answer_s, now_s + patience.least_answer_s)
                    if on_line(line) and phase == "asking":
                        phase, deadline_s = "answered", time.monotonic() + patience.first_byte_s
                count = count_bytes()
                if count != present_bytes:
                    phase, present_bytes = "receiving", count
                    on_bytes(count)
                if phase != "receiving" and time.monotonic() > deadline_s:
                    raise SourceFailedError(_silence(phase, patience))
        finally:
            process.kill()
        reader.join(timeout=1.0)
    for line in _available(lines):
        kept.append(line)
        on_line(line)
    result = ChildResult(process.returncode, tuple(kept))
    if result.exit_status != 0:
        _raise_if_full(result.lines)
    return result


def _forward(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    try:
        for line in stream:
            lines.put(line.rstrip())
    except ValueError:  # closed under us: the child was stopped
        return


def _available(lines: queue.SimpleQueue[str]) -> Iterator[str]:
    try:
        yield lines.get(timeout=_POLL_S)
        while True:
            yield lines.get_nowait()
    except queue.Empty:
        return


def _silence(phase: str, patience: Patience) -> str:
    if phase == "starting":
        return f"the program that downloads did not start within {patience.start_s:g} s"
    if phase == "asking":
        return f"no answer within {patience.answer_s:g} s"
    return f"it answered, but sent no data within {patience.first_byte_s:g} s"


def _raise_if_full(lines: Sequence[str]) -> None:
    """The child met a full disk: raise what it met, so that it is treated like our own."""
    for line in reversed(lines):
        for number in map(int, _ERRNO.findall(line)):
            if number in FULL_ERRNOS:
                raise OSError(number, os.strerror(number))
        # pip words this one without its number
        if os.strerror(errno.ENOSPC) in line:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
