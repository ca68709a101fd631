"""A person in a real VS Code, with the extension, the daemon and the default model. Nothing is fake.

EDITORS_FOR_TESTS: where VS Code is kept. IMAGES_OF_TESTS: a folder for pictures of the screen.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from playwright.sync_api import Browser

from completiond.client import connect
from completiond.demo.scenes import SAMPLE_NAME, SCENES, sample_text
from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.e2e.editors.fetched import CannotInstallError
from tests.e2e.editors.vscode_driver import VSCode, open_browser, open_vscode
from tests.e2e.editors.vscode_install import VSCodeTools, build_extension, vscode_tools
from tests.e2e.editors.vscode_server import vscode_server
from tests.e2e.editors.vscode_times import measure
from tests.e2e.harness import kill_daemon

pytestmark = pytest.mark.model

RENAME = next(scene for scene in SCENES if "rename" in scene.title)
NAMES = ("dismissed", "closed", "killed", "off", "everywhere", "language", "status", "list", "times", "stock")
FILES = (SAMPLE_NAME, *(f"{name}.py" for name in NAMES))
SETTINGS: dict[str, Any] = {
    "completiond.path": str(Path(sys.executable).parent / "completiond"),
    "chat.disableAIFeatures": True,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.suggestOnTriggerCharacters": False,
    "editor.minimap.enabled": False,
    "files.autoSave": "off",
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
}
ITEM = ".statusbar [id*='completiond']"
"""The item in the status bar; its icon says how it is."""
IS_READY, IS_OFF, IN_ERROR = (f"{ITEM} .codicon-{icon}" for icon in ("sparkle", "circle-slash", "error"))
TYPED = "def discard(stock, name, reason):"
"""What is typed to measure times; each key is one measurement."""


@pytest.fixture(scope="module")
def paths(model_paths: Paths, default_model: Path) -> Iterator[Paths]:
    with TemporaryDirectory(prefix="cdv-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        found = replace(
            model_paths, config_dir=folder / "config", runtime_dir=folder / "run", state_dir=folder / "state"
        )
        try:
            yield found
        finally:
            kill_daemon(found)


@pytest.fixture(scope="module")
def installed() -> tuple[VSCodeTools, Path]:
    """VS Code, and our extension's .vsix."""
    try:
        return vscode_tools(), build_extension()
    except CannotInstallError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="module")
def browser(installed: tuple[VSCodeTools, Path]) -> Iterator[Browser]:
    with open_browser(installed[0]) as browser:
        yield browser


@pytest.fixture(scope="module")
def environment(paths: Paths) -> dict[str, str]:
    return {
        **os.environ,
        "COMPLETIOND_CACHE_DIR": str(paths.cache_dir),
        "COMPLETIOND_CONFIG_DIR": str(paths.config_dir),
        "COMPLETIOND_RUNTIME_DIR": str(paths.runtime_dir),
        "COMPLETIOND_STATE_DIR": str(paths.state_dir),
        "COMPLETIOND_PROMPT_MAX_READ_MS": "0",  # what is read must not depend on how busy the machine is
    }


@pytest.fixture(scope="module")
def code(
    installed: tuple[VSCodeTools, Path],
    browser: Browser,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[VSCode]:
    """One window for all tests but the last; each has a file of its own, in which a rename is half done."""
    tools, extension = installed
    folder = tmp_path_factory.mktemp("vscode")
    project = folder / "project"
    project.mkdir()
    before, after, _ = RENAME.split(sample_text())
    for name in FILES:
        (project / name).write_text(before + after, encoding="utf-8")
    with (
        vscode_server(tools, extension, folder, SETTINGS, environment) as url,
        open_vscode(browser, url, project, folder) as code,
    ):
        yield code


def place(code: VSCode, name: str) -> None:
    """Open a file where the rename is to go on."""
    before, _, _ = RENAME.split(sample_text())
    code.open(name, before.count("\n") + 1, len(before) - before.rfind("\n"))


def until_ready(code: VSCode, paths: Paths) -> None:
    """Wait until the model is loaded."""

    def look() -> bool | None:
        return True if holder_pid(paths.lock) and status(paths)["phase"] == "ready" else None

    code.wait_for(look, "a daemon that is ready")


def status(paths: Paths, **params: Any) -> dict[str, Any]:
    with connect(paths, start=False) as client:
        values: dict[str, Any] = client.call("completiond/status", params)
    return values


def picture(code: VSCode, name: str) -> None:
    """Keep a picture of the window, if any are wanted."""
    if folder := os.environ.get("IMAGES_OF_TESTS"):
        code.page.screenshot(path=Path(folder, f"{name}.png"))


def expected_end() -> str:
    """How the function ends when the rename is done."""
    before, after, gone = RENAME.split(sample_text())
    return before[before.rindex("\n") :] + gone.replace("stock[", "stock_by_name[") + after


def test_a_rename_is_completed_typed_along_and_accepted_by_word_and_whole(code: VSCode, paths: Paths) -> None:
    rest = expected_end().strip()
    place(code, SAMPLE_NAME)
    until_ready(code, paths)
    code.watch()
    code.type("st")
    code.wait_for_ghost(lambda ghost: ghost == rest[2:])
    picture(code, "vscode-rename")
    growing = [one.text for one in code.seen if one.text]
    for shorter, longer in pairwise(growing):
        assert longer.startswith(shorter), "what was shown is only added to"
    assert accepted_guesses(paths) > 0, "the answer was drafted from the dictionary"

    code.watch()
    code.type("ock_by")
    code.wait_for_ghost(lambda ghost: ghost == rest[8:])
    assert [one.text for one in code.seen if not rest.endswith(one.text) or not one.text] == [], "it stays all along"

    code.press("Control+ArrowRight")
    code.wait_for_ghost(lambda ghost: ghost == rest.removeprefix("stock_by_name"))
    picture(code, "vscode-word")
    code.press("Tab")
    saved = code.saved(SAMPLE_NAME, lambda text: text.rstrip().endswith(rest))
    assert saved.rstrip() == RENAME.split(sample_text())[0].rstrip() + "\n    " + rest


def accepted_guesses(paths: Paths) -> int:
    """Guesses of the dictionary that the model agreed with, since the daemon's start."""
    return sum(sum(one["accepted"]) for one in status(paths)["acceptance"] if one["source"] == "ngram")


def test_escape_ends_a_suggestion_also_while_it_grows(code: VSCode, paths: Paths) -> None:
    place(code, "dismissed.py")
    until_ready(code, paths)
    before = (code.folder / "dismissed.py").read_text(encoding="utf-8")
    code.type("st")
    code.wait_for_ghost()
    code.press("Escape")
    code.wait_for_no_ghost()
    code.watch()
    code.page.wait_for_timeout(2000)
    assert [one.text for one in code.seen] == [""], "what was dismissed does not come back"
    code.press("Backspace")
    code.press("Backspace")
    assert code.saved("dismissed.py", lambda text: text == before) == before


def test_a_suggestion_goes_on_where_vs_code_closes_a_bracket_by_itself(code: VSCode, paths: Paths) -> None:
    before, _, _ = RENAME.split(sample_text())
    rest = expected_end().strip().removeprefix("stock_by_name[")
    assert rest.startswith("name] -= quantity\n")
    place(code, "closed.py")
    until_ready(code, paths)
    code.type("st")
    code.wait_for_ghost(lambda ghost: ghost == f"ock_by_name[{rest}")
    code.type("ock_by_name")
    code.wait_for_ghost(lambda ghost: ghost == f"[{rest}")
    code.watch()
    code.type("[")
    code.wait_for_ghost(lambda ghost: ghost == rest.replace("]", "", 1))  # that one is in the text
    picture(code, "vscode-closed")
    code.type("name]")  # the closer is typed over
    code.wait_for_ghost(lambda ghost: ghost == rest.removeprefix("name]"))
    assert "" not in [one.text for one in code.seen], "it stays all along"
    code.type(" -= quantity")
    code.press("Enter")
    rest = rest.partition("\n    ")[2]
    code.wait_for_ghost(lambda ghost: ghost == rest)
    code.watch()
    code.type("print(")
    code.wait_for_ghost(lambda ghost: ghost == rest.removeprefix("print(").removesuffix(")"))
    assert "" not in [one.text for one in code.seen], "it stays all along"
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
    behind = [column + length for length in range(len("sto"), len("stock_by_name[name]"))]
    assert not {(line, one) for one in behind} & set(places_asked(paths)), "nothing was asked for anew"
    code.press("Tab")
    wanted = before.rstrip() + "\n    " + expected_end().strip()
    assert code.saved("closed.py", lambda text: "in stock" in text[len(before) :]).rstrip() == wanted


def test_a_killed_daemon_is_replaced_while_the_user_types_on(code: VSCode, paths: Paths) -> None:
    place(code, "killed.py")
    until_ready(code, paths)
    old = holder_pid(paths.lock)
    code.type("s")
    code.wait_for_ghost()
    kill_daemon(paths)
    code.type("tock_by_nam")
    code.wait_for(lambda: True if holder_pid(paths.lock) not in (None, old) else None, "a new daemon")
    until_ready(code, paths)
    code.type("e")
    code.wait_for_ghost(lambda ghost: ghost.startswith("[name] -= quantity"))
    assert code.page.query_selector(".notification-toast") is None, "no message disturbs who types"
    code.press("Tab")
    code.saved("killed.py", lambda text: "    stock_by_name[name] -= quantity" in text)


def test_turned_off_nothing_is_shown_and_the_page_says_why(code: VSCode, paths: Paths) -> None:
    place(code, "off.py")
    until_ready(code, paths)
    code.run("completiond: Turn on or off in this file")
    code.type("st")
    code.watch()
    code.page.wait_for_timeout(1500)
    assert [one.text for one in code.seen] == [""]
    code.run("completiond: Why is nothing suggested?")
    page = code.wait_for(
        lambda: text if "turnedoffinthisfile" in (text := editors_text(code)) else None, "the page that says why"
    )
    assert "Whyisnothingsuggestedinoff.py?" in page
    picture(code, "vscode-why")
    code.press("Control+w")
    place(code, "off.py")
    code.run("completiond: Turn on or off in this file")
    place(code, "off.py")
    code.press("End")
    code.type("o")
    code.wait_for_ghost(lambda ghost: ghost.startswith("ck_by_name"))


def editors_text(code: VSCode) -> str:
    """What all editors show, without any blanks, since lines are wrapped on the screen."""
    return "".join(code.page.inner_text(".part.editor").split())


@pytest.mark.parametrize(
    ("title", "name"),
    [("Turn suggestions on or off", "everywhere.py"), ("Turn on or off for this language", "language.py")],
)
def test_turned_off_and_on_again_by_a_command(code: VSCode, paths: Paths, title: str, name: str) -> None:
    place(code, name)
    until_ready(code, paths)
    code.run(f"completiond: {title}")
    code.wait_for_element(IS_OFF)
    code.watch()
    code.type("st")
    code.page.wait_for_timeout(1500)
    assert [one.text for one in code.seen] == [""]
    code.run(f"completiond: {title}")
    code.wait_for_element(IS_READY)
    code.type("o")
    code.wait_for_ghost(lambda ghost: ghost.startswith("ck_by_name"))


def test_the_status_is_a_page(code: VSCode, paths: Paths) -> None:
    place(code, "status.py")
    until_ready(code, paths)
    code.run("completiond: Show the status")
    page = code.wait_for(lambda: text if "State:ready" in (text := editors_text(code)) else None, "the status")
    assert f"Model:{status(paths)['model']}" in page
    assert "Thelastrequests,newestfirst" in page
    code.press("Control+w")


def test_behind_an_item_of_vs_codes_own_list_comes_what_fits_that_item(code: VSCode, paths: Paths) -> None:
    before, _, _ = RENAME.split(sample_text())
    place(code, "list.py")
    until_ready(code, paths)
    code.type("st")
    code.wait_for_ghost(lambda ghost: ghost.startswith("ock_by_name"))
    code.press("Control+Space")
    code.select("str")
    code.wait_for(lambda: True if not code.ghost.startswith("o") else None, "no ghost text of the other item")
    code.watch()
    asked = before.count("\n") + 1, len(before) - before.rfind("\n") - 1 + len("str")
    code.wait_for(lambda: True if asked in places_asked(paths) else None, "a request behind the item")
    code.page.wait_for_timeout(1000)
    assert [one.text for one in code.seen if one.text and not one.text.startswith("r")] == []

    code.select("stock_by_name")
    code.wait_for_ghost(lambda ghost: ghost.startswith("ock_by_name[name] -= quantity"))
    picture(code, "vscode-list")
    code.press("Tab")  # the item, since the list is open
    code.wait_for_ghost(lambda ghost: ghost.startswith("[name] -= quantity"))
    code.press("Tab")
    wanted = before + "stock_by_name[name] -= quantity"
    code.saved("list.py", lambda text: text.startswith(wanted))


def places_asked(paths: Paths) -> list[tuple[int, int]]:
    """Line (from 1) and column (from 0) of the last requests that have ended."""
    return [(one["line"], one["column"]) for one in status(paths, why=True)["recent"]]


def test_a_cell_of_a_notebook_is_completed(code: VSCode, paths: Paths) -> None:
    before, _, _ = RENAME.split(sample_text())
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "a",
        "metadata": {},
        "outputs": [],
        "source": before,
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (code.folder / "cells.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    code.open_file("cells.ipynb")
    until_ready(code, paths)
    code.page.click(".notebookOverlay .cell .view-lines")
    code.press("Control+End")
    code.type("st")
    code.wait_for_ghost(lambda ghost: ghost.startswith("ock_by_name[name] -= quantity"))
    picture(code, "vscode-notebook")
    code.press("Tab")
    code.saved("cells.ipynb", lambda text: "    stock_by_name[name] -= quantity" in text)


def test_times_from_key_to_ghost_text_beside_the_servers_own(code: VSCode, paths: Paths) -> None:
    """Prints what is measured; that there is ghost text after most keys is all that is asserted."""
    line = RENAME.split(sample_text())[0].count("\n") + 1
    code.open("times.py", line, 1)
    until_ready(code, paths)
    times = measure(code, paths, line, TYPED)
    print(f"\n{times}")
    assert len(times.first) + len(times.along) >= 20


def test_without_streaming_vs_codes_stock_client_shows_the_same(code: VSCode, paths: Paths) -> None:
    code.set("completiond.streaming", False)
    place(code, "stock.py")
    until_ready(code, paths)

    def look() -> bool | None:
        code.type("s")  # the language server starts anew, and answers nothing before it runs
        code.page.wait_for_timeout(1000)
        if code.ghost.startswith("tock_by_name[name] -= quantity"):
            return True
        code.press("Backspace")
        return None

    code.wait_for(look, "ghost text without streaming")
    code.press("Tab")
    code.saved("stock.py", lambda text: "    stock_by_name[name] -= quantity" in text)


@pytest.fixture(scope="module")
def code_without_program(
    installed: tuple[VSCodeTools, Path],
    browser: Browser,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[VSCode]:
    """A window where completiond is nowhere to be found."""
    tools, extension = installed
    folder = tmp_path_factory.mktemp("vscode")
    (folder / "project").mkdir()
    (folder / "project" / SAMPLE_NAME).write_text(sample_text(), encoding="utf-8")
    settings = {name: value for name, value in SETTINGS.items() if name != "completiond.path"}
    with (
        vscode_server(tools, extension, folder, settings, {**environment, "PATH": "/usr/bin:/bin"}) as url,
        open_vscode(browser, url, folder / "project", folder) as code,
    ):
        yield code


def test_a_missing_program_is_told_once_and_stands_in_the_status_bar(code_without_program: VSCode) -> None:
    code = code_without_program
    code.open(SAMPLE_NAME, 1, 1)
    told = code.wait_for_element(".notification-toast:has-text('completiond')").inner_text()
    assert "not on the PATH" in told
    assert "How to install it" in told
    assert "Choose the file" in told
    picture(code, "vscode-missing")
    code.wait_for_element(IN_ERROR)
    code.wait_for(lambda: True if "not on the PATH" in code.kept() else None, "a note that it was told")
    code.page.reload(wait_until="domcontentloaded")
    code.wait_for_element(".explorer-folders-view .monaco-list-row")
    code.open(SAMPLE_NAME, 1, 1)
    code.wait_for_element(IN_ERROR)
    code.type("x")
    code.page.wait_for_timeout(1000)
    assert code.page.query_selector(".notification-toast:has-text('completiond')") is None


def test_a_program_that_keeps_ending_is_told_once(code_without_program: VSCode) -> None:
    code = code_without_program
    code.open(SAMPLE_NAME, 1, 1)
    code.set("completiond.path", shutil.which("false"))
    code.wait_for_element(".notification-toast:has-text('keeps ending')")
    code.run("Notifications: Clear All Notifications")
    code.wait_for_element(".statusbar [aria-label*='started again in 8 s']")  # two starts later
    code.wait_for_element(IN_ERROR)
    assert code.page.query_selector(".notification-toast") is None
