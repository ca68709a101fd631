"""The daemon as a process among others: one per user, found, started and ended by anyone of that user."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import completiond.client
from completiond import __version__, daemon, errors
from completiond.client import Client, connect
from completiond.commands.daemon import freeze_when_ready, status, stop
from completiond.daemon import run_daemon
from completiond.launch import DaemonStarter, try_connect
from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.e2e.harness import (
    FAKE_DAEMON,
    ROOT,
    TIMEOUT_S,
    Editor,
    daemon_in_process,
    environment,
    is_listening,
    kill_daemon,
    temporary_paths,
    until,
)
from tests.fakes import FakeService


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> Iterator[Paths]:
    with temporary_paths() as paths:
        for name, value in environment(paths).items():
            monkeypatch.setenv(name, value)
        yield paths


def _start(paths: Paths, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(FAKE_DAEMON, env=environment(paths, **more), cwd=ROOT, stderr=subprocess.PIPE, text=True)


def _wait_until_listening(paths: Paths) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (paths.runtime_dir.exists() and is_listening(paths)):
        assert time.monotonic() < deadline_s, "the daemon does not listen"
        time.sleep(0.01)


def _end(process: subprocess.Popen[str]) -> str:
    """Wait for the end of a daemon and return what it said."""
    try:
        _, said = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return said


# One daemon


async def test_folder_and_socket_are_private(paths: Paths) -> None:
    paths.runtime_dir.mkdir(parents=True, mode=0o755)
    async with daemon_in_process(paths, FakeService()):
        assert stat.S_IMODE(paths.runtime_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE(paths.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(paths.lock.stat().st_mode) == 0o600
        assert paths.lock.read_text() == f"{os.getpid()}\n"
    assert not paths.socket.exists()


async def test_it_listens_before_the_service_is_made(paths: Paths) -> None:
    listening = []

    def factory() -> FakeService:
        listening.append(is_listening(paths))
        return FakeService()

    task = asyncio.create_task(run_daemon(factory, paths))
    await until(lambda: listening)
    async with Editor.on_socket(paths) as client:
        await client.request("completiond/stop")
    await asyncio.wait_for(task, TIMEOUT_S)
    assert listening == [True]


def test_a_second_daemon_refuses_with_one_line(paths: Paths) -> None:
    first = _start(paths)
    _wait_until_listening(paths)
    second = _start(paths)
    said = _end(second)
    assert second.returncode == 1
    assert len(said.splitlines()) == 1
    assert str(first.pid) in said
    assert str(paths.socket) in said
    with connect(paths, start=False) as client:
        assert client.call("completiond/status")["pid"] == first.pid
        client.call("completiond/stop")
    _end(first)
    assert first.returncode == 0


def test_a_socket_left_by_a_killed_daemon_is_replaced(paths: Paths) -> None:
    first = _start(paths)
    _wait_until_listening(paths)
    first.kill()
    _end(first)
    assert paths.socket.exists()
    second = _start(paths)
    _wait_until_listening(paths)
    second.terminate()
    _end(second)
    assert second.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_soon_and_cleanly(paths: Paths, number: signal.Signals) -> None:
    process = _start(paths, FAKE_LOADING="1,3600,")
    _wait_until_listening(paths)
    with connect(paths, start=False) as client:
        client.call("completiond/status")
        start_s = time.monotonic()
        process.send_signal(number)
        client.wait_until_closed(TIMEOUT_S)
    _end(process)
    assert process.returncode == 0
    assert time.monotonic() - start_s < 5  # about 0.1 on a machine with nothing else to do
    assert not paths.socket.exists()
    assert holder_pid(paths.lock) is None


def test_what_a_ready_model_consists_of_is_not_looked_through_for_garbage() -> None:
    """A full collection takes 0.1 s with torch and a model in memory, and may come at any key."""
    service = FakeService()
    service.subscribe(freeze_when_ready)
    service.set_state(replace(service.state, phase="loading"))
    gc.unfreeze()
    service.set_state(replace(service.state, phase="ready", is_released=True))
    assert gc.get_freeze_count() == 0
    service.set_state(replace(service.state, phase="ready", is_released=False))
    assert gc.get_freeze_count() > 1000
    gc.unfreeze()


async def test_a_service_that_does_not_close_does_not_keep_the_daemon(paths: Paths) -> None:
    class Stuck(FakeService):
        async def close(self) -> None:
            await asyncio.Event().wait()

    start_s = time.monotonic()
    async with daemon_in_process(paths, Stuck()):
        pass
    assert time.monotonic() - start_s < 10


@pytest.mark.parametrize("kind", ["link", "file"])
async def test_a_runtime_folder_that_is_not_ours_is_refused(paths: Paths, kind: str) -> None:
    planted = paths.runtime_dir.with_name("planted")
    planted.mkdir(mode=0o700)
    if kind == "link":
        paths.runtime_dir.symlink_to(planted)
    else:
        paths.runtime_dir.write_text("")
    with pytest.raises(errors.DaemonError):
        await run_daemon(FakeService, paths)
    with pytest.raises(errors.DaemonError):
        connect(paths, start=False)
    assert list(planted.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
async def test_a_runtime_folder_of_another_user_is_refused(paths: Paths) -> None:
    paths.runtime_dir.mkdir(mode=0o700)
    os.chown(paths.runtime_dir, 12345, 12345)
    with pytest.raises(errors.DaemonError, match="not a folder of yours"):
        await run_daemon(FakeService, paths)
    with pytest.raises(errors.DaemonError, match="not a folder of yours"):
        connect(paths, start=True)


async def test_a_path_too_long_for_a_socket_is_explained(paths: Paths) -> None:
    long = replace(paths, runtime_dir=paths.runtime_dir / ("x" * 120))
    with pytest.raises(errors.DaemonError, match="COMPLETIOND_RUNTIME_DIR"):
        await run_daemon(FakeService, long)


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell who is at the other end")
def test_a_client_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert daemon._is_ours(ours)
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert not daemon._is_ours(ours)


# Clients


def test_without_a_daemon_and_without_leave_to_start_one(paths: Paths) -> None:
    with pytest.raises(errors.DaemonUnreachableError, match="completiond serve"):
        connect(paths, start=False)
    assert holder_pid(paths.lock) is None


def test_connect_starts_a_daemon_that_outlives_the_client(paths: Paths) -> None:
    with connect(paths, start=True) as client:
        pid = client.call("completiond/status")["pid"]
    with connect(paths, start=True) as client:
        assert client.call("completiond/status")["pid"] == pid
    assert os.getsid(pid) == pid  # a session of its own: the terminal's Ctrl-C does not reach it


def test_many_at_once_start_one_daemon(paths: Paths) -> None:
    def pid_seen(_: int) -> int:
        with connect(paths, start=True) as client:
            pid: int = client.call("completiond/status")["pid"]
            return pid

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(pid_seen, range(8)))) == 1
    assert paths.log_file.read_text().count("Listening on") == 1


def test_a_daemon_that_dies_while_it_starts_leaves_its_last_words(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_START_ERROR", "no such model: qwen9")
    paths.make_runtime_dir()
    paths.log_file.write_text("words of an earlier one\n")
    with pytest.raises(errors.DaemonError) as caught:
        connect(paths, start=True)
    assert "no such model: qwen9" in caught.value.message
    assert "status 3" in caught.value.message
    assert "earlier" not in str(caught.value)
    assert str(paths.log_file) in caught.value.advice


def test_a_serve_command_that_does_not_exist(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLETIOND_SERVE_COMMAND", "/no/such/program")
    with pytest.raises(errors.DaemonError, match="/no/such/program"):
        connect(paths, start=True)


def test_the_daemon_does_not_import_from_the_folder_of_the_project(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = paths.runtime_dir.with_name("project")
    project.mkdir()
    (project / "asyncio.py").write_text("raise SystemExit('the project runs code in the daemon')")
    monkeypatch.chdir(project)
    with connect(paths, start=True) as client:
        assert client.call("completiond/status")["phase"] == "ready"


def test_a_full_log_is_put_aside(paths: Paths) -> None:
    paths.make_runtime_dir()
    paths.log_file.write_bytes(b"x" * 1_000_001)
    connect(paths, start=True).close()
    assert paths.log_file.stat().st_size < 10_000
    assert paths.log_file.with_name("daemon.old.log").stat().st_size == 1_000_001


def test_errors_come_back_as_what_they_were(paths: Paths) -> None:
    with connect(paths, start=True) as client:
        with pytest.raises(errors.UsageError) as caught:
            client.call("completiond/complete", {"prefix": "", "maxTokens": 4096})
        assert (caught.value.message, caught.value.advice) == ("max_tokens is 4096.", "Use fewer.")
        with pytest.raises(errors.DaemonError, match="Method Not Found"):
            client.call("completiond/fly")
        assert client.call("completiond/complete", {"prefix": "", "path": "slow.py"})["text"] == "slow"


def test_notifications_reach_the_caller(paths: Paths) -> None:
    seen: list[tuple[str, Any]] = []
    with connect(paths, start=True) as client:
        params = {"prefix": "", "path": "slow.py", "stream": True}
        client.call("completiond/complete", params, lambda *notification: seen.append(notification))
    assert [(method, chunk["text"]) for method, chunk in seen] == [("completiond/chunk", letter) for letter in "slow"]


def test_a_daemon_that_is_killed_is_unreachable(paths: Paths) -> None:
    with connect(paths, start=True) as client:
        kill_daemon(paths)
        with pytest.raises(errors.DaemonUnreachableError, match="went away"):
            client.call("completiond/status")
    with connect(paths, start=True) as client:
        assert client.call("completiond/status")["phase"] == "ready"


def test_a_daemon_of_another_version_is_refused(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(paths, start=True).close()
    monkeypatch.setattr(completiond.client, "__version__", "99.0")
    with pytest.raises(errors.DaemonError) as caught:
        connect(paths, start=False)
    assert __version__ in caught.value.message
    assert "99.0" in caught.value.message
    assert "completiond stop" in caught.value.advice
    connect(paths, start=False, check_version=False).close()


def test_what_is_no_answer_is_an_error(paths: Paths) -> None:
    ours, theirs = socket.socketpair()
    with theirs, Client(ours, paths) as client:
        theirs.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with pytest.raises(errors.DaemonError, match="cannot be read"):
            client.call("completiond/status")


def test_the_starter_waits_for_nothing(paths: Paths) -> None:
    starter = DaemonStarter(paths)
    start_s = time.monotonic()
    assert starter.poll() is None
    assert time.monotonic() - start_s < 1
    _wait_until_listening(paths)
    connection = starter.poll()
    assert connection is not None
    connection.close()
    starter.disown()


# Commands


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(status)
    app.command()(stop)
    return app


def test_status_and_stop_without_a_daemon(paths: Paths, app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["status"])
    assert (result.exit_code, result.output) == (1, "not running\n")
    result = CliRunner().invoke(app, ["status", "--json"])
    assert (result.exit_code, json.loads(result.output)) == (1, {"phase": "not running"})
    result = CliRunner().invoke(app, ["stop"])
    assert (result.exit_code, result.output) == (0, "No daemon is running.\n")


def test_status_and_stop_with_a_daemon(paths: Paths, app: typer.Typer) -> None:
    with connect(paths, start=True) as client:
        pid = client.call("completiond/status")["pid"]
    result = CliRunner().invoke(app, ["status", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["pid"] == pid
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 0
    for text in ("ready", "fake-model", "cpu int8", str(pid), __version__, str(paths.socket)):
        assert text in result.output
    result = CliRunner().invoke(app, ["stop"])
    assert result.exit_code == 0
    assert str(pid) in result.output
    assert try_connect(paths) is None
    assert holder_pid(paths.lock) is None


def test_stop_ends_a_daemon_whose_socket_has_been_removed(paths: Paths, app: typer.Typer) -> None:
    process = _start(paths)
    _wait_until_listening(paths)
    paths.socket.unlink()
    result = CliRunner().invoke(app, ["stop"])
    assert (result.exit_code, str(process.pid) in result.output) == (0, True)
    _end(process)
    assert process.returncode == 0


def test_python_m_completiond_without_a_command_line_library_runs_the_shim(paths: Paths) -> None:
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "completiond", "lsp"],
        env=environment(paths),
        input="",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert run.returncode == 1
    assert "completiond.lsp.shim" in run.stderr
    assert "typer" not in run.stderr
