"""Processes, and what they take of the machine."""

from __future__ import annotations

import asyncio
import shlex
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.completer import Completer
from completiond.complete.service import LocalService
from completiond.config import CompletionConfig, Config, ModelConfig
from completiond.engine.load import LoadedModel
from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.complaints.desk import PATIENT, URI, Desk, ScriptedTarget, bytes_of, served
from tests.complaints.scripted_daemon import ANSWER
from tests.complete.test_out_of_memory import allocate_all
from tests.complete.words import load_words
from tests.e2e.harness import (
    EMPTY,
    TIMEOUT_S,
    Editor,
    daemon_in_process,
    environment,
    temporary_paths,
    until,
)
from tests.engine.random_models import make_folder
from tests.fake_model import EOS, fake_tokenizer

SHIM = [sys.executable, "-m", "completiond", "lsp"]
SCRIPTED = shlex.join([sys.executable, "-m", "tests.complaints.scripted_daemon"])
PROC = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell of its processes")
QUIET_S = 1.5


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


async def answer_of(editor: Editor, uri: str = URI) -> Any:
    """Ask in a shim's editor until the daemon, which has to start, answers."""
    editor.open(uri, "total = \n")
    async with asyncio.timeout(TIMEOUT_S):
        while not (answer := await editor.complete(uri, 0, 8))["items"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return answer["items"][0]["insertText"]


async def test_15_editors_that_take_turns_do_not_read_their_files_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several editors at once keep the machine busy: each one's text drives out that of the others."""
    config = PATIENT.model_copy(
        update={
            "model": ModelConfig(name="small", context_tokens=512),
            "completion": CompletionConfig(max_tokens=2, deadline_ms=60_000),
            "cache": PATIENT.cache.model_copy(update={"results": False, "suffix": "exact"}),
        }
    )
    completer = Completer(load_words(tmp_path), config)
    async with served(monkeypatch, completer) as (paths, service), Editor.on_socket(paths) as one:
        await until(lambda: service.state.phase == "ready")
        async with Editor.on_socket(paths) as two:
            texts = {one: "x = 1\n" * 40, two: "y = 2\n" * 40}

            async def read_by(editor: Editor, key: int) -> int:
                before = service.work.computed_tokens
                editor.open(URI, texts[editor] + "=" * key)
                await editor.complete(URI, 40, key)
                return service.work.computed_tokens - before

            for editor in (one, two):
                await editor.initialize()
                assert await read_by(editor, 0) > 200
            for key in range(1, 4):
                for editor in (one, two):
                    assert await read_by(editor, key) < 60


@PROC
async def test_16_two_editors_share_one_daemon_and_their_own_processes_are_small(paths: Paths) -> None:
    """Each editor has a server of its own, which holds the model once more."""
    env = environment(paths, COMPLETIOND_SERVE_COMMAND=SCRIPTED)
    async with Editor.on_program(*SHIM, env=env) as one, Editor.on_program(*SHIM, env=env) as two:
        pids = set()
        for editor in (one, two):
            await editor.initialize()
            assert await answer_of(editor) == ANSWER
            pids.add((await editor.request("completiond/status"))["pid"])
        assert pids == {holder_pid(paths.lock)}
        assert (await one.request("completiond/status"))["clients"] == 2
        for editor in (one, two):
            assert editor.process is not None
            assert _resident_kb(editor.process.pid) < 30_000


async def test_16_no_process_is_left_of_an_editor_that_is_gone(paths: Paths) -> None:
    """Servers stay behind when their editors have gone, and what they hold with them."""
    env = environment(paths, COMPLETIOND_SERVE_COMMAND=SCRIPTED)
    async with Editor.on_program(*SHIM, env=env) as editor:
        await editor.initialize()
        assert await answer_of(editor) == ANSWER
        assert editor.process is not None
        editor.writer.close()
        assert await asyncio.wait_for(editor.process.wait(), TIMEOUT_S) == 1
    async with Editor.on_socket(paths) as other:
        await other.initialize()
        async with asyncio.timeout(TIMEOUT_S):
            while (status := await other.request("completiond/status"))["clients"] > 1:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert status["dictionary"]["documents"] == 0


def _figure(file: Path, name: str) -> int:
    (line,) = (line for line in file.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


def _resident_kb(pid: int) -> int:
    return _figure(Path(f"/proc/{pid}/status"), "VmRSS")


def _wake_ups(pid: int) -> int:
    """How often threads of a process have gone to sleep; those that did not wake up since have not again."""
    return sum(_figure(task, "voluntary_ctxt_switches") for task in Path(f"/proc/{pid}/task").glob("*/status"))


async def test_17_memory_is_given_back_when_nobody_asks_and_the_next_request_is_answered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A model that nobody uses keeps a graphics card's memory until the machine is shut down."""
    model = ModelConfig(name="small", context_tokens=512, idle_release_s=1)
    config = PATIENT.model_copy(update={"model": model, "cache": PATIENT.cache.model_copy(update={"results": False})})
    completer = Completer(load_words(tmp_path), config)
    completer.reopen = lambda: completer.take(load_words(tmp_path), config)
    async with served(monkeypatch, completer) as (paths, service), Editor.on_socket(paths) as editor:
        await until(lambda: service.state.phase == "ready")
        await editor.initialize()
        editor.open(URI, "x = 1\n" * 40)
        before = await editor.complete(URI, 40, 0)
        weights, documents = weakref.ref(completer.target), service.dictionary
        await until(lambda: service.state.is_released)
        await until(lambda: completer.is_released)
        assert weights() is None
        status = await editor.request("completiond/status")
        assert status["detail"] == "released after 1 s without use; the next request loads it again"

        assert before["items"]
        assert await editor.complete(URI, 40, 0) == before
        assert service.dictionary == documents, "what is open was followed"
        assert "loaded again in" in (await editor.request("completiond/status"))["detail"]


@PROC
async def test_18_nothing_wakes_up_while_nobody_types(paths: Paths) -> None:
    """The machine is busy though nothing is asked for: something polls."""
    env = environment(paths, COMPLETIOND_SERVE_COMMAND=SCRIPTED)
    async with Editor.on_program(*SHIM, env=env) as editor:
        await editor.initialize()
        assert await answer_of(editor) == ANSWER
        daemon, shim = holder_pid(paths.lock), editor.process
        assert daemon is not None
        assert shim is not None
        before = (-1, -1)
        async with asyncio.timeout(TIMEOUT_S):  # what polls more often than each QUIET_S never lets this end
            while before != (before := (_wake_ups(daemon), _wake_ups(shim.pid))):  # noqa: ASYNC110
                await asyncio.sleep(QUIET_S)


@pytest.fixture
def calls_out(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Addresses that were to be reached over the network, in vain."""
    asked: list[object] = []
    connect = socket.socket.connect

    def connect_if_local(self: socket.socket, address: Any) -> None:
        if self.family == socket.AF_UNIX:
            return connect(self, address)
        asked.append(address)
        raise OSError("the network is down")

    def look_up(*address: object, **_more: object) -> None:
        asked.append(address)
        raise socket.gaierror("the network is down")

    monkeypatch.setattr(socket.socket, "connect", connect_if_local)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


async def test_19_a_model_on_this_machine_is_served_without_a_network(tmp_path: Path, calls_out: list[object]) -> None:
    """The server does not start without a network, though the weights are there."""
    model = ModelConfig(name=str(make_folder(tmp_path / "model", "qwen2")), context_tokens=256, threads=1)
    config = PATIENT.model_copy(update={"model": model})
    with temporary_paths() as paths:
        service = LocalService(config, paths)
        async with daemon_in_process(paths, service), Editor.on_socket(paths) as editor:
            await editor.initialize()
            await until(lambda: service.state.phase != "loading")
            assert service.state.phase == "ready", service.state.detail
            params = {"prefix": "total = ", "maxTokens": 4}
            assert (await editor.request("completiond/complete", params))["passes"] > 0
    assert calls_out == []


async def test_19_a_model_that_is_missing_is_named_with_what_to_do(calls_out: list[object]) -> None:
    """Without the weights there is a long wait, and then a message about a network."""
    with temporary_paths() as paths:
        service = LocalService(Config(), paths)
        async with daemon_in_process(paths, service), Editor.on_socket(paths) as editor:
            await editor.initialize()
            told = await editor.wait_for("window/logMessage")
            name = Config().model.name
            assert f"{name} is not on this machine" in told["message"]
            assert f"completiond model pull {name}" in told["message"]
            status = await editor.request("completiond/status")
            assert status["phase"] == "failed"
            assert name in status["detail"]
    assert calls_out == []


async def test_20_a_proxy_does_not_stand_between_us_and_our_daemon(paths: Paths) -> None:
    """What is set for the way out catches what stays on this machine."""
    dead = "http://127.0.0.1:9"
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    env = environment(paths, COMPLETIOND_SERVE_COMMAND=SCRIPTED, **dict.fromkeys(names, dead))
    async with Editor.on_program(*SHIM, env=env) as editor:
        await editor.initialize()
        assert await answer_of(editor) == ANSWER
        command = [sys.executable, "-m", "completiond", "status", "--json"]
        run = await asyncio.to_thread(subprocess.run, command, env=env, capture_output=True, text=True)
        assert (run.returncode, '"phase": "ready"' in run.stdout) == (0, True), run.stderr


async def test_21_while_the_model_loads_the_editor_is_served_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that loads for longer than a client waits looks like a broken server."""
    gate, target = threading.Event(), ScriptedTarget()
    target.answer_ids = bytes_of("a + b")
    completer = Completer(LoadedModel(target, fake_tokenizer(), {"eos_token_id": EOS}), PATIENT)

    def hold_up() -> None:
        assert gate.wait(TIMEOUT_S), "the test forgot to open the gate"

    async with (
        served(monkeypatch, completer, before_load=hold_up) as (paths, service),
        Editor.on_socket(paths) as editor,
    ):
        try:
            desk = Desk(paths, service, completer, target, editor)
            await editor.initialize(progress=True)
            place = desk.open("total = §\n")
            assert await editor.complete(URI, *place) == EMPTY
            await until(lambda: service.state.progress == 0.5)
            status = await desk.status()
            assert (status["phase"], status["progress"], status["detail"]) == ("loading", 0.5, "reading weights")
            await editor.wait_for("$/progress", lambda params: params["value"]["kind"] == "begin")
            assert editor.count("window/showMessage") == 0
        finally:
            gate.set()
        await editor.wait_for("$/progress", lambda params: params["value"]["kind"] == "end")
        assert (await desk.status())["phase"] == "ready"
        assert await desk.ask(place) == "a + b"


async def test_22_memory_that_runs_out_costs_one_answer_and_not_the_daemon(desk: Desk) -> None:
    """When memory runs out the server hangs, or dies and is started again and again."""
    failures = iter([True])
    desk.target.before_pass = lambda: allocate_all() if next(failures, False) else None
    desk.will_say("a + b")
    place = desk.open("total = §\n")
    assert await desk.editor.complete(URI, *place) == EMPTY
    assert await desk.ask(place) == "a + b"
    assert (await desk.status())["phase"] == "ready"


async def test_22_a_daemon_that_cannot_start_is_told_once_with_the_reason(paths: Paths) -> None:
    """A server that dies while it starts is started for ever, and nobody says why."""
    env = environment(paths, FAKE_START_ERROR="completiond: no memory is left")
    async with Editor.on_program(*SHIM, env=env) as editor:
        await editor.initialize()
        told = await editor.wait_for("window/logMessage")
        assert "no memory is left" in told["message"]
        editor.open(URI, "total = \n")
        assert await editor.complete(URI, 0, 8) == EMPTY
        assert editor.count("window/logMessage") == 1
        assert editor.count("window/showMessage") == 0
