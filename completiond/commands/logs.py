"""``completiond logs``: what the daemon has written down."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Final

import typer

from completiond.commands.errors import reports_errors
from completiond.errors import DaemonError
from completiond.log_line import LogLine
from completiond.paths import Paths

__all__ = ["LogLevel", "logs"]

_POLL_S: Final = 0.2


class LogLevel(StrEnum):
    """From least to most serious."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_SERIOUSNESS: Final = {name: number for number, name in enumerate([*LogLevel, "critical"])}


@reports_errors
def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is logged, until Ctrl-C.")] = False,
    level: Annotated[LogLevel, typer.Option(help="Leave out what is less serious.")] = LogLevel.DEBUG,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many at most; 0: all.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print lines as they are in the log.")] = False,
) -> None:
    """Show the log of the daemon that was last started in the background. It has none of your code in it."""
    paths = Paths.from_environment()
    paths.make_runtime_dir()  # so as not to print what somebody else has planted
    file = paths.log_file
    try:
        with _open(file) as log:
            wanted = (line for line in log if _is_wanted(line, level))
            for line in deque(wanted, maxlen=lines or None):
                _print(line, as_json)
            if follow:
                for line in _new_lines(log, file):
                    if _is_wanted(line, level):
                        _print(line, as_json)
    except FileNotFoundError:
        raise DaemonError(
            f"There is no log: {file} does not exist.",
            "A daemon that an editor or a command starts writes it; `completiond serve` writes to its own terminal.",
        ) from None
    except KeyboardInterrupt:
        if not follow:
            raise  # else it is the way to end this


def _open(file: Path) -> IO[str]:
    return os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), encoding="utf-8", errors="replace")


def _is_wanted(line: str, level: LogLevel) -> bool:
    """What is no entry of ours has no level, and may be what matters: the last words of a process that died."""
    found = LogLine.parse(line).level
    return not found or _SERIOUSNESS.get(found, len(_SERIOUSNESS)) >= _SERIOUSNESS[level]


def _print(line: str, as_json: bool) -> None:
    typer.echo(line.rstrip("\n") if as_json else str(LogLine.parse(line)))


def _new_lines(log: IO[str], file: Path) -> Iterator[str]:
    """Lines as they come, each when it is whole; of the next file too, when a daemon begins one."""
    half = ""
    with contextlib.ExitStack() as opened:
        while True:
            while line := log.readline():
                half += line
                if half.endswith("\n"):
                    yield half
                    half = ""
            if _is_another(log, file):
                if half:
                    yield half
                    half = ""
                opened.close()
                log = opened.enter_context(_open(file))
            else:
                time.sleep(_POLL_S)


def _is_another(log: IO[str], file: Path) -> bool:
    try:
        return not os.path.samestat(file.stat(), os.fstat(log.fileno()))
    except FileNotFoundError:
        return False  # put aside, and the next is not there yet
