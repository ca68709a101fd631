"""A suggestion written as text; ``§`` is the cursor."""

from __future__ import annotations

from completiond.bench.places.suggestion import Suggestion


def suggest(marked: str, text: str, reference: str = "", file: str = "a.py") -> Suggestion:
    prefix, suffix = marked.split("§")
    return Suggestion(file, prefix, suffix, text, reference)
