"""What a model reads of other open files, through a real daemon: sockets, LSP, the service with its thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from completiond.config import ExcludeConfig, PromptConfig
from tests.complete.drafting import Daemon, change, config, drafting_daemon, span
from tests.e2e.harness import Editor

ANSWER = "total = 1"
MAIN = "from depot import Depot\n\ndepot = Depot()\ndepot.fetch("
PLACE = (3, 12)
DEPOT = "class Depot:\n    shelves = 12\n\n    def fetch(self, name, count):\n        return self.shelf[name]\n"
SECRET = "k9Xw2LmQ7vRt4Zp8hJ3n"


class Reader:
    """A daemon whose model's texts are kept, as far as a token was wanted behind them."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.read: list[str] = []
        target = daemon.completer.target
        script, tokenizer = target.script, daemon.completer.tokenizer

        def recording(ids: Sequence[int]) -> Tensor:
            self.read.append(tokenizer.decode(ids))
            logits: Tensor = script(ids)
            return logits

        target.script = recording

    async def read_at(self, editor: Editor, uri: str, place: tuple[int, int] = PLACE) -> str:
        self.read.clear()
        answer: Any = await editor.complete(uri, *place)
        assert [item["insertText"] for item in answer["items"]] == [ANSWER]
        return self.read[0]


@pytest.fixture
async def reader(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Reader]:
    prompt = PromptConfig(prefix_tokens=200, suffix_tokens=60, context_tokens=400)
    settings = config(exclude=ExcludeConfig(globs=("legal/*.py",))).model_copy(update={"prompt": prompt})
    async with drafting_daemon(monkeypatch, ANSWER, settings) as daemon:
        yield Reader(daemon)


@pytest.fixture
async def editor(reader: Reader, tmp_path: Path) -> AsyncIterator[Editor]:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    async with Editor.on_socket(reader.daemon.paths) as editor:
        await editor.request(
            "initialize", {"capabilities": {}, "workspaceFolders": [{"uri": tmp_path.as_uri(), "name": "repo"}]}
        )
        editor.notify("initialized", {})
        yield editor


async def test_a_definition_in_another_open_file_is_read(reader: Reader, editor: Editor, tmp_path: Path) -> None:
    main = (tmp_path / "main.py").as_uri()
    editor.open(main, MAIN)
    assert (await reader.read_at(editor, main)).endswith(MAIN)
    assert "shelves" not in reader.read[0]
    editor.open((tmp_path / "app" / "depot.py").as_uri(), DEPOT)
    said = await reader.read_at(editor, main)
    assert "# app/depot.py\nclass Depot:\n    shelves = 12\n    def fetch(self, name, count): ...\n" in said
    assert "# main.py\nfrom depot import Depot" in said
    assert "self.shelf" not in said


@pytest.mark.parametrize("name", ["ignored.py", "legal/depot.py", "prod.env", "id_rsa"])
async def test_a_file_that_may_not_be_read_is_not_told_of(
    reader: Reader, editor: Editor, tmp_path: Path, name: str
) -> None:
    main, other = (tmp_path / "main.py").as_uri(), (tmp_path / name).as_uri()
    editor.open(main, MAIN)
    editor.open(other, DEPOT)
    assert "shelves" not in await reader.read_at(editor, main)
    change(editor, other, {"text": DEPOT + "# changed\n"})
    change(editor, main, {"range": span(PLACE, PLACE), "text": "a"})
    await reader.read_at(editor, main, (3, 13))
    assert not any("shelves" in one or "changed" in one for one in reader.read)


async def test_a_secret_in_an_open_file_is_not_told(reader: Reader, editor: Editor, tmp_path: Path) -> None:
    main, other = (tmp_path / "main.py").as_uri(), (tmp_path / "depot.py").as_uri()
    editor.open(main, MAIN)
    editor.open(other, DEPOT.replace("shelves = 12", f"shelves = 12\n    api_key = '{SECRET}'"))
    said = await reader.read_at(editor, main)
    assert "shelves = 12" in said
    assert SECRET[:8] not in said
    change(editor, other, {"range": span((2, 20), (2, 24)), "text": ""})
    change(editor, main, {"range": span(PLACE, PLACE), "text": "a"})
    said = await reader.read_at(editor, main, (3, 13))
    assert "shelves = 12" in said
    assert SECRET[8:16] not in said


async def test_what_another_editor_has_open_is_not_told(reader: Reader, editor: Editor, tmp_path: Path) -> None:
    main, other = (tmp_path / "main.py").as_uri(), (tmp_path / "depot.py").as_uri()
    async with Editor.on_socket(reader.daemon.paths) as second:
        await second.initialize()
        second.open(other, DEPOT)
        await second.complete(other, 0, 0)
        editor.open(main, MAIN)
        assert "shelves" not in await reader.read_at(editor, main)


async def test_a_closed_file_is_not_told_of(reader: Reader, editor: Editor, tmp_path: Path) -> None:
    main, other = (tmp_path / "main.py").as_uri(), (tmp_path / "depot.py").as_uri()
    editor.open(main, MAIN)
    editor.open(other, DEPOT)
    assert "shelves" in await reader.read_at(editor, main)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": other}})
    change(editor, main, {"range": span(PLACE, PLACE), "text": "a"})
    assert "shelves" not in await reader.read_at(editor, main, (3, 13))
