"""What is said of a command line that cannot be: as of any other error, in one line and with what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "completiond", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("arguments", "what", "where"),
    [
        (["complete", "--foo"], "No such option: --foo", "completiond complete --help"),
        (["--foo"], "No such option: --foo", "completiond --help"),
        (["complte"], "No such command 'complte'. Did you mean 'complete'?", "completiond --help"),
        (["config", "shw"], "No such command 'shw'. Did you mean 'show'?", "completiond config --help"),
        (["complete"], "Missing argument 'file'.", "completiond complete --help"),
        (["complete", "a.py", "--line", "x"], "Invalid value for '--line': ", "completiond complete --help"),
        (["status", "more"], "unexpected extra argument", "completiond status --help"),
    ],
)
def test_a_wrong_use_is_one_line_with_what_to_do(arguments: list[str], what: str, where: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("completiond: ")
    assert what in line
    assert line.endswith(f"{where}` says what there is.")


@pytest.mark.parametrize("arguments", [[], ["config"]])
def test_without_a_command_there_is_help(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (2, "")
    assert "Commands" in done.stdout


def test_other_ends_keep_their_status() -> None:
    assert run("--version").returncode == 0
    assert run("config", "path").returncode == 0
    done = run("speedup", "--acceptance", "7")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
