"""Tests of what may not be read have to hold for root too, who may read everything: CI is root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def unprivileged_folder() -> Iterator[Path]:
    """A new folder of a user who is not root, which this process is meanwhile. (pytest's own folders are root's.)"""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        if user == 0:
            os.chown(name, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            os.seteuid(user)
