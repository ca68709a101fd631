"""What of a repository's file may be followed: the one place that decides it, by what each setting's field declares."""

from __future__ import annotations

from typing import Any

from completiond.config.permission import Repository
from completiond.config.problem import shown, told_together
from completiond.config.setting import Setting, Value
from completiond.config.value import checked

__all__ = ["MAX_MEMBERS", "REPOSITORY_FILE", "allowed_trusted", "allowed_untrusted", "least_in_repository", "narrowed"]

REPOSITORY_FILE = ".completiond.toml"
MAX_MEMBERS = 256
"""Of a list in a repository's file: each pattern costs time for each file."""


def least_in_repository(setting: Setting) -> int:
    """The lower bound of a number there."""
    return max(setting.least, 1) if setting.repository is Repository.LIMIT else setting.least


def allowed_untrusted(setting: Setting, value: Any) -> Value:
    """The value, if any repository may set it. Raises ValueError that says why not."""
    if setting.repository is Repository.TRUSTED:
        raise ValueError(f"{setting} needs your trust in this file (`completiond trust`), and is ignored")
    return allowed_trusted(setting, value)


def allowed_trusted(setting: Setting, value: Any) -> Value:
    """The value, if a repository that the user trusts may set it. Raises ValueError that says why not."""
    rule = setting.repository
    if rule is Repository.NEVER:
        raise ValueError(f"{setting} cannot be set by a repository, and is ignored")
    found = (_checked_patterns if setting.name == ("exclude", "globs") else checked)(setting, value)
    if rule is Repository.LIMIT and isinstance(found, int) and found < least_in_repository(setting):
        raise ValueError(f"{setting} must be {setting.allowed(1)} in a repository (found {shown(value)})")
    if rule in (Repository.OFF, Repository.ON) and found is not (rule is Repository.ON):
        only = "true" if rule is Repository.ON else "false"
        raise ValueError(f"{setting} can only be set to {only} by a repository (found {shown(value)})")
    if isinstance(found, tuple) and len(found) > MAX_MEMBERS:
        raise ValueError(f"{setting} may have {MAX_MEMBERS} members in a repository (found {len(found)})")
    return found


def narrowed(setting: Setting, users: Value, repositorys: Value) -> Value:
    """What is in effect where the user and a repository both have a value, which has been allowed."""
    match setting.repository:
        case Repository.ADD | Repository.TRUSTED if isinstance(users, tuple) and isinstance(repositorys, tuple):
            return tuple(dict.fromkeys((*users, *repositorys)))
        case Repository.LOWER if isinstance(users, int) and isinstance(repositorys, int):
            return min(users, repositorys)
        case Repository.LIMIT if isinstance(users, int) and isinstance(repositorys, int):
            return min(users, repositorys) if users else repositorys
        case Repository.OFF | Repository.ON | Repository.TRUSTED:
            return repositorys
    return users


def _checked_patterns(setting: Setting, value: Any) -> Value:
    members = value if isinstance(value, list | tuple) else ()
    homes = [one for one in members if isinstance(one, str) and one.removeprefix("!").startswith("~")]
    wrong = [f"{pattern!r} names no file in the repository" for pattern in homes]
    try:
        found = checked(setting, value)
    except ValueError as error:
        raise ValueError(told_together([str(error), *wrong])) from None
    if wrong:
        raise ValueError(f"{setting}: {told_together(wrong)}")
    return found
