"""What an editor hears while the model loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from completiond.paths import Paths
from tests.e2e.harness import EMPTY, Editor
from tests.fakes import OTHER, FakeService


def _progress(editor: Editor) -> list[tuple[str, int | None]]:
    values = [message["params"]["value"] for message in editor.received if message["method"] == "$/progress"]
    return [(value["kind"], value.get("percentage")) for value in values]


def _is(kind: str) -> Callable[[Any], bool]:
    return lambda params: params["value"]["kind"] == kind


async def test_progress_of_loading_is_shown(loading_paths: Paths, loading_service: FakeService) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await editor.initialize(progress=True)
        created = await editor.wait_for("window/workDoneProgress/create")
        begun = await editor.wait_for("$/progress", _is("begin"))
        assert begun["token"] == created["token"]
        loading_service.set_state(replace(loading_service.state, progress=0.5))
        loading_service.set_state(replace(loading_service.state, progress=0.501))
        loading_service.set_state(replace(loading_service.state, progress=1.0, phase="ready", detail=""))
        await editor.wait_for("$/progress", _is("end"))
        assert _progress(editor) == [("begin", 0), ("report", 50), ("end", None)]
        editor.open(OTHER, "x")
        assert len((await editor.complete(OTHER))["items"]) == 1


async def test_no_progress_for_a_client_that_does_not_show_it(
    loading_paths: Paths, loading_service: FakeService
) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await editor.initialize(progress=False)
        editor.open(OTHER, "x")
        assert await editor.complete(OTHER) == EMPTY
        loading_service.set_state(replace(loading_service.state, progress=1.0, phase="ready"))
        assert len((await editor.complete(OTHER))["items"]) == 1
        assert editor.received == []


async def test_a_failed_load_is_told_once_in_the_log_and_never_in_a_popup(
    loading_paths: Paths, loading_service: FakeService
) -> None:
    async with Editor.on_socket(loading_paths) as editor:
        await editor.initialize(progress=True)
        await editor.wait_for("$/progress", _is("begin"))
        failed = replace(loading_service.state, phase="failed", detail="No room on the disk. Free some.")
        loading_service.set_state(failed)
        loading_service.set_state(failed)
        told = await editor.wait_for("window/logMessage")
        assert told == {"type": 1, "message": "completiond: No room on the disk. Free some."}
        editor.open(OTHER, "x")
        assert await editor.complete(OTHER) == EMPTY
        assert editor.count("window/logMessage") == 1
        assert editor.count("window/showMessage") == 0
        assert _progress(editor)[-1][0] == "end"
    async with Editor.on_socket(loading_paths) as late:
        await late.initialize(progress=True)
        await late.wait_for("window/logMessage")
        assert _progress(late) == []
