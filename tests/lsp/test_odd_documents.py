"""Documents that are no ordinary file of an ordinary size: only the model is a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from completiond.complete.tokens import TextTokenizer
from completiond.config import ExcludeConfig
from completiond.config.settings import Settings
from completiond.paths import Paths
from tests.complaints.desk import PATIENT, Desk, desk_in
from tests.complete.drafting import change, span
from tests.e2e.harness import EMPTY

ANSWER = "result = registry.lookup(identifier)"
TEXT = "def get(registry, identifier):\n    §\n"
CELL = "vscode-notebook-cell:/p/a.ipynb#W0sZmlsZQ%3D%3D"


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    async with desk_in(monkeypatch, PATIENT.model_copy(update={"exclude": ExcludeConfig(globs=("legal/*",))})) as one:
        one.will_say(ANSWER)
        yield one


@pytest.mark.parametrize(
    "uri",
    [
        CELL,
        "untitled:Untitled-1",
        "untitled:Untitled-1.py",
        "file:///p/Makefile",
        "file:///p/LICENSE",
        "file:///p/.profile",
        "file:///p/caf%C3%A9/%E6%BC%A2.py",
        "file:///c%3A/Users/me/a.py",
        "file://server/share/a.py",
        "vscode-remote://ssh-remote%2Bhost/p/a.py",
        "inmemory://model/1",
        "file:///",
        "",
        "no-uri-at-all",
        "file://[/a.py",
    ],
)
async def test_whatever_a_document_is_called_its_text_counts(desk: Desk, uri: str) -> None:
    place = desk.open(TEXT, uri)
    assert await desk.ask(place, uri) == ANSWER
    desk.editor.insert(uri, *place, "# ", 2)
    desk.will_say("a note")
    assert await desk.ask((place[0], place[1] + 2), uri) == "a note"
    desk.editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await desk.editor.complete(uri, *place) == EMPTY
    assert desk.editor.count("window/showMessage") == desk.editor.count("window/logMessage") == 0


async def test_a_document_without_a_language_is_completed(desk: Desk) -> None:
    for number, language in enumerate([None, 7, "", "no-such-language"]):
        uri = f"untitled:{number}"
        document = {"uri": uri, "languageId": language, "version": 1, "text": "x = \n"}
        desk.editor.notify("textDocument/didOpen", {"textDocument": document})
        assert await desk.ask((0, 4), uri) == ANSWER


# Notebooks


async def test_cells_of_a_notebook_are_documents_of_their_own(desk: Desk) -> None:
    cells = [f"vscode-notebook-cell:/p/a.ipynb#cell{number}" for number in range(3)]
    places = [desk.open(f"first_{number} = §\n", cell) for number, cell in enumerate(cells)]
    for cell, place in zip(cells, places, strict=True):
        assert await desk.ask(place, cell) == ANSWER
    texts = [desk.decoded(prompt) for prompt in desk.target.prompts]
    assert texts == [f"first_{number} = \n" for number in range(3)]
    assert (await desk.status())["dictionary"]["documents"] == 3


async def test_a_client_that_speaks_of_notebooks_is_not_harmed(desk: Desk) -> None:
    notebook = {"uri": "file:///p/a.ipynb", "notebookType": "jupyter-notebook", "version": 1, "cells": []}
    desk.editor.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": []})
    assert await desk.ask(desk.open(TEXT, CELL), CELL) == ANSWER
    assert desk.editor.count("window/showMessage") == desk.editor.count("window/logMessage") == 0


async def test_a_cell_of_a_notebook_that_may_not_be_read_is_not(desk: Desk, tmp_path: Path) -> None:
    event = {"added": [{"uri": tmp_path.as_uri(), "name": "root"}], "removed": []}
    desk.editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    for name, expected in {"legal/a.ipynb": "", "other/a.ipynb": ANSWER}.items():
        cell = f"vscode-notebook-cell:{tmp_path}/{name}#W0sZmlsZQ"
        assert await desk.ask(desk.open(TEXT, cell), cell) == expected


# Several roots


@pytest.fixture
def roots(tmp_path: Path) -> dict[str, Path]:
    """Two folders side by side and one inside of the first, each with limits of its own."""
    roots = {"one": tmp_path / "one", "two": tmp_path / "two", "inner": tmp_path / "one" / "inner"}
    for name, max_tokens in {"one": 5, "two": 4, "inner": 7}.items():
        roots[name].mkdir()
        (roots[name] / ".completiond.toml").write_text(f"[completion]\nmax_tokens = {max_tokens}\n")
    (roots["two"] / "off").mkdir()
    (roots["two"] / "off" / ".completiond.toml").write_text("[completion]\nenabled = false\n")
    return roots


@pytest.fixture
async def wide_desk(monkeypatch: pytest.MonkeyPatch, roots: dict[str, Path]) -> AsyncIterator[Desk]:
    folders = [{"uri": root.as_uri(), "name": name} for name, root in roots.items()]

    def patient(paths: Paths) -> Settings:
        environment = {"COMPLETIOND_COMPLETION_DEADLINE_MS": "60000", "COMPLETIOND_CACHE_AHEAD": "false"}
        return Settings(paths.config_file, environment, trust_file=paths.trust_file)

    async with desk_in(monkeypatch, make_settings=patient, initialize={"workspaceFolders": folders}) as one:
        one.will_say("abcdefghijklmnop")
        yield one


async def test_of_several_roots_the_nearest_counts(wide_desk: Desk, roots: dict[str, Path], tmp_path: Path) -> None:
    expected = {
        roots["one"] / "a.py": "abcde",
        roots["two"] / "a.py": "abcd",
        roots["inner"] / "a.py": "abcdefg",
        roots["inner"] / "deep" / "a.py": "abcdefg",
        roots["two"] / "off" / "a.py": "",
        tmp_path / "elsewhere" / "a.py": "abcdefghijklmnop",
    }
    for path, text in expected.items():
        assert await wide_desk.ask(wide_desk.open("x = §\n", path.as_uri()), path.as_uri()) == text


async def test_a_root_that_is_closed_leaves_the_others_as_they_are(wide_desk: Desk, roots: dict[str, Path]) -> None:
    event = {"added": [], "removed": [{"uri": roots["one"].as_uri(), "name": "one"}]}
    wide_desk.editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    for name, text in {"two": "abcd", "inner": "abcdefg"}.items():
        uri = (roots[name] / "a.py").as_uri()
        assert await wide_desk.ask(wide_desk.open("x = §\n", uri), uri) == text


async def test_a_cell_has_the_settings_of_its_notebook_s_folder(wide_desk: Desk, roots: dict[str, Path]) -> None:
    for folder, text in {roots["two"]: "abcd", roots["two"] / "off": "", roots["inner"]: "abcdefg"}.items():
        cell = f"vscode-notebook-cell:{folder}/a.ipynb#W0sZmlsZQ"
        assert await wide_desk.ask(wide_desk.open("x = §\n", cell), cell) == text


# Size


class EncodedChars:
    """Counts the characters that are given to the tokenizer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for name in ("encode", "encode_inside", "encode_with_offsets"):
            monkeypatch.setattr(TextTokenizer, name, self._counting(getattr(TextTokenizer, name)))

    def _counting(self, encode: Callable[[TextTokenizer, str], Any]) -> Callable[[TextTokenizer, str], Any]:
        def counting(tokenizer: TextTokenizer, text: str) -> Any:
            self.count += len(text)
            return encode(tokenizer, text)

        return counting

    def take(self) -> int:
        taken, self.count = self.count, 0
        return taken


LINE = "    total_of_all = registry.lookup(identifier) + 1  # a note\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(LINE * 45_000, "\n" + LINE * 45_000, id="5 MB of lines"),
        pytest.param("x = [", "1234, " * 340_000 + "]\n", id="a line of 2 MB"),
        pytest.param("x = [" + "1234, " * 170_000, "1234, " * 170_000 + "]\n", id="inside a line of 2 MB"),
    ],
)
async def test_in_a_huge_document_a_key_costs_what_it_costs_in_a_small_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    uri = "file:///p/huge.py"
    line, character = desk.open(f"{before}§{after}", uri)
    desk.will_say("5678")
    await desk.editor.complete(uri, line, character)
    encoded, num_read = EncodedChars(monkeypatch), desk.completer.work.computed_tokens
    for key in range(3):
        desk.editor.insert(uri, line, character + key, "y", 2 + key)
        assert await desk.ask((line, character + key + 1), uri) in ("5678", "")
        assert encoded.take() < 60_000
        assert desk.completer.work.computed_tokens - num_read < 2 * 2048
        num_read = desk.completer.work.computed_tokens
    assert all(len(ids) <= 2048 for ids in desk.target.read)
    change(desk.editor, uri, {"range": span((line, character), (line, character + 3)), "text": ""})
    await desk.editor.complete(uri, line, character)
    assert encoded.take() < 60_000
    assert desk.editor.count("window/showMessage") == desk.editor.count("window/logMessage") == 0


# Writing


@pytest.mark.parametrize(
    ("text", "written", "suggestion"),
    [
        ("שם = f(§)\n", '"שלום")\n', '"שלום"'),
        ("# مرحبا §\nx = 1\n", "بالعالم\n", "بالعالم"),
        ("s = 'e\u0301§'\n", "t\u0301e\u0301')\n", "t\u0301e\u0301"),
        ("s = '\u202bשלום§\u202c'\n", " עולם\u202c'\n", " עולם"),
        ("if x:\n    §\n", "s = '👩\u200d💻'\n    t = '漢'\n", "s = '👩\u200d💻'\n    t = '漢'"),
    ],
)
async def test_text_of_other_scripts_is_continued_where_it_stands(
    desk: Desk, text: str, written: str, suggestion: str
) -> None:
    desk.will_say(written)
    uri = "file:///p/other.py"
    assert await desk.ask(desk.open(text, uri), uri) == suggestion
