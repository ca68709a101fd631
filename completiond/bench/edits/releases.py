"""Released source files, downloaded once into the user's cache folder.

Only wheels: pip builds a source archive to learn its metadata, even to download it, and that runs the archive's code.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from completiond.bench.edits.archive import read_sources
from completiond.bench.edits.catalogue import Release
from completiond.errors import FetchError, SourceUnreachableError
from completiond.models.child import Patience
from completiond.models.disk import disk_errors, require_space
from completiond.models.pip_download import download_wheel
from completiond.models.source import SourceFailedError
from completiond.paths import Paths

__all__ = ["read_release", "read_wheel"]

_ROOM_BYTES: Final = 16_000_000  # the largest of the catalogue's wheels has 2 MB, and pip keeps a second copy
_PATIENCE: Final = Patience(answer_s=30.0)  # nobody waits for a keystroke here


def read_release(release: Release, paths: Paths, on_step: Callable[[str], None] = lambda text: None) -> dict[str, str]:
    """Return the text of each source file of ``release`` by its path. Raises what ``read_wheel`` does."""
    try:
        return read_sources(read_wheel(release, paths, on_step))
    except ValueError as error:
        raise FetchError(
            f"{release.requirement} cannot be read: {error}.", "The release is not a wheel; please report this."
        ) from error


def read_wheel(release: Release, paths: Paths, on_step: Callable[[str], None] = lambda text: None) -> bytes:
    """Return a wheel's content; ``on_step`` is told when it is downloaded.

    A kept file that is no longer right is downloaded again. Raises SourceUnreachableError when the package index cannot
    be reached, DiskFullError, and FetchError when what came is not the file wanted.
    """
    folder = paths.cache_dir / "bench" / "releases"
    kept = folder / f"{release.project}-{release.version}.whl"
    what = f"Downloading {release.requirement}"
    with disk_errors(folder, what, lambda: _ROOM_BYTES):
        data = kept.read_bytes() if kept.exists() else b""
        if hashlib.sha256(data).hexdigest() != release.sha256:
            on_step(f"downloading {release.requirement}")
            require_space(folder, _ROOM_BYTES, what)
            folder.mkdir(parents=True, exist_ok=True)
            data = _download(release, kept)
    return data


def _download(release: Release, kept: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="pip-", dir=kept.parent, ignore_cleanup_errors=True) as folder:
        try:
            wheel = download_wheel(release.requirement, Path(folder), lambda count_bytes: None, _PATIENCE)
        except SourceFailedError as error:
            raise SourceUnreachableError(
                f"The releases whose edits are replayed cannot be downloaded: {error.message}.",
                "Check the network, or set PIP_INDEX_URL, HTTPS_PROXY or what else your pip needs, then run the same"
                f" again: what has arrived is kept in {kept.parent}.",
            ) from error
        data = wheel.read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != release.sha256:
            raise FetchError(
                f"{release.requirement} is not the file that was expected: its SHA-256 is {sha256} instead of"
                f" {release.sha256}.",
                "It was not used. The package index that pip is set up for has another file under this version.",
            )
        os.replace(wheel, kept)  # noqa: PTH105
    return data
