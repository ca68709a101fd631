"""Open what the settings say is to answer: a model on this machine, or a server."""

from __future__ import annotations

from collections.abc import Callable

from completiond.complete.completer_protocol import AnyCompleter
from completiond.config import Config
from completiond.paths import Paths

__all__ = ["open_any"]


def open_any(
    config: Config, paths: Paths, progress: Callable[[float, str], None] = lambda share, what: None
) -> AnyCompleter:
    """What ``config`` says. A server is not asked anything yet, which ``connect`` does; torch is imported for a model
    only. Raises what ``open_completer`` does, and ConfigError for a key that is none.
    """
    if config.engine.remote:
        from completiond.complete.remote_completer import open_remote

        return open_remote(config)
    from completiond.complete.open_completer import open_completer

    return open_completer(config, paths, progress)
