"""What an editor calls itself (LSP 3.17 "InitializeParams": ``clientInfo``)."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["MAX_CHARS", "UNNAMED", "client_name", "printable_name"]

MAX_CHARS: Final = 40
UNNAMED: Final = "an editor"


def client_name(params: Any) -> str:
    """The name in the parameters of ``initialize``, in printable characters and MAX_CHARS of them at most; UNNAMED
    where there is none.
    """
    info = params.get("clientInfo") if isinstance(params, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    if not isinstance(name, str):
        return UNNAMED
    return printable_name(name) or UNNAMED


def printable_name(name: str) -> str:
    """The printable ones of the first MAX_CHARS characters of ``name``."""
    return "".join(char for char in name[:MAX_CHARS] if char.isprintable()).strip()
