"""What every benchmark prints: a table for people, then one last line of JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["print_report", "resident_mb"]


def print_report(table: Table, result: Mapping[str, Any], as_json: bool) -> None:
    """Print ``table`` (to standard error when only JSON is wanted on standard output) and ``result`` as the last
    line.
    """
    Console(stderr=as_json).print(table)
    typer.echo(json.dumps(result))


def resident_mb() -> float:
    """Resident memory of this process, in MB of 10^6 bytes (Linux), or its peak where /proc is missing."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
