"""One line of what ``completiond doctor`` reports."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``advice`` says what to do when it did not pass; a note never fails."""

    name: str
    passed: bool
    detail: str
    advice: str = ""
    note: bool = False
