"""The commands that start, end and look at the daemon, and the one that editors start."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from completiond.api.token import http_token
from completiond.client import STATUS_TIMEOUT_S, connect
from completiond.commands.errors import reports_errors
from completiond.commands.recent_lines import recent_lines
from completiond.commands.settings import follow_settings
from completiond.config import Problem
from completiond.config.http_address import HttpAddress
from completiond.errors import DaemonError, DaemonUnreachableError, UsageError
from completiond.lock import holder_pid
from completiond.paths import Paths

if TYPE_CHECKING:
    from completiond.complete.request import ServiceState
    from completiond.config.settings import Settings
    from completiond.lsp.host import ManagedService

__all__ = ["freeze_when_ready", "lsp", "serve", "status", "stop", "token"]

log = logging.getLogger(__name__)

_STOP_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.02


@reports_errors
def serve(
    model: Annotated[str | None, typer.Option(help="Run this model instead of the configured one.")] = None,
    http: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Serve HTTP at this address of this machine too, 127.0.0.1:8012."),
    ] = None,
) -> None:
    """Run the daemon in this terminal until Ctrl-C or `completiond stop`. Editors start one themselves."""
    from completiond.daemon import run_daemon
    from completiond.logs import configure_logging

    configure_logging()
    paths = Paths.from_environment()
    settings = follow_settings(paths, model, _log, _address(http))

    async def run() -> None:
        await run_daemon(lambda: _local_service(settings, paths), paths, settings)
        _exit_now(0)

    asyncio.run(run())


@reports_errors
def lsp(
    standalone: Annotated[bool, typer.Option(help="Load the model in this process, without a daemon.")] = False,
) -> None:
    """Be a language server on standard input and output: the command to configure in an editor."""
    paths = Paths.from_environment()
    if not standalone:
        from completiond.lsp.shim import run_shim

        raise typer.Exit(run_shim(paths))
    from completiond.logs import configure_logging
    from completiond.lsp.standalone import run_standalone

    configure_logging(logging.WARNING)  # editors show what a language server writes to standard error as errors
    settings = follow_settings(paths, report=_log)

    async def run() -> None:
        _exit_now(await run_standalone(lambda: _local_service(settings, paths), settings))

    asyncio.run(run())


@reports_errors
def stop() -> None:
    """End the daemon, if one is running."""
    paths = Paths.from_environment()
    pid = holder_pid(paths.lock)
    try:
        with connect(paths, start=False, check_version=False) as client:
            client.call("completiond/stop", timeout_s=STATUS_TIMEOUT_S)
            client.wait_until_closed(_STOP_TIMEOUT_S)
    except DaemonUnreachableError:
        if not pid:
            typer.echo("No daemon is running.")
            return
        os.kill(pid, signal.SIGTERM)  # it holds the lock, but does not answer
    deadline_s = time.monotonic() + _STOP_TIMEOUT_S
    while pid is not None and holder_pid(paths.lock) in (pid, 0):  # 0: about to let go
        if time.monotonic() > deadline_s:
            os.kill(pid, signal.SIGKILL)  # it is stuck or stopped; nothing is lost but its warm model
            deadline_s += _STOP_TIMEOUT_S
        time.sleep(_POLL_S)
    typer.echo(f"Stopped the daemon, process {pid}." if pid else "Stopped the daemon.")


@reports_errors
def token() -> None:
    """Print what HTTP clients over TCP have to send: Authorization: Bearer TOKEN."""
    paths = Paths.from_environment()
    paths.make_runtime_dir()
    typer.echo(http_token(paths))


@reports_errors
def status(
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Show the last requests instead (with --json: besides), newest first: who asked where, what was shown,"
            " and why that or nothing.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what the daemon is doing. Exit status 1 if none is running."""
    try:
        with connect(Paths.from_environment(), start=False, check_version=False) as client:
            values: dict[str, Any] = client.call("completiond/status", {"why": why}, timeout_s=STATUS_TIMEOUT_S)
    except DaemonUnreachableError:
        typer.echo(json.dumps({"phase": "not running"}) if as_json else "not running")
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps(values))
    elif why:
        if "recent" not in values:
            raise DaemonError(
                "The daemon that runs is too old to say why.",
                "`completiond stop` ends it; the next command or editor starts the right one.",
            )
        for line in recent_lines(values["recent"]):
            typer.echo(line)
        if not values["recent"]:
            typer.echo("No request has ended yet.")
    else:
        from rich.console import Console

        from completiond.commands.status_table import status_table

        Console(soft_wrap=True, highlight=False).print(status_table(values))


def _address(http: str | None) -> str | None:
    """``http`` if it can be listened on; here, a wrong one is not passed over."""
    try:
        return http and str(HttpAddress.parse(http))
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def _log(problem: Problem) -> None:
    log.warning("%s", problem)


def _local_service(settings: Settings, paths: Paths) -> ManagedService:
    from completiond.complete.service import LocalService  # late: the socket is open by now

    service = LocalService(settings.config, paths, settings)
    service.subscribe(freeze_when_ready)
    return service


def freeze_when_ready(state: ServiceState) -> None:
    """What lives as long as the model is not looked through for garbage again and again: that takes 0.1 s, at a key."""
    if state.phase == "ready" and not state.is_released:
        gc.collect()
        gc.freeze()


def _exit_now(exit_status: int) -> NoReturn:
    """End the process without waiting for threads, as asyncio.run does: the engine's may be deep inside torch."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_status)
