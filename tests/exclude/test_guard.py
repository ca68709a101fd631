"""Which documents of which client may be read: paths, URIs of editors' views, and what is no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from completiond.exclude.exclusions import Exclusions
from completiond.exclude.guard import Guard


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("my notes.py\n")
    return tmp_path


def test_a_glob_is_relative_to_the_folders_of_the_client_that_asks(root: Path) -> None:
    guard = Guard(Exclusions(globs=["/legal/"]))
    guard.set_folders("one", [str(root)])
    guard.set_folders("two", [str(root / "sub"), f"{root}/other/"])

    assert guard.why("one", f"{root}/legal/a.py") == "config_glob"
    assert guard.why("one", f"{root}/sub/legal/a.py") is None
    assert guard.why("two", f"{root}/sub/legal/a.py") == "config_glob"
    assert guard.why("two", f"{root}/other/legal/a.py") == "config_glob"

    guard.set_folders("two", [str(root)])
    assert guard.why("two", f"{root}/sub/legal/a.py") is None


def test_a_client_that_is_forgotten_has_no_folders(root: Path) -> None:
    guard = Guard(Exclusions(globs=["legal/a.py"]))
    guard.set_folders("one", [str(root)])
    assert guard.why("one", f"{root}/sub/legal/a.py") is None

    guard.forget("one")
    guard.forget("one")
    assert guard.why("one", f"{root}/sub/legal/a.py") == "config_glob"


def test_an_editor_s_view_of_a_file_is_judged_as_the_file(root: Path) -> None:
    guard = Guard(Exclusions())

    assert guard.why("", f"git:{root}/.env?%7B%22ref%22%3A%22HEAD%22%7D") == "secret_name"
    assert guard.why("", f"git:{root}/my%20notes.py?x#y") == "gitignore"
    assert guard.why("", f"vscode-notebook-cell:{root}/my%20notes.py#W0s") == "gitignore"
    assert guard.why("", f"git:{root}/main.py?x") is None


@pytest.mark.parametrize("path", ["", "untitled:1", "untitled:Untitled-1", "http://[", "main.py", "sub/main.py", ":"])
def test_what_names_no_file_may_be_read(path: str) -> None:
    assert Guard(Exclusions(globs=["*"])).why("", path) is None


@pytest.mark.parametrize("path", [".env", "deploy/.env", "id_rsa", "untitled:.env"])
def test_of_a_relative_path_the_name_counts(path: str) -> None:
    assert Guard(Exclusions()).why("", path) == "secret_name"
