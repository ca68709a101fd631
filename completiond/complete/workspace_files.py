"""Files of the workspace that the user wants drafts from though they are not open (``spec.workspace``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["MAX_FILES", "find_files", "read_lines"]

MAX_FILES = 1000
MAX_FILE_BYTES = 1_000_000


def find_files(folders: Sequence[str], globs: Sequence[str]) -> Iterator[Path]:
    """Regular files inside of the folders that match, each once, in a stable order, MAX_FILES at most. No links, and
    nothing behind links.

    ``globs`` are relative to each folder, as ``src/**/*.py``. Folders that cannot be read have no files.
    """
    found: dict[Path, None] = {}
    for folder in folders:
        for pattern in globs:
            try:
                top = Path(folder).resolve()
                for path in sorted(top.glob(pattern)):
                    if path not in found and path.is_file() and path.resolve() == path:
                        found[path] = None
                        yield path
                        if len(found) == MAX_FILES:
                            return
            except OSError:
                continue


def read_lines(path: Path) -> list[str] | None:
    """Its lines without their ends; None for a file that is not UTF-8 text, too large, or gone."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return None
        text = path.read_text(encoding="utf-8")  # any line end becomes a line feed
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text.split("\n")
