"""``completiond top``: in a terminal, at a daemon that runs, and what it shows."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from completiond.client import connect
from completiond.commands.top_view import top_view
from completiond.paths import Paths
from tests.commands.test_status_table import STATUS
from tests.e2e.harness import ROOT, TIMEOUT_S, environment, kill_daemon, temporary_paths

COMMAND = [sys.executable, "-m", "completiond", "top", "--interval", "0.1"]
RECENT: dict[str, Any] = {
    "ago_s": 61.0, "client": "Ed[red]", "document": "src/a.py", "line": 3, "column": 4, "lines": 1, "characters": 12,
    "served_from": "engine", "took_ms": 81.4, "reason": "eos", "meaning": "",
}  # fmt: skip


def shown(tokens_per_s: float | None = None, **changed: Any) -> str:
    console = Console(width=160)
    with console.capture() as capture:
        console.print(top_view({**STATUS, **changed}, tokens_per_s))
    return capture.get()


# What it shows


def test_figures_of_status_and_of_the_last_minute() -> None:
    latency = {
        "answers": 7, "tokens": 210, "prompt_tokens": 1000, "cached_tokens": 870,
        "ttft_ms": {"p50": 81.2, "p90": 120.0, "p99": 300.0}, "token_ms": {"p50": 12.0, "p90": 13.5, "p99": 20.0},
    }  # fmt: skip
    work = {"passes": 90, "computed_tokens": 4000, "written_tokens": 350}
    text = shown(23.456, latency=latency, work=work)
    for part in (
        "a-model", "ready", "3, 2 answered", "812 MB", "2 clients"[2:], "23.5 tokens/s", "350 tokens in 90 passes",
        "7 answers, 210 tokens", "p50 81.2 ms · p90 120.0 ms · p99 300.0 ms", "p50 12.0 ms · p90 13.5 ms · p99 20.0 ms",
        "1000 tokens, 87% of them read before",
    ):  # fmt: skip
        assert part in text


def test_acceptance_by_source_and_place() -> None:
    entries = [
        {"source": "ngram", "temperature": 0.0, "tried": [60, 30, *[9] * 9], "accepted": [45, 10, *[9] * 9]},
        {"source": "eagle", "temperature": 0.8, "tried": [4], "accepted": [1]},
        {"source": "idle", "temperature": 0.0, "tried": [0], "accepted": [0]},
    ]
    lines = [line.split() for line in shown(acceptance=entries).splitlines()]
    assert ["ngram", "0", "75%", "33%", *["100%"] * 6, "171"] in lines
    assert ["eagle", "0.8", "25%", "4"] in lines
    assert "idle" not in shown(acceptance=entries)


def test_the_last_requests() -> None:
    text = shown(recent=[RECENT, {**RECENT, "client": "", "document": "", "characters": 0, "reason": "off: x"}])
    assert ["1", "min", "Ed[red]", "src/a.py", "3:4", "12", "characters", "81", "ms", "eos"] in [
        line.split() for line in text.splitlines()
    ]
    assert "command line or plugin" in text
    assert "nothing" in text
    assert "off: x" in text


def test_an_older_daemon_tells_less() -> None:
    text = shown()
    assert "a-model" in text
    assert "last minute" not in text


# The program


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


@pytest.fixture
def daemon(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Paths:
    for name, value in environment(paths).items():
        monkeypatch.setenv(name, value)
    with connect(paths, start=True) as client:
        client.call("completiond/complete", {"prefix": ""})
    return paths


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, paths: Paths) -> None:
        self._terminal, self._program_side = pty.openpty()
        fcntl.ioctl(self._program_side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self.before = termios.tcgetattr(self._program_side)
        self.output = b""
        program_side = self._program_side
        self.process = subprocess.Popen(
            COMMAND, env=environment(paths, TERM="xterm-256color"), cwd=ROOT, start_new_session=True,
            stdin=program_side, stdout=program_side, stderr=program_side,
            preexec_fn=lambda: fcntl.ioctl(program_side, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.set_blocking(self._terminal, False)

    def read(self) -> None:
        with contextlib.suppress(OSError):  # nothing more has been written, or the program has ended
            while data := os.read(self._terminal, 65536):
                self.output += data

    def until(self, text: bytes, count: int = 1) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while self.output.count(text) < count:
            assert time.monotonic() < deadline_s, self.output
            assert self.process.poll() is None, self.output
            time.sleep(0.01)
            self.read()

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def end(self) -> int:
        deadline_s = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s, self.output
            time.sleep(0.01)
            self.read()
        self.read()
        return self.process.returncode

    @property
    def attributes(self) -> list[Any]:
        return termios.tcgetattr(self._program_side)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIMEOUT_S)
        os.close(self._terminal)
        os.close(self._program_side)


@pytest.fixture
def terminal(daemon: Paths) -> Iterator[Terminal]:
    terminal = Terminal(daemon)
    yield terminal
    terminal.close()


@pytest.mark.parametrize("keys", [b"q", b"xQ", b"\x03"])
def test_it_follows_the_daemon_until_a_key(terminal: Terminal, daemon: Paths, keys: bytes) -> None:
    terminal.until(b"1, 1 answered")
    with connect(daemon, start=False) as client:
        client.call("completiond/complete", {"prefix": ""})
    terminal.until(b"2, 2 answered", 2)
    terminal.press(keys)
    assert terminal.end() == 0
    assert terminal.attributes == terminal.before
    shown = terminal.output.decode()
    assert shown.index("\x1b[?1049h") < shown.index("fake-model") < shown.index("\x1b[?1049l")
    assert "Traceback" not in shown


def test_a_signal_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.until(b"fake-model")
    terminal.process.terminate()
    assert terminal.end() == 128 + signal.SIGTERM
    assert terminal.attributes == terminal.before
    assert terminal.output.decode().rstrip().endswith("\x1b[?25h\x1b[?1049l")


def test_a_daemon_that_ends_is_told_on_the_usual_screen(terminal: Terminal, daemon: Paths) -> None:
    terminal.until(b"fake-model")
    kill_daemon(daemon)
    assert terminal.end() == 1
    assert terminal.attributes == terminal.before
    last = terminal.output.decode().rpartition("\x1b[?1049l")[2]
    assert "completiond: The daemon went away before it answered." in last
    assert "Traceback" not in terminal.output.decode()


def test_without_a_terminal_it_shows_once(daemon: Paths) -> None:
    done = subprocess.run(COMMAND, env=environment(daemon), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("fake-model") == 1
    assert "1, 1 answered" in done.stdout
    assert "\x1b" not in done.stdout


def test_without_a_daemon(paths: Paths) -> None:
    done = subprocess.run(COMMAND, env=environment(paths), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 1
    assert done.stderr == "completiond: No daemon is running. `completiond serve` starts one; so does an editor.\n"
