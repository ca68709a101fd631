"""SHA-256 of model files, and what was measured last time, so that a start need not read half a gigabyte."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["CHUNK_BYTES", "FileSpec", "file_problem", "measure_sha256", "record_sha256", "size_problem"]

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSpec:
    """What a file has to be: its ``name`` (a path relative to the model's folder), size in bytes, SHA-256 in hex."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Measurement:
    """The digest a file had while it had this size and modification time."""

    size_bytes: int
    mtime_ns: int
    sha256: str


def _sidecar(file: Path) -> Path:
    return file.with_name(f".{file.name}.digest.json")


def _recorded_sha256(file: Path) -> str | None:
    """The digest measured earlier, if the file has not been touched since."""
    try:
        record = _Measurement(**json.loads(_sidecar(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    info = file.stat()
    return record.sha256 if (record.size_bytes, record.mtime_ns) == (info.st_size, info.st_mtime_ns) else None


def measure_sha256(file: Path, on_bytes: Callable[[int], None] = lambda done_bytes: None) -> str:
    """Read the whole ``file``, leave a record of the result beside it, and return its SHA-256 in hex.

    The record holds whatever was measured, good or bad, so a bad file too is read only once. ``on_bytes`` is told the
    bytes read so far. Raises OSError when the file cannot be read.
    """
    info = file.stat()  # before reading: a file changed meanwhile no longer matches its record
    digest = hashlib.sha256()
    done_bytes = 0
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
            done_bytes += len(chunk)
            on_bytes(done_bytes)
    _record(file, _Measurement(info.st_size, info.st_mtime_ns, digest.hexdigest()))
    return digest.hexdigest()


def record_sha256(file: Path, sha256: str) -> None:
    """Leave the record that ``measure_sha256`` would, for a ``file`` whose bytes were hashed as they were written."""
    info = file.stat()
    _record(file, _Measurement(info.st_size, info.st_mtime_ns, sha256))


def _record(file: Path, measurement: _Measurement) -> None:
    # A cache folder that cannot be written costs a hash per start, nothing else; a torn record is read as none.
    with contextlib.suppress(OSError):
        _sidecar(file).write_text(json.dumps(asdict(measurement)), encoding="utf-8")


def size_problem(size_bytes: int, spec: FileSpec) -> str | None:
    """Why a file of ``size_bytes`` cannot be the one wanted, or None."""
    if size_bytes < spec.size_bytes:
        return f"truncated at {size_bytes:,} of {spec.size_bytes:,} bytes"
    if size_bytes > spec.size_bytes:
        return f"it has {size_bytes:,} bytes instead of {spec.size_bytes:,}"
    return None


def file_problem(
    file: Path, spec: FileSpec, *, reread: bool, on_bytes: Callable[[int], None] = lambda done_bytes: None
) -> str | None:
    """Why ``file`` is not the one wanted, or None when it is.

    With ``reread`` False an untouched file that was measured before is believed; otherwise its bytes are read.
    Raises OSError when the file is missing or cannot be read.
    """
    if problem := size_problem(file.stat().st_size, spec):
        return problem
    sha256 = (None if reread else _recorded_sha256(file)) or measure_sha256(file, on_bytes)
    return None if sha256 == spec.sha256 else f"its SHA-256 is {sha256} instead of {spec.sha256}"
