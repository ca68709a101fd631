"""What a daemon that runs has set, where that is not what its files say: it may keep what was right before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from completiond import __version__
from completiond.client import STATUS_TIMEOUT_S, connect
from completiond.config.narrow import narrow
from completiond.config.problem import shown_path
from completiond.config.resolve import Resolved, config_of
from completiond.config.setting import Name, Value, all_settings
from completiond.config.settings import Settings
from completiond.errors import DaemonError
from completiond.paths import Paths

__all__ = ["DaemonSettings", "ask_daemon"]


@dataclass(frozen=True)
class DaemonSettings:
    """``others``: its values that are not those of this command. ``problems``: what only the daemon says of the user's
    file, one line each.
    """

    others: Mapping[Name, Value] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def ask_daemon(paths: Paths, settings: Settings, place: str) -> DaemonSettings:
    """Compare with ``settings`` at ``place`` (a path, or empty); what editors send to the daemon is left out. Nothing
    differs if none runs, or one of another version, which has other settings, or one that follows none.
    """
    try:
        with connect(paths, start=False, check_version=False) as client:
            status: dict[str, Any] = client.call("completiond/status", timeout_s=STATUS_TIMEOUT_S)
    except DaemonError:  # what the files say can be shown without it
        return DaemonSettings()
    if status["version"] != __version__ or not status.get("settings"):
        return DaemonSettings()
    values = {name: status["settings"][name[0]][name[1]] for name in all_settings()}
    resolved = Resolved(config_of(values), {})
    chain = settings.repository.of(place) if place else ()
    there, here = narrow(resolved, chain), settings.explain("", place)
    known = {str(problem) for problem in settings.problems()}
    return DaemonSettings(
        {name: there[name] for name in all_settings() if there[name] != here[name]},
        tuple(
            problem
            for problem in status["problems"]
            if problem not in known and problem.startswith(shown_path(paths.config_file))
        ),
    )
