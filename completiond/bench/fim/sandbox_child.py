"""The other side of ``sandbox.py``: gives up what it can, then runs a program. Alone in its interpreter; standard
library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

__all__ = ["NOBODY", "READY", "main"]

NOBODY: Final = 65534
READY: Final = b"ready\n"
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_PR_SET_KEEPCAPS: Final = 8
_CAPABILITY_VERSION_3: Final = 0x20080522
_CAP_DAC_OVERRIDE: Final = 1 << 1
_CAP_DAC_READ_SEARCH: Final = 1 << 2
_REFUSED: Final = (
    "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "signal.", "resource.", "fcntl.", "pty.", "sqlite3.",
    "syslog.", "_thread.", "winreg.",
)  # fmt: skip
"""Beginnings of audit events of what no solution needs."""
_HARMLESS: Final = frozenset(("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.putenv", "os.unsetenv"))
"""Of these; imports list folders."""
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Read an order from standard input, run its program, and write its token to standard output if that ends well."""
    order = json.loads(sys.stdin.buffer.read())
    report = os.dup(sys.stdout.fileno())
    has_no_network = _unshare(_CLONE_NEWNET)  # root needs no namespace of users for it, and must not be in one yet
    _drop_root()
    if not has_no_network:
        _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    _limit(order)
    os.write(report, READY)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    sys.addaudithook(_guard(os.curdir))
    try:
        exec(compile(order["program"], "program.py", "exec", dont_inherit=True), {"__name__": "program"})
    except BaseException:  # that it exits by itself is no success either
        os._exit(1)
    os.write(report, order["token"].encode())
    os._exit(0)


def _unshare(flags: int) -> bool:
    """Leave namespaces shared with other processes; False where the system has none, or does not let us."""
    try:
        return int(ctypes.CDLL(None).unshare(flags)) == 0
    except (OSError, AttributeError):
        return False


def _drop_root() -> None:
    """Become nobody: root has no limit of processes and may write anywhere.

    Where only root can read the standard library, being allowed to read everything is what is kept of it, or, if root
    does not have that either, root is what we stay.
    """
    if os.geteuid() != 0:
        return
    with suppress(OSError):  # in a namespace of users that has no nobody
        os.setgroups([])
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        can_read = os.access(os.__file__, os.R_OK, effective_ids=True)
        os.seteuid(0)
        os.setegid(0)
        if sys.platform == "linux":
            _become_nobody(can_read)
        elif can_read:
            os.setgid(NOBODY)
            os.setuid(NOBODY)


def _become_nobody(can_read: bool) -> None:
    """See capabilities(7)."""
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; the same of higher numbers
    libc.capget(header, sets)
    kept = 0 if can_read else next((one for one in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE) if sets[1] & one), None)
    if kept is None:
        return
    libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)) != 0:
        raise SystemExit("capabilities cannot be dropped")


def _limit(order: dict[str, Any]) -> None:
    for what, limit in (
        (resource.RLIMIT_CPU, order["cpu_s"]),
        (resource.RLIMIT_AS, order["memory_bytes"]),
        (resource.RLIMIT_FSIZE, order["file_bytes"]),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # macOS does not limit address spaces
            resource.setrlimit(what, (limit, limit + 1 if what == resource.RLIMIT_CPU else limit))
    signal.alarm(order["wall_s"])  # it ends even if nobody is left to kill it


def _guard(folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook, which nothing can take away again: files are written in ``folder`` only, and read there and in
    the standard library.
    """
    real, decode = os.path.realpath, os.fsdecode
    writable = (real(folder) + os.sep,)
    readable = (*writable, *(real(path) + os.sep for path in sys.path))  # -I -S: nothing but the standard library

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and not isinstance(arguments[0], int):
            path, flags = real(decode(arguments[0])), arguments[2]
            if not path.startswith(writable if flags & _WRITING else readable):
                raise PermissionError(f"{path} is out of bounds")
        elif event.startswith(_REFUSED) and event not in _HARMLESS:
            raise PermissionError(f"{event} is refused")

    return hook


if __name__ == "__main__":
    main()
