"""The workspace's folders, as the service hears of them, from what editors say, well or badly."""

from __future__ import annotations

from typing import Any

import pytest

from completiond.paths import Paths
from tests.e2e.harness import Editor
from tests.fakes import FakeService

CHANGE = "workspace/didChangeWorkspaceFolders"


def folder(uri: str) -> dict[str, str]:
    return {"uri": uri, "name": uri}


async def told(service: FakeService, editor: Editor) -> list[str]:
    """The only client's folders, when all it said has been heard."""
    await editor.request("completiond/status")
    (folders,) = service.folders.values()
    return folders


@pytest.mark.parametrize(
    ("params", "folders"),
    [
        ({"workspaceFolders": [folder("file:///p/a"), folder("file:///p/b%20c")]}, ["/p/a", "/p/b c"]),
        ({"workspaceFolders": [folder("file:///p/a")], "rootUri": "file:///old"}, ["/p/a"]),
        ({"workspaceFolders": None, "rootUri": "file:///p/a"}, ["/p/a"]),
        ({"workspaceFolders": [], "rootUri": "file:///p/a"}, ["/p/a"]),
        ({"rootUri": "file:///p/a"}, ["/p/a"]),
        ({"rootUri": "FILE:///p/a"}, ["/p/a"]),
        ({"rootUri": None}, []),
        ({}, []),
        ({"workspaceFolders": [folder("vscode-remote://host/p"), folder("file:///p/a")]}, ["/p/a"]),
        ({"workspaceFolders": "file:///p/a"}, []),
        ({"workspaceFolders": [3, {}, {"uri": 4}, None, folder("file:///p/a")]}, ["/p/a"]),
        ({"rootUri": ["file:///p/a"]}, []),
        ({"rootUri": "http://["}, []),
        (None, []),
    ],
)
async def test_folders_at_the_beginning(
    daemon_paths: Paths, service: FakeService, params: Any, folders: list[str]
) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.request("initialize", params)
        assert await told(service, editor) == folders


@pytest.mark.parametrize(
    ("event", "folders"),
    [
        ({"added": [folder("file:///c")], "removed": []}, ["/a", "/b", "/c"]),
        ({"added": [], "removed": [folder("file:///a")]}, ["/b"]),
        ({"added": [folder("file:///c")], "removed": [folder("file:///a")]}, ["/b", "/c"]),
        ({"added": [folder("file:///a")], "removed": []}, ["/b", "/a"]),
        ({"added": [], "removed": [folder("file:///x")]}, ["/a", "/b"]),
        ({"added": [], "removed": [folder("file:///a"), folder("file:///b")]}, []),
        ({"added": [folder("file:///c")]}, ["/a", "/b", "/c"]),
        ({"added": [5, folder("file:///c")], "removed": "file:///a"}, ["/a", "/b", "/c"]),
        ([], ["/a", "/b"]),
        (None, ["/a", "/b"]),
    ],
)
async def test_folders_after_a_change(
    daemon_paths: Paths, service: FakeService, event: Any, folders: list[str]
) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        params = {"workspaceFolders": [folder("file:///a"), folder("file:///b")]}
        await editor.request("initialize", params)
        editor.notify(CHANGE, {"event": event})
        assert await told(service, editor) == folders


@pytest.mark.parametrize("params", [None, [], {}, 3, {"event": 3}])
async def test_a_change_that_cannot_be_read_changes_nothing(
    daemon_paths: Paths, service: FakeService, params: Any
) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.request("initialize", {"rootUri": "file:///a"})
        editor.notify(CHANGE, params)
        assert await told(service, editor) == ["/a"]
        assert editor.received == []


async def test_changes_are_announced_as_supported(daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        capabilities = await editor.initialize()
    assert capabilities["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}
