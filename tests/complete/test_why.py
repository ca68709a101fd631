"""``completiond status --why`` and the words of ``completiond complete``: all of a daemon but the model's weights."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.completer import Completer
from completiond.complete.reasons import REASONS
from completiond.complete.service import LocalService
from completiond.config.settings import Settings
from completiond.engine.out_of_memory import MEMORY_ADVICE
from completiond.paths import Paths
from tests.e2e.harness import (
    EMPTY,
    TIMEOUT_S,
    Editor,
    RpcError,
    daemon_in_process,
    environment,
    inline_params,
    temporary_paths,
    until,
)
from tests.fake_model import FakeTarget, bytes_of, fake_model, says

ANSWER = "total = first"
PREFIX = "first = 1\n"
PATIENCE_S = 20.0
SETTINGS = """
[model]
name = '{model}'
context_tokens = 512
[completion]
disabled_languages = ['markdown']
deadline_ms = 60000
[cache]
ahead = false
"""


@dataclass
class Desk:
    """A daemon whose model writes ANSWER, the folder its editor works in, and the environment of commands."""

    paths: Paths
    root: Path
    service: LocalService
    target: FakeTarget
    env: dict[str, str]

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command, in the folder."""
        command = [sys.executable, "-m", "completiond", *arguments]
        return await asyncio.to_thread(
            subprocess.run, command, cwd=self.root, env=self.env, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip

    async def recent(self, editor: Editor) -> list[dict[str, Any]]:
        """What the daemon tells of the last requests."""
        found: list[dict[str, Any]] = (await editor.request("completiond/status", {"why": True}))["recent"]
        return found

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    root, model_folder = tmp_path / "repository", tmp_path / "model"
    for folder in (root, root / ".git", model_folder):
        folder.mkdir()
    for name in ("config.json", "model.safetensors"):  # a model as far as its name goes
        (model_folder / name).write_bytes(b"")
    model, target = fake_model(says(bytes_of(ANSWER)))
    with temporary_paths() as paths:
        paths.config_dir.mkdir()
        paths.config_file.write_text(SETTINGS.format(model=model_folder))
        settings = Settings(paths.config_file, {}, trust_file=paths.trust_file)
        completer = Completer(model, settings.config)
        monkeypatch.setattr("completiond.complete.open_completer.open_completer", lambda *_: completer)
        service = LocalService(settings.config, paths, settings)
        async with daemon_in_process(paths, service, settings):
            await until(lambda: service.state.phase == "ready")
            yield Desk(paths, root, service, target, environment(paths))


@pytest.fixture
async def editor(desk: Desk) -> AsyncIterator[Editor]:
    async with Editor.on_socket(desk.paths) as editor:
        info = {"name": "Ed", "version": "1"}
        await editor.request("initialize", {"capabilities": {}, "rootUri": desk.root.as_uri(), "clientInfo": info})
        editor.notify("initialized", {})
        yield editor


async def test_an_answer_and_the_same_one_from_the_cache(desk: Desk, editor: Editor) -> None:
    editor.open(desk.uri("a.py"), PREFIX)
    for _ in range(2):
        answer = await editor.complete(desk.uri("a.py"), 1, 0)
        assert [item["insertText"] for item in answer["items"]] == [ANSWER]

    again, first = await desk.recent(editor)

    assert {name: first[name] for name in ("client", "document", "line", "column", "lines", "characters")} == {
        "client": "Ed", "document": "a.py", "line": 2, "column": 0, "lines": 1, "characters": len(ANSWER),
    }  # fmt: skip
    assert (first["served_from"], first["reason"], first["meaning"]) == ("engine", "eos", REASONS["eos"])
    assert (again["served_from"], again["reason"]) == ("cache", "eos")
    assert 0 <= again["ago_s"] <= first["ago_s"]
    assert again["took_ms"] >= 0


async def test_a_superseded_request_and_a_cancelled_one(desk: Desk, editor: Editor) -> None:
    in_pass, go_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        in_pass.set()
        assert go_on.wait(PATIENCE_S)

    desk.target.before_pass = hold_up
    editor.open(desk.uri("a.py"), PREFIX)
    editor.open(desk.uri("b.py"), PREFIX)
    older = editor.ask(desk.uri("a.py"), 1, 0)
    assert await asyncio.to_thread(in_pass.wait, PATIENCE_S)
    newer = editor.ask(desk.uri("a.py"), 0, 5)
    assert await asyncio.wait_for(older, TIMEOUT_S) is None
    message, cancelled = editor.prepare("textDocument/inlineCompletion", inline_params(desk.uri("b.py"), 1, 0))
    editor.send(message)
    await editor.request("completiond/status")  # by its answer, the request before it is under way
    editor.notify("$/cancelRequest", {"id": message["id"]})
    with pytest.raises(RpcError):
        await asyncio.wait_for(cancelled, TIMEOUT_S)
    go_on.set()
    await asyncio.wait_for(newer, TIMEOUT_S)

    newest, *noted = [(one["document"], one["line"], one["reason"]) for one in await desk.recent(editor)]

    assert newest[:2] == ("a.py", 1)
    assert noted == [("b.py", 2, "cancelled"), ("a.py", 2, "superseded")]


async def test_files_without_suggestions(desk: Desk, editor: Editor) -> None:
    (desk.root / ".gitignore").write_text("ignored.py\n")
    for name, language in (("credentials.json", "json"), ("ignored.py", "python"), ("notes.md", "markdown")):
        document = {"uri": desk.uri(name), "languageId": language, "version": 1, "text": PREFIX}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        assert await editor.complete(desk.uri(name), 1, 0) == EMPTY

    noted = {one["document"]: one for one in await desk.recent(editor)}

    assert {name: one["reason"] for name, one in noted.items()} == {
        "credentials.json": "excluded: secret_name",
        "ignored.py": "excluded: gitignore",
        "notes.md": "off: completion.disabled_languages",
    }
    assert all(one["served_from"] == "" and one["meaning"] == REASONS[one["reason"]] for one in noted.values())


async def test_places_without_suggestions(desk: Desk, editor: Editor) -> None:
    text = desk.paths.config_file.read_text().replace("[cache]", "in_comments = false\nin_strings = false\n[cache]")
    desk.paths.config_file.write_text(text)
    editor.notify("workspace/didChangeWatchedFiles", {"changes": []})
    editor.open(desk.uri("a.py"), "# of \nname = 'of '\n")
    assert await editor.complete(desk.uri("a.py"), 0, 5) == EMPTY
    assert await editor.complete(desk.uri("a.py"), 1, 11) == EMPTY

    assert [one["reason"] for one in await desk.recent(editor)] == [
        "off: completion.in_strings", "off: completion.in_comments"
    ]  # fmt: skip


async def test_errors_that_an_editor_is_not_told_of(desk: Desk, editor: Editor) -> None:
    editor.open(desk.uri("a.py"), PREFIX)
    desk.paths.config_file.write_text(
        desk.paths.config_file.read_text().replace("[cache]", "max_tokens = 500\n[cache]")
    )
    editor.notify("workspace/didChangeWatchedFiles", {"changes": []})
    assert await editor.complete(desk.uri("a.py"), 1, 0) == EMPTY
    (no_room,) = await desk.recent(editor)

    assert no_room["reason"] == "error: UsageError"
    assert "max_tokens 500 leaves no room" in no_room["meaning"]

    def fail(error: Exception) -> None:
        desk.target.before_pass = lambda: None
        raise error

    for error in (MemoryError(), ZeroDivisionError(PREFIX)):
        desk.target.before_pass = lambda error=error: fail(error)  # type: ignore[misc]
        with pytest.raises(RpcError):
            await editor.request("completiond/complete", {"prefix": PREFIX, "maxTokens": 9, "drafter": "none"})
    defect, no_memory = (await desk.recent(editor))[:2]
    assert no_memory["reason"] == "error: MemoryFullError"
    assert MEMORY_ADVICE in no_memory["meaning"]
    assert (defect["reason"], defect["document"]) == ("error: internal", "")
    assert "first" not in json.dumps(await desk.recent(editor)), "nothing of the text"


async def test_what_a_client_that_has_gone_asked_for_stays(desk: Desk, editor: Editor) -> None:
    async with Editor.on_socket(desk.paths) as other:
        await other.request("completiond/complete", {"prefix": PREFIX, "path": "x.py"})
    (one,) = await desk.recent(editor)

    assert (one["client"], one["document"], one["reason"]) == ("", "x.py", "eos")
    assert "recent" not in await editor.request("completiond/status")
    assert "recent" not in await editor.request("completiond/status", {"why": 1})


async def test_the_command_tells_all_of_it_in_words(desk: Desk, editor: Editor) -> None:
    assert (await desk.run("status", "--why")).stdout == "No request has ended yet.\n"
    editor.open(desk.uri("a.py"), PREFIX)
    editor.open(desk.uri(".env"), PREFIX)
    await editor.complete(desk.uri("a.py"), 1, 0)
    await editor.complete(desk.uri(".env"), 1, 0)

    silence, why_silent, answer, why_so = (await desk.run("status", "--why")).stdout.splitlines()
    assert " ago · Ed · .env 2:0 · nothing · " in silence
    assert why_silent == f"    excluded: secret_name: {REASONS['excluded: secret_name']}"
    assert " ago · Ed · a.py 2:0 · 1 line, 13 characters · written by the model · " in answer
    assert why_so == f"    eos: {REASONS['eos']}"
    values = json.loads((await desk.run("status", "--why", "--json")).stdout)
    assert [one["document"] for one in values["recent"]] == [".env", "a.py"]
    assert values["phase"] == "ready"


async def test_who_only_asks_for_the_status_is_no_client(desk: Desk, editor: Editor) -> None:
    assert json.loads((await desk.run("status", "--json")).stdout)["clients"] == 1
    async with Editor.on_socket(desk.paths) as other:
        assert (await other.request("completiond/status"))["clients"] == 1
        await other.request("completiond/complete", {"prefix": PREFIX})
        assert (await other.request("completiond/status"))["clients"] == 2


async def test_the_command_line_says_why_there_is_nothing(desk: Desk, editor: Editor) -> None:
    for name in (".env", "notes.md", "a.py"):
        (desk.root / name).write_text(PREFIX)
    for name, reason in ((".env", "excluded: secret_name"), ("notes.md", "off: completion.disabled_languages")):
        result = await desk.run("complete", name, "--line", "2")
        assert (result.returncode, result.stdout) == (0, "\n")
        assert result.stderr == f"no suggestion ({reason}): {REASONS[reason]}\n"
    desk.target.script = says(bytes_of("\n\n"))
    result = await desk.run("complete", "a.py", "--line", "2")
    assert (result.returncode, result.stdout) == (0, "\n")
    said, figures = result.stderr.splitlines()
    assert said == f"no suggestion (empty): {REASONS['empty']}"
    assert "tokens in" in figures

    status = json.loads((await desk.run("status", "--why", "--json")).stdout)
    assert [one["reason"] for one in status["recent"]] == [
        "empty", "off: completion.disabled_languages", "excluded: secret_name"
    ]  # fmt: skip
    assert status["counters"]["requests"] == status["counters"]["empty"] == 3, "those in excluded files count, too"
    assert {one["client"] for one in status["recent"]} == {""}


async def test_without_a_daemon_there_is_no_reason_either(tmp_path: Path) -> None:
    with temporary_paths() as paths:
        command = [sys.executable, "-m", "completiond", "status", "--why"]
        result = await asyncio.to_thread(
            subprocess.run, command, env=environment(paths), capture_output=True, text=True, timeout=120, check=False
        )
    assert (result.returncode, result.stdout) == (1, "not running\n")
