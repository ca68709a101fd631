"""What the server can do, as plain JSON: the shim says it before the daemon runs, and the daemon says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from completiond import __version__
from completiond.lsp.text import PositionEncoding

__all__ = ["LSP_ITEMS", "choose_position_encoding", "initialize_result", "wants_items"]

LSP_ITEMS: Final = "lsp_items"
"""The initialization option of clients that have no inline completion. No setting: it is about what is announced."""

_INCREMENTAL: Final = 2  # TextDocumentSyncKind


def choose_position_encoding(client_capabilities: object) -> PositionEncoding:
    """Return the first encoding of the client's list that LSP has; utf-16 without a list (LSP 3.17 "general")."""
    general = client_capabilities.get("general") if isinstance(client_capabilities, Mapping) else None
    offered = general.get("positionEncodings") if isinstance(general, Mapping) else None
    if isinstance(offered, list):
        for encoding in offered:
            if encoding in get_args(PositionEncoding):
                return encoding  # type: ignore[no-any-return]
    return "utf-16"


def wants_items(initialization_options: object) -> bool:
    """Whether the client wants ordinary completion items, by its option ``LSP_ITEMS``; others get none."""
    options = initialization_options
    if isinstance(options, Mapping) and "completiond" in options:
        options = options["completiond"]
    return isinstance(options, Mapping) and options.get(LSP_ITEMS) is True


def initialize_result(encoding: PositionEncoding, initialization_options: object = None) -> dict[str, Any]:
    """Return the answer to ``initialize`` (LSP 3.17 "InitializeResult"; 3.18 for inline completion).

    Inline completion is announced statically, since Neovim does not register it dynamically.
    """
    capabilities: dict[str, Any] = {
        "positionEncoding": encoding,
        "textDocumentSync": {"openClose": True, "change": _INCREMENTAL},
        "inlineCompletionProvider": {},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        "experimental": {"completiond": {"partialInlineCompletion": True}},
    }
    if wants_items(initialization_options):
        capabilities["completionProvider"] = {}
    return {
        "capabilities": capabilities,
        "serverInfo": {"name": "completiond", "version": __version__},
    }
