"""A secret of the user's, wherever it comes from: who finds a trace of it?

The model repeats what it reads behind ``aws_access_id = ``; where it reads nothing there, it knows the first letters,
and drafts are checked to their ends, so that what is known anywhere shows. No secret stands in this file: it is put
together at run time, so that scanners stay quiet.
"""

from __future__ import annotations

import logging
import random
import string
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from completiond.config import ExcludeConfig, SpecConfig
from completiond.logs import configure_logging
from tests.complaints.desk import PATIENT, Desk, bytes_of, desk_in
from tests.complete.drafting import change, span
from tests.e2e.harness import EMPTY, until

RANDOM = random.Random(24)
SECRET = "AKIA" + "".join(RANDOM.choices(string.ascii_uppercase + string.digits[2:8], k=16))
INNOCENT = "read_from_the_system"
PIECE_CHARS = 8
"""So much of it is a trace."""
NAME = "aws_access_id = "
HEAD, TAIL = "def find(registry):\n", "    return registry\n"
TARGET = f"def connect():\n    {NAME}§\n"


@dataclass
class Trial:
    """A desk in the folder ``root``, where ``value`` is planted."""

    desk: Desk
    root: Path
    log: Path
    value: str
    answers: list[str] = field(default_factory=list)

    @property
    def logged(self) -> str:
        return self.log.read_text()

    @property
    def line(self) -> str:
        return f'{NAME}"{self.value}"'

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    async def ask(self, text: str = TARGET, name: str = "target.py") -> None:
        """Ask in an open text."""
        place = self.desk.open(text, self.uri(name))
        self.answers.append(await self.desk.ask(place, self.uri(name)))

    async def traces(self) -> set[str]:
        """Where the value, or a piece of it, is to be found."""
        status = await self.desk.status()
        indexes = self.desk.completer.dictionary._indexes.values()
        files = [path for path in self.desk.paths.cache_dir.parent.rglob("*") if path.is_file()]
        texts = {
            "prompts, drafts and all that was written": [self.desk.decoded(ids) for ids in self.desk.target.read],
            "answers": self.answers,
            "dictionary": [self.desk.decoded([one for one in index._tokens.tolist() if one >= 0]) for index in indexes],
            "log": [self.logged],
            "files": [path.read_bytes().decode("latin-1") for path in files],
            "messages": [str(message) for message in self.desk.editor.received],
            "status": [str(status)],
        }
        assert self.desk.target.read, "nothing was asked"
        assert self.logged, "nothing was logged"
        return {where for where, found in texts.items() if any(self._shows(text) for text in found)}

    def _shows(self, text: str) -> bool:
        starts = range(len(self.value) - PIECE_CHARS + 1)
        return any(self.value[start : start + PIECE_CHARS] in text for start in starts)


def recite(desk: Desk, value: str) -> None:
    """Have the model write what it reads behind ``NAME``, to the end of that line; else how ``value`` begins."""
    says = desk.target.script

    def script(ids: Sequence[int]) -> Any:
        prompt = desk.decoded(ids[: len(ids) - ids[::-1].index(desk.target.after)])
        found = [line.partition(NAME)[2] for line in prompt.split("\n") if line.partition(NAME)[2]]
        desk.target.answer_ids = bytes_of(found[0] if found else f'"{value[:4]}~')
        return says(ids)

    desk.target.script = script


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What a daemon at its most talkative writes."""
    loggers = [logging.getLogger(name) for name in ("completiond", "pygls")]
    before = [(one, one.handlers[:], one.level, one.propagate) for one in loggers]
    path = tmp_path / "daemon.log"
    with path.open("w", buffering=1) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        configure_logging(logging.DEBUG)
        yield path
        for one, handlers, level, propagate in before:
            one.handlers[:], one.propagate = handlers, propagate
            one.setLevel(level)


@asynccontextmanager
async def trial_in(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, value: str, workspace: tuple[str, ...] = ()
) -> AsyncIterator[Trial]:
    config = PATIENT.model_copy(
        update={
            "spec": SpecConfig(workspace=workspace),
            "exclude": ExcludeConfig(globs=("legal/*",)),
            "cache": PATIENT.cache.model_copy(update={"ahead": True}),
        }
    )
    async with desk_in(monkeypatch, config, initialize={"rootUri": root.as_uri()}) as desk:
        recite(desk, value)
        yield Trial(desk, root, log, value)


async def in_a_file_that_is_open(trial: Trial) -> None:
    trial.desk.open(f"{HEAD}    {trial.line}\n{TAIL}", trial.uri("open.py"))
    await trial.ask()


async def far_away_in_the_same_file(trial: Trial) -> None:
    filler = "".join(f"call_{number}()\n" for number in range(1500))
    await trial.ask(f"{HEAD}    {trial.line}\n{TAIL}{filler}{TARGET}")


async def in_text_from_the_clipboard(trial: Trial) -> None:
    trial.desk.open(HEAD + TAIL, trial.uri("open.py"))
    pasted = {"range": span((1, 0), (1, 0)), "text": f"    # from\n    {trial.line}\n"}
    change(trial.desk.editor, trial.uri("open.py"), pasted)
    await trial.ask()


async def in_a_line_that_was_deleted(trial: Trial) -> None:
    trial.desk.open(f"{HEAD}    {trial.line}\n{TAIL}", trial.uri("open.py"))
    change(trial.desk.editor, trial.uri("open.py"), {"range": span((1, 0), (2, 0)), "text": ""})
    await trial.ask()


async def in_a_line_that_was_deleted_at_the_cursor(trial: Trial) -> None:
    uri = trial.uri("target.py")
    trial.desk.open(f"{HEAD}    {trial.line}\n{TAIL}", uri)
    start = 4 + len(NAME)
    change(trial.desk.editor, uri, {"range": span((1, start), (1, 4 + len(trial.line))), "text": ""})
    trial.answers.append(await trial.desk.ask((1, start), uri))


async def in_a_neighbour_on_disk(trial: Trial) -> None:
    (trial.root / "neighbour.py").write_text(f"{HEAD}    {trial.line}\n{TAIL}")
    (trial.root / "other.py").write_text("x = 1\n")
    event = {"added": [{"uri": trial.root.as_uri(), "name": "root"}], "removed": []}
    trial.desk.editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    await until(lambda: trial.desk.service.dictionary.documents == 2)
    await trial.ask()


Origin = Callable[[Trial], Awaitable[None]]
ORIGINS: list[Origin] = [
    in_a_file_that_is_open, far_away_in_the_same_file, in_text_from_the_clipboard, in_a_line_that_was_deleted,
    in_a_line_that_was_deleted_at_the_cursor, in_a_neighbour_on_disk,
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin.__name__)
async def test_24_a_secret_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, origin: Origin
) -> None:
    """A key that stood somewhere is suggested somewhere else, or lies in a log or a cache."""
    async with trial_in(monkeypatch, root, log, SECRET, ("*.py",)) as trial:
        await origin(trial)
        assert await trial.traces() == set()


@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin.__name__)
async def test_24_what_is_no_secret_is_drafted_from_the_same_place(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, origin: Origin
) -> None:
    """Nothing is found where nothing is looked for: the same line without a secret leaves its traces."""
    async with trial_in(monkeypatch, root, log, INNOCENT, ("*.py",)) as trial:
        await origin(trial)
        assert "prompts, drafts and all that was written" in await trial.traces()


@pytest.mark.parametrize("name", [".env", "ignored.py", "own.py", "legal/contract.py"])
@pytest.mark.parametrize("value", [SECRET, INNOCENT])
async def test_24_an_excluded_file_leaves_no_trace_of_anything(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, name: str, value: str
) -> None:
    """What stands in a file that is to be left alone is suggested elsewhere, or read when one looks at it."""
    (root / ".gitignore").write_text("ignored.py\n")
    (root / ".completiondignore").write_text("own.py\n")
    async with trial_in(monkeypatch, root, log, value, ("*",)) as trial:
        uri, text = trial.uri(name), f"{HEAD}    {trial.line}\n    {NAME}§\n"
        place = trial.desk.open(text, uri)
        assert await trial.desk.editor.complete(uri, *place) == EMPTY
        change(trial.desk.editor, uri, {"range": span((0, 0), (0, 0)), "text": f"{trial.line}\n"})
        assert await trial.desk.editor.complete(uri, place[0] + 1, place[1]) == EMPTY
        await trial.ask()
        assert await trial.traces() == set()


async def test_24_what_goes_wrong_with_a_secret_is_logged_without_it(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path
) -> None:
    """A log that was sent with a report of a fault holds what stood in the file."""
    async with trial_in(monkeypatch, root, log, SECRET) as trial:
        editor, uri = trial.desk.editor, trial.uri("open.py")
        editor.open(uri, f"{HEAD}    {trial.line}\n{TAIL}")
        editor.notify("textDocument/didChange", {"textDocument": {"uri": uri}, "contentChanges": [trial.line]})
        assert await editor.request("textDocument/inlineCompletion", {"position": trial.line}) == EMPTY
        editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": trial.line})

        def fail() -> None:
            raise RuntimeError(f"cannot go on behind {trial.line}")

        trial.desk.target.before_pass = fail
        place = trial.desk.open(TARGET, trial.uri("target.py"))
        assert await editor.complete(trial.uri("target.py"), *place) == EMPTY
        trial.desk.target.before_pass = lambda: None
        await trial.ask()
        assert "RuntimeError" in trial.logged
        assert await trial.traces() == set()


async def near_the_cursor(trial: Trial) -> None:
    await trial.ask(f"{HEAD}    {trial.line}\n{TAIL}\n\n{TARGET}")


async def behind_the_cursor(trial: Trial) -> None:
    await trial.ask(f"{TARGET}\n\n{HEAD}    {trial.line}\n{TAIL}")


async def pasted_in_the_same_file(trial: Trial) -> None:
    uri = trial.uri("target.py")
    trial.desk.open(HEAD + TAIL + TARGET, uri)
    change(trial.desk.editor, uri, {"range": span((1, 0), (1, 0)), "text": f"    {trial.line}\n"})
    trial.answers.append(await trial.desk.ask((4, 4 + len(NAME)), uri))


async def deleted_behind_an_answer(trial: Trial) -> None:
    uri = trial.uri("target.py")
    await trial.ask(f"{HEAD}    {trial.line}\n{TAIL}{TARGET}")
    change(trial.desk.editor, uri, {"range": span((1, 0), (2, 0)), "text": ""})
    trial.answers.append(await trial.desk.ask((3, 4 + len(NAME)), uri))


async def half_before_and_half_behind_the_cursor(trial: Trial) -> None:
    await trial.ask(f'{HEAD}    {NAME}"{trial.value[:12]}§{trial.value[12:]}"\n{TAIL}')


async def cut_short_near_the_cursor(trial: Trial) -> None:
    uri = trial.uri("target.py")
    trial.desk.open(f"{HEAD}    {trial.line}\n{TAIL}{TARGET}", uri)
    begins = 4 + len(NAME) + 1
    change(trial.desk.editor, uri, {"range": span((1, begins), (1, begins + 5)), "text": ""})
    trial.answers.append(await trial.desk.ask((4, 4 + len(NAME)), uri))


NEAR: list[Origin] = [
    near_the_cursor, behind_the_cursor, pasted_in_the_same_file, deleted_behind_an_answer,
    half_before_and_half_behind_the_cursor, cut_short_near_the_cursor,
]  # fmt: skip


@pytest.mark.parametrize("origin", NEAR, ids=lambda origin: origin.__name__)
async def test_24_a_secret_beside_the_cursor_is_not_read(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, origin: Origin
) -> None:
    """A key in the file is repeated a few lines further down."""
    async with trial_in(monkeypatch, root, log, SECRET, ("*.py",)) as trial:
        await origin(trial)
        assert await trial.traces() == set()


PASSWORDS = ["swordfish" + "-and-chips", "my dog is " + "called rex", "tango" + "foxtrot"]


@pytest.mark.parametrize("value", PASSWORDS)
@pytest.mark.parametrize("text", ['x = "{}"\n\n§\n', '§\n\nx = "{}"\n', 'x = "{}§\n', 'x = "{}§"\n'])
async def test_24_a_password_of_plain_words_is_not_read(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, value: str, text: str
) -> None:
    """A password that is no heap of letters is repeated a few lines further down, or while it is being typed."""
    async with trial_in(monkeypatch, root, log, value) as trial:
        await trial.ask(text.replace("x", "db_password").format(value))
        assert await trial.traces() == set()


@pytest.mark.parametrize("line", ['get(url, auth=("admin", "{}"))', 'run("curl -u admin:{} " + url)', 'senha = "{}"'])
async def test_24_a_password_without_that_name_is_not_read(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path, line: str
) -> None:
    """A password behind a user's name, or one that another language names, is repeated a few lines further down."""
    async with trial_in(monkeypatch, root, log, PASSWORDS[0]) as trial:
        await trial.ask(f"{line.format(PASSWORDS[0])}\n\n§\n")
        assert await trial.traces() == set()


async def test_24_what_is_assigned_to_another_name_is_read(
    monkeypatch: pytest.MonkeyPatch, root: Path, log: Path
) -> None:
    """Nothing is found where nothing is looked for."""
    async with trial_in(monkeypatch, root, log, PASSWORDS[0]) as trial:
        await trial.ask(f'menu = "{PASSWORDS[0]}"\n\n§\n')
        assert "prompts, drafts and all that was written" in await trial.traces()
