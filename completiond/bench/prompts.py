"""Prompts for checks and benchmarks: places in the Python standard library, the same on every run of one Python
version.
"""

from __future__ import annotations

import random
import sysconfig
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CodePlace", "code_places"]

MODULES = ("argparse", "ast", "calendar", "cmd", "configparser", "csv", "difflib", "fractions", "heapq", "shlex")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A cursor in a real file."""

    path: str
    prefix: str
    suffix: str


def code_places(count: int, seed: int = 0) -> list[CodePlace]:
    """``count`` places at or inside lines of MODULES, not near their ends."""
    randomness = random.Random(seed)
    folder = Path(sysconfig.get_path("stdlib"))
    places = []
    for index in range(count):
        file = folder / f"{MODULES[index % len(MODULES)]}.py"
        text = file.read_text(encoding="utf-8")
        line_start = text.index("\n", randomness.randrange(len(text) // 8, len(text) * 7 // 8)) + 1
        line_end = text.index("\n", line_start)
        offset = randomness.randrange(line_start, line_end + 1)
        places.append(CodePlace(str(file), text[:offset], text[offset:]))
    return places
