"""Source files out of a wheel, which is only ever a zip file here: nothing is written, installed or imported."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import Final

__all__ = ["read_sources"]

_MAX_MEMBER_BYTES: Final = 1_000_000
_MAX_TOTAL_BYTES: Final = 50_000_000
_MAX_MEMBERS: Final = 10_000


def read_sources(data: bytes) -> dict[str, str]:
    """Return the text of each ``.py`` file by its path.

    Passed over: links, paths that lead elsewhere, files that are damaged, encrypted, not UTF-8 or of more than 1 MB,
    all after the first 10,000 and all past 50 MB, and a second file of the same name. Raises ValueError when ``data``
    is no zip file.
    """
    texts: dict[str, str] = {}
    left_bytes = _MAX_TOTAL_BYTES
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ValueError(f"not a zip file ({error})") from error
    with archive:
        for member in archive.infolist()[:_MAX_MEMBERS]:
            if member.filename in texts or not _is_source(member):
                continue
            if member.file_size > min(_MAX_MEMBER_BYTES, left_bytes):
                continue
            try:
                # zipfile gives no more bytes than the size just checked
                content = archive.read(member)
                texts[member.filename] = content.decode("utf-8")
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError):
                continue
            left_bytes -= len(content)
    return texts


def _is_source(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    mode = member.external_attr >> 16  # zero when the archive was not made on Unix
    return (
        path.suffix == ".py"
        and str(path) == member.filename  # no empty or dot parts
        and not path.is_absolute()
        and ".." not in path.parts
        and not any(sign in member.filename for sign in "\\:")
        and (stat.S_IFMT(mode) in (0, stat.S_IFREG))
    )
