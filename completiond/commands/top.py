"""``completiond top``: what the daemon does, as it does it."""

from __future__ import annotations

import signal
import sys
import time
from typing import Annotated, Any

import typer

from completiond.client import STATUS_TIMEOUT_S, Client, connect
from completiond.commands.errors import reports_errors
from completiond.paths import Paths

__all__ = ["top"]


@reports_errors
def top(
    interval_s: Annotated[
        float, typer.Option("--interval", min=0.1, max=3600.0, help="Seconds between two looks at the daemon.")
    ] = 1.0,
) -> None:
    """Show what the daemon does while it does it: q or Ctrl-C ends this. Where there is no terminal, once."""
    with connect(Paths.from_environment(), start=False, check_version=False) as client:
        if sys.stdin.isatty() and sys.stdout.isatty():
            _follow(client, interval_s)
        else:
            _show_once(client)


def _status(client: Client) -> dict[str, Any]:
    values: dict[str, Any] = client.call("completiond/status", {"why": True}, timeout_s=STATUS_TIMEOUT_S)
    return values


def _show_once(client: Client) -> None:
    from rich.console import Console

    from completiond.commands.top_view import top_view

    Console(soft_wrap=True, highlight=False).print(top_view(_status(client), None))


def _terminate(number: int, _frame: object) -> None:
    """End as the signal does, but with the terminal as it was."""
    sys.exit(128 + number)


def _follow(client: Client, interval_s: float) -> None:
    from rich.console import Console, Group
    from rich.live import Live

    from completiond.commands.keys import single_keys
    from completiond.commands.top_view import top_view

    signal.signal(signal.SIGTERM, _terminate)
    written: tuple[float, int] | None = None
    hint = f"[dim]every {interval_s:g} s · q ends this[/dim]"
    # Nothing is drawn but when there is something new, and the terminal is as it was in the end, however it comes.
    screen = Live(console=Console(highlight=False), screen=True, auto_refresh=False, vertical_overflow="crop")
    try:
        with single_keys(sys.stdin.fileno()) as keys, screen:
            while True:
                values = _status(client)
                now = (time.monotonic(), int(values.get("work", {}).get("written_tokens", 0)))
                rate = None if written is None else max(0, now[1] - written[1]) / max(now[0] - written[0], 1e-9)
                written = now
                screen.update(Group(hint, top_view(values, rate)), refresh=True)
                if "q" in keys(interval_s).lower():
                    return
    except (KeyboardInterrupt, EOFError):
        return  # Ctrl-C is a way to leave; a terminal that was closed is another
