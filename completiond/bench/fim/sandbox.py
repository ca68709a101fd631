"""Run a program that a model wrote, and find out whether it gets to its end.

What holds it is made for the accidents of code that nobody has read, not for an attacker: an interpreter of its own in
isolated mode without installed packages, an empty folder, an empty environment, limits that the kernel keeps, no
network where the kernel can take it away, and an audit hook that refuses everything but computing, reading the
standard library and files in that folder (see ``sandbox_child.py``).
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from completiond.bench.fim import sandbox_child
from completiond.errors import CompletiondError

__all__ = ["Limits", "Outcome", "run_program"]

Outcome = Literal["passed", "failed", "timeout"]
"""
``passed``   the program's last statement was executed
``failed``   it raised something, exited, or was killed for anything but time
``timeout``  it took too much time
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """``cpu_s`` of processor time and ``wall_s`` of time; sizes are of the address space and of any one file.

    Processes and threads: none but the program's own.
    """

    cpu_s: int = 5
    wall_s: int = 30
    memory_bytes: int = 1 << 30
    file_bytes: int = 1 << 20


_TIME_SIGNALS: Final = {-signal.SIGXCPU, -signal.SIGALRM}


def run_program(program: str, limits: Limits | None = None) -> Outcome:
    """Run ``program``; nothing of it is left when this returns. Raises CompletiondError where no sandbox can be made.

    A program passes by reaching its end, not by its exit status: the child then repeats a token that the program was
    not told.
    """
    limits = limits or Limits()
    token = secrets.token_hex(16)
    order = json.dumps({"program": program, "token": token, **asdict(limits)}).encode()
    with tempfile.TemporaryDirectory(prefix="completiond-fim-", ignore_cleanup_errors=True) as folder:
        if os.geteuid() == 0:  # whom the child will not stay, if it can be nobody
            with suppress(OSError):
                os.chown(folder, sandbox_child.NOBODY, sandbox_child.NOBODY)
        output, errors, exit_status = _run(order, folder, limits.wall_s)
    if not output.startswith(sandbox_child.READY) and exit_status is not None:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise CompletiondError(
            f"Programs cannot be tried out here: {lines[-1] if lines else f'exit status {exit_status}'}.",
            "Please report this.",
        )
    if exit_status == 0 and output == sandbox_child.READY + token.encode():
        return "passed"
    return "timeout" if exit_status is None or exit_status in _TIME_SIGNALS else "failed"


def _run(order: bytes, folder: str, wall_s: int) -> tuple[bytes, bytes, int | None]:
    """Standard output, standard error and exit status; None when the time was over."""
    # -S: what happens to be installed here must not decide whether an answer passes.
    command = (sys.executable, "-I", "-S", "-B", str(Path(sandbox_child.__file__)))
    environment = {"HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", "PATH": os.defpath}
    with subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            output, errors = process.communicate(order, timeout=wall_s)
        except subprocess.TimeoutExpired:
            return b"", b"", None
        finally:
            # Also after a good end: whatever it may have started goes with it. Its group has its own number.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return output, errors, process.returncode
