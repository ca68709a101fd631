"""``completiond page``: how a browser gets to the daemon's page."""

from __future__ import annotations

import os
import webbrowser
from html import escape
from pathlib import Path
from typing import Annotated, Final

import typer

from completiond.api.token import http_token
from completiond.client import STATUS_TIMEOUT_S, connect
from completiond.commands.errors import reports_errors
from completiond.commands.settings import read_settings
from completiond.errors import DaemonError, DaemonUnreachableError
from completiond.paths import Paths

__all__ = ["page"]

_ADVICE: Final = (
    'Set http = "127.0.0.1:0" below [api] in config.toml and run this again, or run'
    " `completiond serve --http 127.0.0.1:0`."
)


@reports_errors
def page(
    opens: Annotated[bool, typer.Option("--open", help="Open it in your browser, too.")] = False,
) -> None:
    """Print the address of the daemon's page: its state, a live editor, charts. Who has the address may use it."""
    paths = Paths.from_environment()
    url = _port_url(paths)
    paths.make_runtime_dir()
    # Browsers keep what is behind # to themselves: it is in no request, and the page takes it out of the address bar.
    address = f"{url}/#token={http_token(paths)}"
    typer.echo(address)
    if opens and not webbrowser.open(_door(paths.runtime_dir / "page.html", address).as_uri()):
        raise DaemonError("No browser could be started.", "Open the address above.")


def _port_url(paths: Paths) -> str:
    """Where the daemon serves HTTP; one is started only if it would. Raises DaemonError that says how to have it so."""
    is_wanted = bool(read_settings(paths).api.http)
    try:
        with connect(paths, start=is_wanted) as client:
            url: str | None = client.call("completiond/status", timeout_s=STATUS_TIMEOUT_S)["http"]
    except DaemonUnreachableError:
        if is_wanted:
            raise
        raise DaemonError("No daemon is running.", _ADVICE) from None
    if url is None:
        raise DaemonError("The daemon that runs has no port open.", f"`completiond stop` ends it. {_ADVICE}")
    return url


def _door(file: Path, address: str) -> Path:
    """``file``, which leads a browser to ``address``: a browser's command line can be read by other users."""
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as html:
        html.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">\n')
    return file
