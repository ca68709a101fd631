"""Where the editors that tests fetch are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import platformdirs

__all__ = ["FOLDER_VARIABLE", "CannotInstallError", "cache_folder"]

FOLDER_VARIABLE: Final = "EDITORS_FOR_TESTS"
"""The variable that names another one. Without the prefix of our own variables, which are settings."""


class CannotInstallError(Exception):
    """This machine cannot have the editor, and what to do about it."""


def cache_folder() -> Path:
    """A folder of the user's caches, or the one that the environment names."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_path("completiond"), "test-editors")
