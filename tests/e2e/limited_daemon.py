"""``python -m tests.e2e.limited_daemon AS|DATA MEGABYTES``: ``completiond serve`` in a process that the kernel lets
have so much more than it has after its imports: of address space, which is reckoned with, or of data, which is not.

A test can lift the limit from outside: it is a soft one.
"""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

import completiond.complete.open_completer  # noqa: F401  (torch and all else that is large)
from completiond.__main__ import main
from completiond.complete.service import LocalService  # noqa: F401


def used_bytes(pid: int | str, name: str) -> int:
    """Of a process: ``VmSize`` is its address space, ``VmData`` its data."""
    found = re.search(rf"^{name}:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


if __name__ == "__main__":
    kind, megabytes = sys.argv[1:]
    kinds = {"AS": (resource.RLIMIT_AS, "VmSize"), "DATA": (resource.RLIMIT_DATA, "VmData")}
    limited, name = kinds[kind]
    resource.setrlimit(limited, (used_bytes("self", name) + (int(megabytes) << 20), resource.RLIM_INFINITY))
    sys.argv[1:] = ["serve"]
    main()
