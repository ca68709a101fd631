"""The user's settings, narrowed by the files of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from completiond.config.repository_file import RepositoryFile
from completiond.config.repository_rules import REPOSITORY_FILE, narrowed
from completiond.config.resolve import Resolved, config_of
from completiond.config.setting import Name, Value, all_settings

__all__ = ["excluded_by", "narrow"]

_BY_RULES: Name = ("exclude", "globs")
"""Relative to the repository's folder, not to the editor's: ``RepositoryExclusions`` follows them."""


def narrow(users: Resolved, files: Sequence[RepositoryFile]) -> Resolved:
    """``files``: the outermost first. Of numbers the nearest counts, unless the user's is smaller; lists add up; what
    is switched off by one is off.
    """
    values: dict[Name, Value] = {name: users[name] for name in all_settings()}
    origins = dict(users.origins)
    for setting in all_settings().values():
        found = [file.layer.values[setting.name] for file in files if setting.name in file.layer.values]
        if not found or setting.name == _BY_RULES:
            continue
        for value, origin in found if isinstance(found[0][0], tuple) else found[-1:]:
            new = narrowed(setting, values[setting.name], value)
            if new != values[setting.name]:
                values[setting.name], origins[setting.name] = new, origin
    return Resolved(config_of(values), origins)


def excluded_by(files: Sequence[RepositoryFile]) -> list[tuple[str, tuple[str, ...]]]:
    """The patterns of ``files``, each with its file."""
    found = []
    for file in files:
        patterns = file.layer.values.get(_BY_RULES)
        if patterns is not None and isinstance(patterns[0], tuple):
            found.append((str(Path(file.folder, REPOSITORY_FILE)), patterns[0]))
    return found
