"""Tiny wheels in a folder that the real pip takes for its only index, and catalogue entries that point to them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest

import completiond
from completiond.models.catalog import ModelEntry
from completiond.models.file_digest import FileSpec
from completiond.models.source import Source
from completiond.models.wheel_source import WheelPart, WheelParts
from completiond.paths import Paths

VERSION = "1.0"


class Recorder:
    """Keeps what a pull says."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.last_bytes = (0, 0)

    def step(self, text: str) -> None:
        self.steps.append(text)

    def bytes_done(self, done_bytes: int, total_bytes: int) -> None:
        self.last_bytes = (done_bytes, total_bytes)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_paths(folder: Path) -> Paths:
    return Paths(
        cache_dir=folder / "cache",
        config_dir=folder / "config",
        runtime_dir=folder / "runtime",
        state_dir=folder / "state",
    )


def gguf_parts(count: int = 3, size_bytes: int = 20_000) -> list[bytes]:
    """Pieces of a file that begins as GGUF does; incompressible."""
    noise = random.Random(7)
    parts = [noise.randbytes(size_bytes) for _ in range(count)]
    return [b"GGUF" + parts[0][4:], *parts[1:]]


def make_wheel(index: Path, project: str, data: bytes, number: int = 1, folder: str | None = None) -> Path:
    module = project.replace("-", "_")
    info = f"{module}-{VERSION}.dist-info"
    index.mkdir(parents=True, exist_ok=True)
    wheel = index / f"{module}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        # importing or installing it would be noticed
        archive.writestr(f"{module}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"{folder or module}/data/part{number:02}.bin", data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {VERSION}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def wheel_parts(parts: list[bytes], project: str = "tiny-model") -> WheelParts:
    return WheelParts(
        tuple(
            WheelPart(f"{project}-part{number}", VERSION, f"data/part{number:02}.bin", len(data), sha256(data))
            for number, data in enumerate(parts, start=1)
        )
    )


def make_index(index: Path, parts: list[bytes], project: str = "tiny-model") -> None:
    for number, data in enumerate(parts, start=1):
        make_wheel(index, f"{project}-part{number}", data, number)


def make_entry(data: bytes, *sources: Source, name: str = "tiny") -> ModelEntry:
    return ModelEntry(
        name, "for a test", "Apache-2.0", True, FileSpec(f"{name}.gguf", len(data), sha256(data)), sources
    )


def use_catalogue(monkeypatch: pytest.MonkeyPatch, *entries: ModelEntry) -> None:
    monkeypatch.setattr("completiond.models.catalog.CATALOGUE", MappingProxyType({e.name: e for e in entries}))


def use_index(monkeypatch: pytest.MonkeyPatch, index: Path) -> None:
    """Make ``index`` all that pip knows."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))


def use_index_url(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Make the server at ``url`` all that pip knows."""
    use_index(monkeypatch, Path())
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", url)


@contextlib.contextmanager
def silent_server() -> Iterator[str]:
    """The address of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def unused_url() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


_PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from types import MappingProxyType
from completiond.errors import CompletiondError
from completiond.models import catalog
from completiond.models.catalog import *
from completiond.models.file_digest import *
from completiond.models.fetch import pull
from completiond.models.wheel_source import *
from completiond.paths import Paths

entry = {entry!r}
limit_bytes, die_at, cache = {limit_bytes!r}, {die_at!r}, Path({cache!r})
catalog.CATALOGUE = MappingProxyType({{entry.name: entry}})
if limit_bytes:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

class Progress:
    def step(self, text):
        print(text, flush=True)
        if die_at and die_at in text:
            os.kill(os.getpid(), signal.SIGKILL)
    def bytes_done(self, done_bytes, total_bytes):
        pass

try:
    pull(entry.name, Paths(cache, cache, cache, cache), Progress())
except CompletiondError as error:
    print(type(error).__name__, error)
    sys.exit(3)
"""


def start_pull(entry: ModelEntry, paths: Paths, *, limit_bytes: int = 0, die_at: str = "") -> subprocess.Popen[str]:
    """Pull ``entry`` in another process: with RLIMIT_FSIZE, or killed (-9) at a step whose text contains ``die_at``."""
    program = _PROGRAM.format(entry=entry, limit_bytes=limit_bytes, die_at=die_at, cache=str(paths.cache_dir))
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(completiond.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
