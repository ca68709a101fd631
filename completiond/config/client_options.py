"""Settings that an editor sends: initialization options, and ``workspace/didChangeConfiguration``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from completiond.config.layer import EMPTY, Layer, layer_of_table
from completiond.config.permission import Reload
from completiond.config.problem import Origin, Problem
from completiond.config.setting import Setting, Value
from completiond.config.value import checked

__all__ = ["layer_of_client"]

_OURS = "completiond"
LSP_ITEMS = "lsp_items"


def layer_of_client(options: Any, where: str, before: Layer = EMPTY) -> Layer:
    """What an editor's ``options`` say: tables as in config.toml, or all of them under ``completiond``.

    ``where`` is what the editor calls them; ``before`` is what it said when it was last right.
    """
    origin = Origin("editor", where)
    if isinstance(options, Mapping) and _OURS in options:
        options = options[_OURS]
    if options is None or options == []:  # an empty table, as Lua writes it
        return EMPTY
    if not isinstance(options, Mapping):
        return Layer(before.values, (Problem(origin, "has no table of settings."),))
    if LSP_ITEMS in options:  # not a setting (lsp/capabilities.py); editors send it with the settings all the same
        options = {name: value for name, value in options.items() if name != LSP_ITEMS}
    return layer_of_table(options, lambda *name: origin, _allowed).keeping(before)


def _allowed(setting: Setting, value: Any) -> Value:
    if setting.reload is Reload.RESTART:
        raise ValueError(f"{setting} is the same for all editors of a daemon; set it in config.toml")
    return checked(setting, value)
