"""How the program ends that cannot do what it was asked: one line on standard error and an exit status."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

import typer

from completiond.errors import CompletiondError

__all__ = ["INTERRUPTED_STATUS", "fail", "reports_errors", "run_program"]

INTERRUPTED_STATUS = 130
"""What a shell reports for a program ended by Ctrl-C."""

# Every kind of usage error; typer shows one of them only, and has taken them from click and from a copy of its own.
_WRONG_USE: Final[type[Any]] = typer.BadParameter.__bases__[0]
_P = ParamSpec("_P")
_R = TypeVar("_R")


def fail(text: str, exit_status: int) -> typer.Exit:
    """Write ``completiond: text`` as one line to standard error; raise what is returned."""
    typer.echo(f"completiond: {' '.join(text.split())}", err=True)
    return typer.Exit(exit_status)


def _give_up_full_output() -> None:
    """If standard output takes nothing more, drop what is left, or the interpreter complains at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reports_errors(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a command: any CompletiondError or Ctrl-C becomes one line and an exit status, without a traceback.

    Goes below ``@app.command()``. Any other exception is a bug and passes through.
    """

    @functools.wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return command(*args, **kwargs)
        except CompletiondError as error:
            raise fail(str(error), error.exit_status) from None
        except OSError as error:  # a full disk, a closed output: never a traceback
            _give_up_full_output()
            raise fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.", 1) from None
        except KeyboardInterrupt:
            raise fail("interrupted.", INTERRUPTED_STATUS) from None

    return run


def run_program(app: typer.Typer) -> NoReturn:
    """Run the command in ``sys.argv``. An option or a command that there is not ends as any other error does."""
    try:
        exit_status = app(standalone_mode=False)
    except _WRONG_USE as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # typer has printed the help
            sys.exit(error.exit_code)
        what = error.format_message()
        what = what if what.endswith((".", "?")) else f"{what}."
        where = error.ctx.command_path if error.ctx is not None else "completiond"
        sys.exit(fail(f"{what} `{where} --help` says what there is.", error.exit_code).exit_code)
    sys.exit(exit_status or 0)
