"""``completiond logs``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from completiond.cli import app
from completiond.client import connect
from completiond.paths import Paths
from tests.e2e.harness import ROOT, TIMEOUT_S, environment, temporary_paths

COMMAND = [sys.executable, "-m", "completiond", "logs"]


def entry(message: str, level: str = "info") -> str:
    return (
        json.dumps({"time": "2030-01-02T03:04:05.006+00:00", "level": level, "logger": "a.b", "message": message})
        + "\n"
    )


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> Iterator[Paths]:
    with temporary_paths() as paths:
        for name, value in environment(paths).items():
            monkeypatch.setenv(name, value)
        paths.make_runtime_dir()
        yield paths


def shown(*options: str) -> list[str]:
    result = CliRunner().invoke(app, ["logs", *options])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_what_a_real_daemon_wrote(paths: Paths) -> None:
    with connect(paths, start=True) as client:
        client.call("completiond/complete", {"prefix": "SECRET", "path": "hash.py"})
        client.call("completiond/stop")
    lines = shown()
    assert any("INFO completiond.daemon: Listening on" in line for line in lines)
    assert "SECRET" not in paths.log_file.read_text()
    for line in shown("--json"):
        assert {"time", "level", "logger", "message"} <= json.loads(line).keys()


def test_less_serious_lines_are_left_out_and_lines_without_a_level_are_not(paths: Paths) -> None:
    paths.log_file.write_text(
        entry("one", "debug") + entry("two") + "Killed\n" + entry("three", "warning") + entry("four", "error")
    )
    assert [line.split()[-1] for line in shown()] == ["one", "two", "Killed", "three", "four"]
    assert [line.split()[-1] for line in shown("--level", "warning")] == ["Killed", "three", "four"]
    assert shown("--level", "error", "--lines", "1", "--json") == [entry("four", "error").strip()]
    assert shown("-n", "1")[0] == "2030-01-02T03:04:05.006+00:00 ERROR a.b: four"


def test_only_the_last_lines_unless_asked(paths: Paths) -> None:
    paths.log_file.write_text("".join(entry(str(number)) for number in range(150)))
    assert [len(shown()), len(shown("-n", "0")), len(shown("-n", "7"))] == [100, 150, 7]


def test_without_a_log(paths: Paths) -> None:
    result = CliRunner().invoke(app, ["logs", "--follow"])
    assert result.exit_code == 1
    assert str(paths.log_file) in result.stderr
    assert "completiond serve" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_log_that_is_a_link_is_not_followed(paths: Paths) -> None:
    (other := paths.runtime_dir / "other").write_text("not a log\n")
    paths.log_file.symlink_to(other)
    result = CliRunner().invoke(app, ["logs"])
    assert (result.exit_code, result.stdout) == (1, "")


def test_following_through_the_next_file_until_ctrl_c(paths: Paths) -> None:
    paths.log_file.write_text(entry("old"))
    process = subprocess.Popen(
        [*COMMAND, "--follow", "--level", "info"], env=environment(paths), cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    watchdog = threading.Timer(TIMEOUT_S, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline().endswith("old\n")
        with paths.log_file.open("a") as log:
            log.write(entry("hidden", "debug") + entry("new")[:20])
            log.flush()
            log.write(entry("new")[20:])
        assert process.stdout.readline().endswith("new\n")
        paths.log_file.replace(paths.log_file.with_suffix(".old.log"))
        paths.log_file.write_text(entry("next"))
        assert process.stdout.readline().endswith("next\n")
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, said, complained) == (0, "", "")
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def test_who_closes_the_pipe_gets_no_traceback(paths: Paths) -> None:
    paths.log_file.write_text("".join(entry("x" * 100) for _ in range(5000)))
    read, write = os.pipe()
    with os.fdopen(write, "wb") as output:
        process = subprocess.Popen(
            [*COMMAND, "-n", "0"], env=environment(paths), cwd=ROOT, stdout=output, stderr=subprocess.PIPE
        )
    os.read(read, 10)
    os.close(read)
    _, complained = process.communicate(timeout=TIMEOUT_S)
    assert b"Traceback" not in complained
