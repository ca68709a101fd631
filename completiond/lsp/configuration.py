"""What LSP says of settings. Standard library only: the shim uses it too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["DID_CHANGE_CONFIGURATION", "pulls_configuration", "supports"]

DID_CHANGE_CONFIGURATION: Final = "workspace/didChangeConfiguration"


def pulls_configuration(client_capabilities: Mapping[str, Any]) -> bool:
    """Whether the client answers ``workspace/configuration`` (LSP 3.17 "Configuration Request")."""
    workspace = client_capabilities.get("workspace")
    return isinstance(workspace, Mapping) and workspace.get("configuration") is True


def supports(client_capabilities: Mapping[str, Any], name: str, detail: str) -> bool:
    """Whether ``workspace.<name>.<detail>`` is true (LSP 3.17 "ClientCapabilities")."""
    workspace = client_capabilities.get("workspace")
    found = workspace.get(name) if isinstance(workspace, Mapping) else None
    return isinstance(found, Mapping) and found.get(detail) is True
