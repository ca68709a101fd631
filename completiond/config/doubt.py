"""What is followed as it is written, and was probably meant otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator

from completiond.config.language_names import doubtful_languages
from completiond.config.problem import shown, told_together
from completiond.config.setting import Setting, Value

__all__ = ["doubt_about"]


def doubt_about(setting: Setting, value: Value) -> str:
    """Sentences on what in ``value`` is probably a mistake, though none is sure to be; else empty."""
    if not isinstance(value, tuple):
        return ""
    if setting.name == ("completion", "disabled_languages") and (likely := doubtful_languages(value)):
        return f"{setting} may have misspelled {likely}. It counts as it is."
    if setting.name == ("exclude", "globs") and (doubts := list(_idle_patterns(value))):
        return f"{setting}: {told_together(doubts)}."
    return ""


def _idle_patterns(patterns: tuple[str, ...]) -> Iterator[str]:
    """What is to be said of those that change nothing."""
    from completiond.exclude.secret_names import is_secret_name  # late: few have any

    excludes_any = False
    for pattern in patterns:
        bare = pattern.removeprefix("!")
        if bare == pattern:
            excludes_any = True
        elif not excludes_any:
            yield f"{shown(pattern)} takes nothing back, since no pattern before it in the list excludes anything"
        elif is_secret_name(bare):
            yield f"{shown(pattern)} takes nothing back, since what looks like a secret is always left out"
        if bare.startswith("~") and "/" in bare and os.path.expanduser(bare) == bare:  # noqa: PTH111 - as Exclusions
            yield f"{shown(pattern)} is no folder of a user known here; write the path from /, or ~/ for your own"
