"""What commands of ``completiond bench`` share: options, and the model they measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from completiond.commands.settings import read_settings
from completiond.paths import Paths

if TYPE_CHECKING:
    from completiond.complete.completer import Completer

__all__ = ["AsJson", "Model", "open_model"]

Model = Annotated[str | None, typer.Option("--model", help="Another model than the configured one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Only the line of JSON on standard output.")]


def open_model(model: str | None) -> Completer:
    """The configured model, or ``model``. Raises what ``open_completer`` does."""
    paths = Paths.from_environment()
    config = read_settings(paths, model)
    from completiond.complete.open_completer import open_completer

    # Answers are compared, so none may depend on what was asked before, or on how fast this machine reads just now.
    cache = config.cache.model_copy(update={"suffix": "exact"})
    exact = config.model_copy(update={"cache": cache, "prompt": config.prompt.model_copy(update={"max_read_ms": 0})})
    with Console(stderr=True).status("loading the model"):
        return open_completer(exact, paths)
