"""The workspace's folders, from ``initialize`` and its changes. Standard library only: the shim uses it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["DID_CHANGE_FOLDERS", "Folder", "change_folders", "folders_of"]

DID_CHANGE_FOLDERS: Final = "workspace/didChangeWorkspaceFolders"

Folder = dict[str, Any]
"""LSP 3.17 "WorkspaceFolder": ``uri`` and ``name``."""


def folders_of(params: Any) -> list[Folder]:
    """LSP 3.17 "InitializeParams": ``workspaceFolders``, else the deprecated ``rootUri``."""
    if not isinstance(params, dict):
        return []
    root = params.get("rootUri")
    return _folders(params.get("workspaceFolders")) or ([{"uri": root, "name": root}] if isinstance(root, str) else [])


def change_folders(folders: Sequence[Folder], params: Any) -> list[Folder]:
    """The folders after ``DID_CHANGE_FOLDERS``; what is malformed in it changes nothing."""
    event = params.get("event") if isinstance(params, dict) else None
    if not isinstance(event, dict):
        return list(folders)
    gone = {folder["uri"] for folder in _folders(event.get("removed"))}
    added = _folders(event.get("added"))
    replaced = gone | {folder["uri"] for folder in added}
    return [*(folder for folder in folders if folder["uri"] not in replaced), *added]


def _folders(value: Any) -> list[Folder]:
    if not isinstance(value, list):
        return []
    return [folder for folder in value if isinstance(folder, dict) and isinstance(folder.get("uri"), str)]
