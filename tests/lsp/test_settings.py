"""Settings and editors: what an editor sets, what it is told, and what the shim keeps of both."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from completiond.commands.settings import follow_settings
from completiond.config.settings import Settings
from completiond.lsp.configuration import pulls_configuration, supports
from completiond.paths import Paths
from tests.e2e.harness import Editor, daemon_in_process, environment, kill_daemon, temporary_paths
from tests.fakes import OTHER, FakeService
from tests.lsp.test_shim import Conversation

CHANGE = "workspace/didChangeConfiguration"
SHIM = [sys.executable, "-m", "completiond", "lsp"]
WATCHED = "workspace/didChangeWatchedFiles"
SHOW, LOG = "window/showMessage", "window/logMessage"


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        paths.config_dir.mkdir()
        yield paths


@pytest.fixture
def settings(paths: Paths) -> Settings:
    return follow_settings(paths)


@pytest.fixture
async def daemon(paths: Paths, settings: Settings) -> AsyncIterator[Paths]:
    async with daemon_in_process(paths, FakeService(), settings):
        yield paths


async def start(editor: Editor, options: Any = None, workspace: Any = None, root: Path | None = None) -> None:
    params: dict[str, Any] = {"capabilities": {"workspace": workspace or {}}, "initializationOptions": options}
    if root is not None:
        params["rootUri"] = root.as_uri()
    await editor.request("initialize", params)
    editor.notify("initialized", {})


async def messages(editor: Editor, method: str = SHOW) -> list[str]:
    """What was shown until all that was sent has been answered."""
    await editor.request("completiond/status")
    assert all(one["params"]["type"] == 2 for one in editor.received if one["method"] == method), "warnings"
    return [one["params"]["message"] for one in editor.received if one["method"] == method]


async def test_right_settings_are_followed_and_nothing_is_said(daemon: Paths, settings: Settings) -> None:
    async with Editor.on_socket(daemon) as editor:
        await start(editor, {"completion": {"max_tokens": 7}})
        assert await messages(editor) == await messages(editor, LOG) == []
        assert settings.client(settings.clients[-1]).completion.max_tokens == 7
        editor.notify(CHANGE, {"settings": {"completiond": {"completion": {"max_tokens": 8}}}})
        assert await messages(editor) == []
        assert settings.client(settings.clients[-1]).completion.max_tokens == 8
    assert settings.config.completion.max_tokens == 64


async def test_wrong_ones_are_one_message_and_lines_in_the_log(daemon: Paths) -> None:
    daemon.config_file.write_text("[prompt]\nx = 1\n[cache]\nmemory_mb = '1'\n")
    async with Editor.on_socket(daemon) as editor:
        await start(editor, {"completion": {"max_tokens": True}})
        for _ in range(3):
            editor.open(OTHER, "text")
            await editor.complete(OTHER)
        (shown,) = await messages(editor)
        more = "And 2 more: `completiond status` shows all."
        assert shown == f"completiond: {daemon.config_file}:2: prompt.x is not a setting. {more}"
        logged = await messages(editor, LOG)
        assert [line.split(": ", 1)[1].split(" ")[0] for line in logged] == [
            f"{daemon.config_file}:2:", f"{daemon.config_file}:4:", "initializationOptions",
        ]  # fmt: skip
        problems = (await editor.request("completiond/status"))["problems"]
        assert [f"completiond: {problem}" for problem in problems] == logged


async def test_a_mistake_made_later_is_told_once_and_to_every_editor(daemon: Paths) -> None:
    async with Editor.on_socket(daemon) as one, Editor.on_socket(daemon) as two:
        for editor in (one, two):
            await start(editor)
        daemon.config_file.write_text("[model]\nname = 3\n")
        one.notify("workspace/didChangeWatchedFiles", {"changes": []})
        for _ in range(2):
            assert [len(await messages(editor)) for editor in (one, two)] == [1, 1]


async def test_a_repository_s_mistake_is_told_to_who_opens_a_file_there(daemon: Paths, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".completiond.toml").write_text("[model]\nname = 'evil'\n")
    async with Editor.on_socket(daemon) as one, Editor.on_socket(daemon) as two:
        for editor in (one, two):
            await start(editor)
            editor.open(OTHER, "text")
        one.open((tmp_path / "a.py").as_uri(), "text")
        one.open((tmp_path / "b.py").as_uri(), "text")
        assert await messages(one) == [
            f"completiond: {tmp_path}/.completiond.toml:2: model.name cannot be set by a repository, and is ignored."
        ]
        assert await messages(two) == []


async def test_what_takes_effect_later_is_said(daemon: Paths) -> None:
    async with Editor.on_socket(daemon) as editor:
        await start(editor)
        daemon.config_file.write_text("[model]\nthreads = 3\n")
        editor.notify("workspace/didChangeWatchedFiles", None)
        (shown,) = await messages(editor)
        assert shown.endswith("config.toml:2: model.threads = 3 takes effect after `completiond stop`.")


@pytest.mark.parametrize("options", [None, 3, [], "x", {"completion": 3}, {"\x1b[2J": {}}, {"completion": {"x": {}}}])
async def test_any_options_are_survived(daemon: Paths, options: Any) -> None:
    async with Editor.on_socket(daemon) as editor:
        await start(editor, options)
        for params in (options, {"settings": options}, {"settings": {"completiond": options}}):
            editor.notify(CHANGE, params)
        assert all("\x1b" not in message for message in await messages(editor))
        editor.open(OTHER, "text")
        assert (await editor.complete(OTHER))["items"]


class Asked(Editor):
    """An editor that tells its settings when it is asked for them."""

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "workspace/configuration":
            self.received.append(message)
            self._something.set()
            assert message["params"] == {"items": [{"section": "completiond"}]}
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": [{"completion": {"max_tokens": 9}}]})
        else:
            super()._take(message)


async def test_an_editor_that_only_answers_is_asked(daemon: Paths, settings: Settings) -> None:
    async with Asked.on_socket(daemon) as editor:
        await start(editor, workspace={"configuration": True})
        editor.notify(CHANGE, {"settings": None})
        await editor.wait_for("workspace/configuration")
        assert await messages(editor) == []
        assert settings.client(settings.clients[-1]).completion.max_tokens == 9


WATCHES = {"dynamicRegistration": True, "relativePatternSupport": True}


@pytest.mark.parametrize(
    ("workspace", "methods"),
    [
        ({"didChangeWatchedFiles": WATCHES, "didChangeConfiguration": WATCHES}, [CHANGE, WATCHED]),
        ({"didChangeWatchedFiles": WATCHES}, [WATCHED]),
        ({"didChangeConfiguration": WATCHES}, [CHANGE]),
    ],
)
async def test_an_editor_that_has_to_be_asked_to_tell_is_asked(
    daemon: Paths, workspace: Any, methods: list[str]
) -> None:
    async with Editor.on_socket(daemon) as editor:
        await start(editor, workspace=workspace)
        registrations = (await editor.wait_for("client/registerCapability"))["registrations"]
        assert [one["method"] for one in registrations] == methods
        options = {one["method"]: one["registerOptions"] for one in registrations}
        assert options.get(CHANGE, {"section": "completiond"}) == {"section": "completiond"}
        if WATCHED in methods:
            patterns = [one["globPattern"] for one in options[WATCHED]["watchers"]]
            users = {"baseUri": daemon.config_dir.as_uri(), "pattern": "config.toml"}
            assert patterns == ["**/.completiond.toml", users]


@pytest.mark.parametrize("capabilities", [{}, {"workspace": 3}, {"workspace": {"configuration": 1, "x": {"y": 1}}}])
def test_capabilities_that_are_none(capabilities: dict[str, Any]) -> None:
    assert not pulls_configuration(capabilities)
    assert not supports(capabilities, "x", "y")


# The shim


def test_the_next_daemon_is_told_what_the_editor_has_set() -> None:
    conversation = Conversation()
    conversation.up()
    conversation.initialize()
    conversation.editor_says(CHANGE, {"settings": {"a": 1}})
    conversation.editor_says(CHANGE, {"settings": {"a": 2}})
    conversation.open("text")
    conversation.relay.link_down()
    told = conversation.up()
    assert [message["method"] for message in told] == ["initialize", "initialized", CHANGE, "textDocument/didOpen"]
    assert told[2]["params"] == {"settings": {"a": 2}}


def test_the_same_warning_of_the_next_daemon_is_not_shown_again() -> None:
    conversation = Conversation()
    conversation.up()
    conversation.initialize()
    for _ in range(2):
        conversation.daemon_says({"method": SHOW, "params": {"type": 2, "message": "a is wrong"}})
        conversation.relay.link_down()
        conversation.up()
    conversation.daemon_says({"method": SHOW, "params": {"type": 2, "message": "b is wrong"}})
    shown = [one["params"]["message"] for one in conversation.editor.take() if one["method"] == SHOW]
    assert shown == ["a is wrong", "b is wrong"]


async def test_through_the_shim_and_over_the_death_of_a_daemon(paths: Paths) -> None:
    paths.config_file.write_text("[completion]\nmax_tokens = 'x'\n")
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await start(editor)
        editor.open(OTHER, "text")
        first = await editor.wait_for(SHOW)
        assert first["message"].startswith(f"completiond: {paths.config_file}:2: completion.max_tokens must be ")
        pid = (await editor.request("completiond/status"))["pid"]
        await asyncio.to_thread(kill_daemon, paths)
        assert (await editor.request("completiond/status"))["pid"] != pid
        paths.config_file.write_text("[completion]\nmax_tokenz = 3\n")
        await editor.request("completiond/status")
        await editor.wait_for(SHOW, lambda params: "max_tokenz" in params["message"])
        assert editor.count(SHOW) == 2
