"""Files of the workspace that the user wants drafts from though they are not open (``spec.workspace``)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from completiond.exclude.ignore_rule import Rule

__all__ = ["MAX_FILES", "find_files", "read_lines"]

log = logging.getLogger(__name__)

MAX_FILES = 1000
MAX_FOLDERS = 20_000
MAX_FILE_BYTES = 1_000_000


def find_files(
    folders: Sequence[str], globs: Sequence[str], may_read: Callable[[str], bool] = lambda path: True
) -> Iterator[Path | None]:
    """Regular files in ``folders`` that match one of ``globs`` (as in a .gitignore), MAX_FILES at most; in between,
    None for each folder that was looked into, so that whoever reads them can do something else.

    Links are not followed, and what ``may_read`` refuses is not entered. A folder that cannot be read is logged.
    """
    rules = [rule for glob in globs if (rule := Rule.parse(glob)) is not None]
    seen: set[str] = set()
    num_files = 0
    for folder in folders if rules else ():
        top = os.path.realpath(folder)
        wanted = {top: False}  # folders to come, and whether a rule names all that is in them
        for here, names, files in os.walk(top, onerror=lambda error: log.warning("Not read for drafts: %s", error)):
            all_of_it = wanted.pop(here)
            if here in seen:
                names.clear()
                continue
            seen.add(here)
            for name in sorted(files):
                path = os.path.join(here, name)  # noqa: PTH118 - many paths, few of them wanted
                if not (all_of_it or _matches(rules, top, path, False)) or not _is_plain(path) or not may_read(path):
                    continue
                if num_files == MAX_FILES:
                    log.warning("Only %d files of the workspace are drafted from", MAX_FILES)
                    return
                num_files += 1
                yield Path(path)
            if len(seen) == MAX_FOLDERS:
                log.warning("Only %d folders of the workspace were looked into", MAX_FOLDERS)
                return
            paths = {name: os.path.join(here, name) for name in sorted(names)}  # noqa: PTH118
            names[:] = [name for name, path in paths.items() if not os.path.islink(path) and may_read(path)]  # noqa: PTH114
            wanted |= {paths[name]: all_of_it or _matches(rules, top, paths[name], True) for name in names}
            yield None


def read_lines(path: Path) -> list[str] | None:
    """Its lines without their ends; None for what is nothing to draft from: not UTF-8 text, too large, or gone since it
    was found.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return None
        text = path.read_text(encoding="utf-8")  # any line end becomes a line feed
    except UnicodeDecodeError:
        return None
    except OSError as error:
        log.warning("Not read for drafts: %s", error)
        return None
    return None if "\0" in text else text.split("\n")


def _matches(rules: Sequence[Rule], top: str, path: str, is_folder: bool) -> bool:
    relative = os.path.relpath(path, top)
    return any(rule.matches(relative, is_folder) for rule in rules)


def _is_plain(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)  # noqa: PTH113, PTH114
