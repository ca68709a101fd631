"""Programs that misbehave: none of them passes, and none of them does what it meant to."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from completiond.bench.fim import sandbox_child
from completiond.bench.fim.sandbox import Limits, run_program
from completiond.errors import CompletiondError


@pytest.mark.parametrize(
    "program",
    [
        "assert sum(range(5)) == 10",
        "import math, re, hashlib, collections, itertools, functools, typing, heapq, string, random, datetime, decimal",
        "print('x' * 10_000_000)",
        "open('kept', 'w').write('x'); assert open('kept').read() == 'x'",
        "if __name__ == '__main__': raise ValueError('as where HumanEval is run, it is not')",
    ],
)
def test_what_gets_to_its_end_passes(program: str) -> None:
    assert run_program(program) == "passed"


@pytest.mark.parametrize(
    "program",
    [
        "assert sum(range(5)) == 11",
        "def f(:",
        "'\\0'\0",
        "'\ud800'",
        "raise KeyboardInterrupt",
        "import sys; sys.exit(0)",
        "raise SystemExit",
        "import os; os._exit(0)",
        "import os; os.write(1, b'ready\\n'); os._exit(0)",
        "import atexit, sys; atexit.register(print, 'fine'); sys.exit()",
        "input()",
        "def f(): f()\nf()",
        "open('big', 'w').write('x' * 2_000_000)",
        "import rich",
        "import completiond",
    ],
)
def test_what_does_not_get_there_fails(program: str) -> None:
    assert run_program(program) == "failed"


@pytest.mark.parametrize(
    ("program", "limits"),
    [
        ("while True: pass", Limits(cpu_s=1)),
        ("while True:\n    try:\n        while True: pass\n    except BaseException: pass", Limits(cpu_s=1)),
        ("import time; time.sleep(600)", Limits(wall_s=2)),
    ],
)
def test_what_takes_too_long_is_ended(program: str, limits: Limits) -> None:
    assert run_program(program, limits) == "timeout"


def test_what_the_kernel_is_told() -> None:
    program = """
import resource as r
assert r.getrlimit(r.RLIMIT_CPU) == (3, 4)
assert r.getrlimit(r.RLIMIT_AS) == (1 << 29, 1 << 29)
assert r.getrlimit(r.RLIMIT_FSIZE) == (5, 5)
assert r.getrlimit(r.RLIMIT_NPROC) == (0, 0)
try:
    r.setrlimit(r.RLIMIT_CPU, (4, 4))
except OSError:
    pass
else:
    raise AssertionError("raised")
"""
    assert run_program(program, Limits(cpu_s=3, memory_bytes=1 << 29, file_bytes=5)) == "passed"


def test_memory_is_limited() -> None:
    hog = "data = bytearray(600_000_000)"
    assert run_program(hog, Limits(memory_bytes=300_000_000)) == "failed"
    assert run_program(hog, Limits(memory_bytes=2_000_000_000)) == "passed", "it is the limit that stops it"


FORKS = """
import os, time
started = 0
for _ in range(20):
    try:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        started += 1
    except OSError:
        pass
assert started == 0, started
"""
BEHIND_THE_HOOK = """
from multiprocessing.util import spawnv_passfds  # the one way to start a process that no audit event tells of
try:
    spawnv_passfds(b"/bin/sleep", [b"sleep", b"30"], [])
except OSError:
    pass
else:
    raise AssertionError("started")
"""
THREADS = """
import threading
try:
    threading.Thread(target=print).start()
except (OSError, RuntimeError):
    pass
else:
    raise AssertionError("started")
"""


@pytest.mark.parametrize("program", [FORKS, BEHIND_THE_HOOK, THREADS])
def test_no_process_is_started(program: str) -> None:
    assert run_program(program) == "passed", "its own assertion: nothing was started"


def test_a_fork_bomb_ends() -> None:
    assert run_program("import os\nwhile True: os.fork()") == "failed"
    assert run_program("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", Limits(1)) == "timeout"


@pytest.mark.parametrize(
    "program",
    [
        "open({0!r}, 'w').write('changed')",
        "open({0!r}, 'r+').write('changed')",
        "import os; os.write(os.open({0!r}, os.O_WRONLY), b'changed')",
        "import os; os.remove({0!r})",
        "import os; os.rename({0!r}, 'mine')",
        "import os; os.truncate({0!r}, 0)",
        "import os; os.symlink({0!r}, 'link'); open('link', 'w').write('changed')",
        "import os; os.chdir('/'); open({0!r}[1:], 'w').write('changed')",
        "import shutil, os; shutil.rmtree(os.path.dirname({0!r}))",
        "import pathlib; pathlib.Path({0!r}).write_text('changed')",
        "import sqlite3; sqlite3.connect({0!r})",
        "import subprocess; subprocess.run(['rm', {0!r}], check=True)",
        "import os; os.system('rm ' + {0!r})",
        "import os; os.execv('/bin/rm', ['rm', {0!r}])",
        "import ctypes; ctypes.CDLL(None).unlink({0!r}.encode())",
        "open({0!r} + '.new', 'w')",
    ],
)
def test_nothing_is_written_outside(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        file = Path(folder) / "file"
        file.write_text("as it was")
        file.chmod(0o666)
        assert run_program(program.format(str(file))) == "failed"
        assert file.read_text() == "as it was"
        assert os.listdir(folder) == ["file"]  # noqa: PTH208


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run_program("open('kept', 'w').write('x')") == "passed"
    assert run_program("open('kept', 'w').write('x'); while True: pass") == "failed"
    assert list(tmp_path.iterdir()) == []


def test_it_knows_nothing_of_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    program = """
import os
assert set(os.environ) <= {"HOME", "TMPDIR", "LANG", "PATH", "LC_CTYPE"}, os.environ
assert os.environ["HOME"] == os.environ["TMPDIR"] == os.getcwd()
assert os.listdir() == []
"""
    assert run_program(program) == "passed"
    assert run_program("import os; os.environ['API_TOKEN']") == "failed"
    assert run_program("import os; open(f'/proc/{os.getppid()}/environ', 'rb').read()") == "failed"


def test_nothing_is_read_outside(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    assert run_program(f"open({str(secret)!r}).read()") == "failed"
    assert run_program("open('/etc/passwd').read()") == "failed"


def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = server.getsockname()
        assert run_program(f"import socket; socket.create_connection({address!r})") == "failed"
        assert run_program(f"import urllib.request as r; r.urlopen('http://127.0.0.1:{address[1]}')") == "failed"
        with pytest.raises(BlockingIOError):
            server.accept()
    assert run_program("import socket; socket.socket()") == "failed", "not even tried"


LEAVES = """
import sys
from completiond.bench.fim import sandbox_child as child
sys.exit(not (child._unshare(child._CLONE_NEWNET) or child._unshare(child._CLONE_NEWUSER | child._CLONE_NEWNET)))
"""


@pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", LEAVES]).returncode != 0,
    reason="the kernel lets the sandbox leave neither way: then the audit hook alone refuses the network",
)
def test_the_kernel_has_no_network_for_it_either() -> None:
    ours = os.readlink("/proc/self/ns/net")  # noqa: PTH115
    assert run_program(f"import os; assert os.readlink('/proc/self/ns/net') != {ours!r}") == "passed"


def test_others_are_not_killed() -> None:
    assert run_program(f"import os; os.kill({os.getpid()}, 9)") == "failed"
    assert run_program("import os; os.kill(-1, 9)") == "failed"


def _instead_of_the_child(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / "child.py"
    script.write_text(text)
    monkeypatch.setattr(sandbox_child, "__file__", str(script))


def test_all_of_the_group_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a program did start another, which holds on to the pipes."""
    note = tmp_path / "pid"
    forks = f"if not os.fork():\n    open({str(note)!r}, 'w').write(f'{{os.getpid()}}\\n')"
    _instead_of_the_child(f"import os, time\n{forks}\ntime.sleep(600)", tmp_path, monkeypatch)
    assert run_program("", Limits(wall_s=5)) == "timeout"
    pid = int(note.read_text())
    for _ in range(100):  # killed is not yet gone
        if not _runs(pid):
            break
        time.sleep(0.1)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_sandbox_that_cannot_be_made_is_no_failed_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _instead_of_the_child("import sys; sys.exit('no such limit')", tmp_path, monkeypatch)
    with pytest.raises(CompletiondError, match="Programs cannot be tried out here: no such limit"):
        run_program("")
