"""What is declared of a setting besides its values: what a repository's file may do, and when a change takes effect.

Both are written in the annotation of the setting's field. A setting that says nothing is closed to repositories and
takes effect with the next daemon, so that forgetting to say it is safe.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Reload", "Repository"]


class Repository(Enum):
    """What a repository's ``.completiond.toml`` may do with a setting; all of it narrows what the user set."""

    NEVER = "never"
    """Nothing: it concerns the machine, or files outside."""
    ADD = "add"
    """A list: more members than the user's."""
    LOWER = "lower"
    """A number: a smaller one than the user's; a larger one changes nothing."""
    LIMIT = "limit"
    """The same, of a number whose 0 stands for no limit: a repository cannot say 0."""
    OFF = "off"
    """A switch: false."""
    ON = "on"
    """A switch: true, where that reads less."""
    TRUSTED = "trusted"
    """Only when the user has trusted this very file: it widens what is read in the folder, or changes the pace."""


class Reload(Enum):
    """When a changed setting takes effect in a running daemon."""

    LIVE = "live"
    """With the next request."""
    RESTART = "restart"
    """In the next daemon: the model, its memory and its threads are set up once."""
