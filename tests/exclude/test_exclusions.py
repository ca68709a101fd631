"""The whole engine: which reason a file is kept out for, and when it comes back."""

from __future__ import annotations

import timeit
from pathlib import Path

import pytest

from completiond.errors import UsageError
from completiond.exclude.exclusions import Exclusions


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / ".completiondignore").write_text("/customers/\n")
    return tmp_path


def test_each_reason(root: Path) -> None:
    exclusions = Exclusions(globs=["*.sql", "/legal/"])

    def why(name: str) -> str | None:
        return exclusions.why(root / name, [root])

    assert why("src/main.py") is None
    assert why(".env") == "secret_name"
    assert why(".git/COMMIT_EDITMSG") == "secret_name"
    assert why("build/out.py") == "gitignore"
    assert why("customers/list.py") == "completiondignore"
    assert why("db/dump.sql") == "config_glob"
    assert why("legal/deep/contract.md") == "config_glob"
    assert why("docs/legal/notes.md") is None
    assert exclusions.problems == []


def test_an_untitled_buffer_is_not_excluded() -> None:
    assert Exclusions(globs=["*"]).why(None) is None


def test_gitignore_can_be_switched_off_alone(root: Path) -> None:
    exclusions = Exclusions(use_gitignore=False)

    assert exclusions.why(root / "build/out.py", [root]) is None
    assert exclusions.why(root / "customers/list.py", [root]) == "completiondignore"
    assert exclusions.why(root / "server.pem", [root]) == "secret_name"


def test_globs_relative_absolute_and_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "work"
    exclusions = Exclusions(globs=["private/notes", f"{tmp_path}/other/", "~/diary/**", "!~/diary/open.md"])

    assert exclusions.why(root / "private/notes/a.md", [root]) == "config_glob"
    assert exclusions.why(root / "sub/private/notes/a.md", [root]) is None
    assert exclusions.why(tmp_path / "other/a.md", [root]) == "config_glob"
    assert exclusions.why(tmp_path / "home/diary/a.md", [root]) == "config_glob"
    assert exclusions.why(tmp_path / "home/diary/open.md", [root]) is None
    # In no workspace there is nothing to be relative to: too much is excluded rather than too little.
    assert exclusions.why(tmp_path / "sub/private/notes/a.md") == "config_glob"


def test_later_globs_win_but_bring_nothing_back_from_a_folder(root: Path) -> None:
    exclusions = Exclusions(globs=["*.sql", "!schema.sql", "dump/", "!dump/schema.sql"])

    assert exclusions.why(root / "a.sql", [root]) == "config_glob"
    assert exclusions.why(root / "schema.sql", [root]) is None
    assert exclusions.why(root / "dump/schema.sql", [root]) == "config_glob"


def test_a_glob_matches_under_each_root_and_through_links(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "second"
    (other / "top").mkdir(parents=True)
    (other / "top/x.md").write_text("")
    (root / "alias.md").symlink_to(other / "top/x.md")
    exclusions = Exclusions(globs=["/top"])

    assert exclusions.why(other / "top/x.md", [root, other]) == "config_glob"
    assert exclusions.why(root / "alias.md", [root, other]) == "config_glob"
    assert exclusions.why(root / "top.md", [root, other]) is None


def test_a_link_to_a_secret_is_a_secret(root: Path) -> None:
    (root / "keys.txt").symlink_to("/home/somebody/.ssh/id_rsa")

    assert Exclusions().why(root / "keys.txt", [root]) == "secret_name"


@pytest.mark.parametrize("pattern", ["", "   ", "# note", "!", "/", "a[b", "[z-a]x", "end\\", "../up", "./here"])
def test_a_pattern_that_cannot_match_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(UsageError) as caught:
        Exclusions(globs=["*.ok", pattern])

    assert repr(pattern) in caught.value.message
    assert caught.value.advice


def test_edits_take_effect_after_a_second(root: Path) -> None:
    clock = Clock()
    exclusions = Exclusions(clock=clock)
    assert exclusions.why(root / "notes.py", [root]) is None

    (root / ".gitignore").write_text("notes.py\n")
    clock.now_s = 0.5
    assert exclusions.why(root / "notes.py", [root]) is None
    clock.now_s = 1.5
    assert exclusions.why(root / "notes.py", [root]) == "gitignore"


def test_problems_are_passed_on(root: Path) -> None:
    (root / ".gitignore").write_text("[oops\n")
    exclusions = Exclusions()

    assert exclusions.why(root / "a.py", [root]) is None
    assert [(problem.path, problem.line) for problem in exclusions.problems] == [(root / ".gitignore", 1)]


@pytest.mark.parametrize("name", ["a\0b.py", "\ud800.py", "x" * 5000])
def test_a_path_that_cannot_be_does_not_raise(root: Path, name: str) -> None:
    assert Exclusions(globs=["*.sql"]).why(root / name, [root]) is None


def test_asking_again_is_quick(root: Path) -> None:
    exclusions, path, roots = Exclusions(globs=["*.sql"]), root / "src/deep/main.py", [root]
    exclusions.why(path, roots)

    assert min(timeit.repeat(lambda: exclusions.why(path, roots), number=1000, repeat=5)) / 1000 < 100e-6
