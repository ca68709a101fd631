"""The shim: what it says to both sides while daemons come and go, and the process around it."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from completiond import __version__
from completiond.lsp import wire
from completiond.lsp.capabilities import initialize_result
from completiond.lsp.relay import Relay
from completiond.paths import Paths
from tests.e2e.harness import (
    TIMEOUT_S,
    Editor,
    environment,
    inline_params,
    insertion,
    notification,
    temporary_paths,
)

URI = "file:///a.py"
SHIM = [sys.executable, "-m", "completiond", "lsp"]


class Side:
    """One of the two the relay talks to: what it was sent."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []

    def __call__(self, data: bytes) -> None:
        self.received += [wire.parse(body) for body in wire.FrameParser().feed(data)]

    def take(self) -> list[dict[str, Any]]:
        """Return what came in since the last call."""
        taken, self.received = self.received, []
        return taken


class Conversation:
    """A relay with an editor and, when up, a daemon."""

    def __init__(self) -> None:
        self.editor, self.daemon = Side(), Side()
        self.relay = Relay(self.editor)
        self._ids = itertools.count(1)

    def editor_says(self, method: str, params: Any = None, message_id: int | str | None = None) -> None:
        message = notification(method, params)
        if message_id is not None:
            message["id"] = message_id
        self.relay.from_editor(_body(message))

    def daemon_says(self, message: dict[str, Any]) -> None:
        self.relay.from_daemon(_body({"jsonrpc": "2.0", **message}))

    def up(self) -> list[dict[str, Any]]:
        """Connect a new daemon and return what it is told."""
        self.daemon = Side()
        self.relay.link_up(self.daemon)
        return self.daemon.take()

    def initialize(self, encoding: str = "utf-16") -> None:
        params = {"processId": None, "capabilities": {"general": {"positionEncodings": [encoding]}}}
        self.editor_says("initialize", params, 0)
        self.editor_says("initialized", {})
        self.editor.take()

    def open(self, text: str) -> None:
        document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
        self.editor_says("textDocument/didOpen", {"textDocument": document})


def _body(message: dict[str, Any]) -> bytes:
    (body,) = wire.FrameParser().feed(wire.encode(message))
    return body


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


# Without a daemon


def test_initialize_is_answered_without_a_daemon(talk: Conversation) -> None:
    talk.editor_says("initialize", {"capabilities": {"general": {"positionEncodings": ["utf-8"]}}}, "x")
    assert talk.editor.take() == [{"jsonrpc": "2.0", "id": "x", "result": initialize_result("utf-8")}]
    assert talk.relay.wants_daemon


def test_inline_completion_without_a_daemon_gets_no_items(talk: Conversation) -> None:
    talk.initialize()
    talk.editor_says("textDocument/inlineCompletion", inline_params(URI, 0, 0), 5)
    assert talk.editor.take() == [{"jsonrpc": "2.0", "id": 5, "result": {"items": []}}]


def test_other_requests_wait_for_the_daemon(talk: Conversation) -> None:
    talk.initialize()
    talk.editor_says("completiond/status", None, 5)
    talk.editor_says("completiond/status", None, 6)
    talk.editor_says("$/cancelRequest", {"id": 6})
    (cancelled,) = talk.editor.take()
    assert (cancelled["id"], cancelled["error"]["code"]) == (6, -32800)
    assert [message.get("id") for message in talk.up()][2:] == [5]
    talk.daemon_says({"id": 5, "result": {"phase": "ready"}})
    assert talk.editor.take() == [{"jsonrpc": "2.0", "id": 5, "result": {"phase": "ready"}}]


def test_requests_that_wait_hear_when_no_daemon_could_be_started(talk: Conversation) -> None:
    talk.initialize()
    talk.editor_says("completiond/status", None, 5)
    talk.relay.start_failed("No room. Free some.")
    (answer,) = talk.editor.take()
    assert (answer["id"], answer["error"]["code"], answer["error"]["message"]) == (5, -32803, "No room. Free some.")


@pytest.mark.parametrize("params", [None, [], {"capabilities": 1}])
def test_a_strange_initialize_is_answered(talk: Conversation, params: Any) -> None:
    talk.editor_says("initialize", params, 1)
    assert talk.editor.take()[0]["result"] == initialize_result("utf-16")


@pytest.mark.parametrize("body", [b"{", b"[]", b"1", b'{"jsonrpc":"2.0"}', b'{"id":[],"result":1}'])
def test_what_is_no_message_is_left_out(talk: Conversation, body: bytes) -> None:
    talk.up()
    talk.relay.from_editor(body)
    assert talk.editor.take() == talk.daemon.take() == []


# A daemon after another


def test_a_new_daemon_hears_of_the_initialisation_and_of_documents_as_they_are_now(talk: Conversation) -> None:
    talk.initialize("utf-8")
    talk.open("é = 1\n")
    talk.editor_says("textDocument/didOpen", {"textDocument": {"uri": "file:///gone", "version": 1, "text": ""}})
    for told in (talk.up(), talk.up()):
        assert [message["method"] for message in told] == [
            "initialize",
            "initialized",
            "textDocument/didOpen",
            "textDocument/didOpen",
        ]
        talk.relay.link_down()
    talk.relay.from_editor(_body(insertion(URI, 0, 2, "x", version=7)))
    talk.editor_says("textDocument/didClose", {"textDocument": {"uri": "file:///gone"}})
    initialize, _, opened = talk.up()
    assert initialize["params"]["capabilities"] == {"general": {"positionEncodings": ["utf-8"]}}
    assert opened["params"]["textDocument"] == {
        "uri": URI,
        "languageId": "python",
        "version": 7,
        "text": "éx = 1\n",
    }


@pytest.mark.parametrize("start", [{"workspaceFolders": [{"uri": "file:///a", "name": "a"}]}, {"rootUri": "file:///a"}])
def test_a_new_daemon_hears_of_the_folders_as_they_are_now(talk: Conversation, start: dict[str, Any]) -> None:
    talk.editor_says("initialize", {"processId": None, "capabilities": {}, **start}, 0)
    first = talk.up()[0]["params"]
    talk.relay.link_down()
    for added, removed in (("file:///b", "file:///a"), ("file:///c", "file:///none")):
        event = {"added": [{"uri": added, "name": "x"}], "removed": [{"uri": removed, "name": "x"}]}
        talk.editor_says("workspace/didChangeWorkspaceFolders", {"event": event})
    talk.editor_says("workspace/didChangeWorkspaceFolders", {"event": 3})
    second = talk.up()[0]["params"]

    assert {key: first[key] for key in start} == start
    assert [folder["uri"] for folder in second["workspaceFolders"]] == ["file:///b", "file:///c"]
    assert second["rootUri"] is None
    assert second["capabilities"] == {}


def test_a_new_daemon_hears_of_no_folders_when_all_were_removed(talk: Conversation) -> None:
    talk.editor_says("initialize", {"capabilities": {}, "rootUri": "file:///a"}, 0)
    event = {"added": [], "removed": [{"uri": "file:///a", "name": "a"}]}
    talk.editor_says("workspace/didChangeWorkspaceFolders", {"event": event})

    params = talk.up()[0]["params"]
    assert (params["workspaceFolders"], params["rootUri"]) == ([], None)


def test_a_change_of_folders_is_passed_on_to_the_daemon_that_runs(talk: Conversation) -> None:
    talk.initialize()
    talk.up()
    params = {"event": {"added": [{"uri": "file:///b", "name": "b"}], "removed": []}}
    talk.editor_says("workspace/didChangeWorkspaceFolders", params)

    assert talk.daemon.take() == [notification("workspace/didChangeWorkspaceFolders", params)]


def test_the_editor_does_not_see_the_answer_to_the_second_initialize(talk: Conversation) -> None:
    talk.initialize()
    message_id = talk.up()[0]["id"]
    talk.daemon_says({"id": message_id, "result": initialize_result("utf-16")})
    assert talk.editor.take() == []


def test_a_daemon_of_another_version_is_told_once(talk: Conversation) -> None:
    talk.initialize()
    for _ in range(2):
        message_id = talk.up()[0]["id"]
        talk.daemon_says({"id": message_id, "result": {"serverInfo": {"version": "0.0.1"}}})
        talk.relay.link_down()
    (told,) = talk.editor.take()
    assert told["method"] == "window/logMessage"
    assert "0.0.1" in told["params"]["message"]
    assert __version__ in told["params"]["message"]
    assert "completiond stop" in told["params"]["message"]


def test_requests_that_a_daemon_leaves_open_are_answered(talk: Conversation) -> None:
    talk.initialize()
    talk.up()
    talk.editor_says("textDocument/inlineCompletion", inline_params(URI, 0, 0), 5)
    talk.editor_says("completiond/status", None, 6)
    talk.relay.link_down()
    inline, status = talk.editor.take()
    assert inline == {"jsonrpc": "2.0", "id": 5, "result": None}
    assert (status["id"], status["error"]["code"]) == (6, -32803)
    talk.up()
    talk.daemon_says({"id": 5, "result": None})  # nobody asked this daemon
    assert talk.editor.take() == []


def test_progress_that_a_daemon_leaves_open_is_ended(talk: Conversation) -> None:
    talk.initialize()
    talk.up()
    for token, kind in (("a", "begin"), ("b", "begin"), ("a", "report"), ("b", "end")):
        talk.daemon_says(notification("$/progress", {"token": token, "value": {"kind": kind}}))
    talk.editor.take()
    talk.relay.link_down()
    (ended,) = talk.editor.take()
    assert (ended["params"]["token"], ended["params"]["value"]["kind"]) == ("a", "end")


def test_the_editors_answer_to_a_request_of_a_dead_daemon_is_left_out(talk: Conversation) -> None:
    talk.initialize()
    talk.up()
    talk.daemon_says({"id": "u1", "method": "window/workDoneProgress/create", "params": {"token": "t"}})
    talk.relay.link_down()
    talk.up()
    talk.relay.from_editor(_body(wire.response("u1", None)))
    assert talk.daemon.take() == []
    talk.daemon_says({"id": "u2", "method": "window/workDoneProgress/create", "params": {"token": "t"}})
    talk.relay.from_editor(_body(wire.response("u2", None)))
    assert [message["id"] for message in talk.daemon.take()] == ["u2"]


def test_after_a_stop_on_purpose_a_daemon_is_wanted_only_when_it_is_of_use(talk: Conversation) -> None:
    talk.initialize()
    talk.up()
    talk.daemon_says(notification("$/completiond/stopping", None))
    talk.relay.link_down()
    talk.open("x")
    wanted = [talk.relay.wants_daemon]
    assert talk.editor.take() == []
    talk.editor_says("textDocument/inlineCompletion", inline_params(URI, 0, 0), 5)
    wanted.append(talk.relay.wants_daemon)
    assert wanted == [False, True]
    assert talk.editor.take()[0]["result"] == {"items": []}


def test_shutdown_is_answered_and_ends_what_can_be_asked(talk: Conversation) -> None:
    talk.initialize()
    talk.editor_says("shutdown", None, 1)
    talk.editor_says("textDocument/inlineCompletion", inline_params(URI, 0, 0), 2)
    shutdown, late = talk.editor.take()
    assert shutdown == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert late["error"]["code"] == -32600
    assert not talk.relay.wants_daemon
    talk.editor_says("exit")
    assert talk.relay.exit_received


# The process


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


def without_daemon(paths: Paths) -> dict[str, str]:
    """Return the environment of a shim whose attempts to start a daemon all fail."""
    return environment(paths, COMPLETIOND_SERVE_COMMAND="false")


def test_the_shim_imports_nothing_slow(paths: Paths) -> None:
    code = (
        "import sys, completiond.__main__, completiond.lsp.shim\n"
        "slow = {'asyncio', 'logging', 'pydantic', 'pygls', 'lsprotocol', 'rich', 'subprocess', 'torch', 'typer'}\n"
        "sys.exit(' '.join(slow & set(sys.modules)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], env=environment(paths), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


async def _exit_status(editor: Editor) -> int:
    assert editor.process is not None
    async with asyncio.timeout(TIMEOUT_S):
        return await editor.process.wait()


async def test_exit_status_after_shutdown(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=without_daemon(paths)) as editor:
        await editor.initialize()
        await editor.request("shutdown")
        editor.notify("exit", None)
        assert await _exit_status(editor) == 0


async def test_exit_status_without_shutdown(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=without_daemon(paths)) as editor:
        await editor.initialize()
        editor.notify("exit", None)
        assert await _exit_status(editor) == 1


async def test_exit_status_when_the_editor_hangs_up(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=without_daemon(paths)) as editor:
        await editor.initialize()
        editor.writer.close()
        assert await _exit_status(editor) == 1


async def test_a_stream_that_is_not_framed_ends_the_shim(paths: Paths) -> None:
    async with Editor.on_program(*SHIM, env=without_daemon(paths)) as editor:
        editor.writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await _exit_status(editor) == 1


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the shim watches a process only where there is pidfd_open")
async def test_the_shim_ends_with_the_editors_process_though_its_input_stays_open(paths: Paths) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize(process_id=process.pid)
        await editor.request("completiond/status")
        process.kill()
        await process.wait()
        assert await _exit_status(editor) == 1


async def test_failures_in_a_row_are_told_once_with_what_the_daemon_said(paths: Paths) -> None:
    env = environment(paths, FAKE_START_ERROR="completiond: the weights are gone")
    async with Editor.on_program(*SHIM, env=env) as editor:
        await editor.initialize()
        with pytest.raises(Exception, match="the weights are gone"):
            await editor.request("completiond/status")
        told = await editor.wait_for("window/logMessage")
        assert "the weights are gone" in told["message"]
        assert str(paths.log_file) in told["message"]
        with pytest.raises(Exception, match="the weights are gone"):
            await editor.request("completiond/status")  # it keeps trying
        assert editor.count("window/logMessage") == 1
        assert editor.count("window/showMessage") == 0


async def test_a_runtime_folder_that_is_a_link_is_refused(paths: Paths) -> None:
    planted = paths.runtime_dir.with_name("planted")
    planted.mkdir(parents=True, mode=0o700)
    paths.runtime_dir.symlink_to(planted)
    async with Editor.on_program(*SHIM, env=environment(paths)) as editor:
        await editor.initialize()
        told = await editor.wait_for("window/logMessage")
        assert "is not a folder of yours" in told["message"]
    assert list(planted.iterdir()) == []
