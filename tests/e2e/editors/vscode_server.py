"""A code-server for one test module: its own folders, our extension installed, ended with all its processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.e2e.editors.vscode_install import VSCodeTools

__all__ = ["vscode_server", "write_settings"]

START_S: Final = 120.0
OF_THE_MACHINE: Final = frozenset({"completiond.path"})
"""Settings with the scope of a machine: where VS Code serves a browser, they count in the server's file only."""


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Change settings of a server with this folder, each in the file that VS Code reads it from and watches."""
    for name in ("User", "Machine"):
        chosen = {key: value for key, value in settings.items() if (key in OF_THE_MACHINE) == (name == "Machine")}
        file = folder / "user" / name / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        if not file.exists() or before | chosen != before:
            file.write_text(json.dumps(before | chosen), encoding="utf-8")


@contextmanager
def vscode_server(
    tools: VSCodeTools, extension: Path, folder: Path, settings: Mapping[str, Any], env: Mapping[str, str]
) -> Iterator[str]:
    """Serve VS Code with an extension; ``folder`` is for its own files. Yields its URL, on this machine only."""
    user, extensions = folder / "user", folder / "extensions"
    write_settings(folder, settings)
    (folder / "config.yaml").write_text("", encoding="utf-8")
    program = [str(tools.node), str(tools.code_server), "--config", str(folder / "config.yaml")]
    program += ["--user-data-dir", str(user), "--extensions-dir", str(extensions)]
    # No gallery, so that nothing is looked up; a home of its own, so that nothing of the user's is read.
    environment = {**env, "EXTENSIONS_GALLERY": "{}", "HOME": str(folder)}
    subprocess.run(
        [*program, "--install-extension", str(extension)], env=environment, check=True, capture_output=True, timeout=120
    )
    port = _free_port()
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    options += ["--disable-workspace-trust", "--disable-getting-started-override"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*program, *options], env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            _wait_until_up(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            _end(process)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + START_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline_s and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError), opener.open(f"http://127.0.0.1:{port}/healthz"):
            return
        time.sleep(0.1)
    raise RuntimeError("code-server did not come up; see server.log in its folder")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its children, the extension host among them, are in its session's group."""
    for kind, wait_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        deadline_s = time.monotonic() + wait_s
        while time.monotonic() < deadline_s:
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
