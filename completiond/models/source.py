"""The contract of one place a model's file can come from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from completiond.errors import FetchError
from completiond.models.file_digest import FileSpec
from completiond.models.progress import Progress

__all__ = ["ANSWER_LIMIT_S", "Source", "SourceFailedError"]

ANSWER_LIMIT_S = 4.5
"""How long a source may stay silent. With the time to stop asking, an unreachable one costs at most 5 s."""


class SourceFailedError(FetchError):
    """One source did not answer or gave a wrong file; ``message`` is the reason. The next one is tried."""


class Source(Protocol):
    """One place a file can come from."""

    @property
    def label(self) -> str:
        """What the user is told: the kind of source and the name of the thing there."""

    def bytes_needed(self, spec: FileSpec, staging: Path) -> int:
        """Bytes this source would still write under ``staging``, at its peak."""

    def fetch(self, spec: FileSpec, staging: Path, progress: Progress) -> Path:
        """Leave the whole, checked file under ``staging`` and return its path.

        What is already there from an interrupted run is used. Raises SourceFailedError with the reason, or OSError
        when this machine cannot store it.
        """
