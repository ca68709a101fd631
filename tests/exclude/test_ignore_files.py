"""Ignore files as git reads them, on real folders and against the real git."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.exclude.ignore_files import IgnoreFiles
from completiond.exclude.ignore_rule import Rule
from tests.unprivileged import unprivileged_folder


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def git(folder: Path, *arguments: str, text: str = "") -> str:
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": os.devnull}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=text, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


NAMES = ("a", "b", "ab", "a.c", "b.c", "[a]", "a b", "1", "B")
PIECES = (
    "*",
    "**",
    "?",
    "a",
    "b",
    "ab",
    ".c",
    "*.c",
    "[ab]",
    "[!a]",
    "[[:digit:]]",
    "[a-b]*",
    "\\a",
    "a*b",
    "*a*",
    "1",
)
SEGMENTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("".join)
PATTERNS = st.builds(
    lambda bang, first, parts, last, blanks: bang + first + "/".join(parts) + last + blanks,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*"]),
    st.sampled_from(["", "", "  ", "\\ "]),
)
LINES = PATTERNS | st.sampled_from(
    ["", "# a", "\\#a", "\\!a", "*", "!*/", "**", "/", "!a", "**/", "[a", "/*", "//", " a"]
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple)


def make_tree(folder: Path, paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Files at those places that are not already folders; gives all files and folders."""
    for path in paths:
        try:
            folder.joinpath(*path[:-1]).mkdir(parents=True, exist_ok=True)
            if not folder.joinpath(*path).exists():
                folder.joinpath(*path).write_text("")
        except (FileExistsError, NotADirectoryError):  # hypothesis drew a file's own name as a folder too
            continue
    return [
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if ".git" not in file.relative_to(folder).parts[:1] and file.name != ".gitignore"
    ]


@settings(max_examples=150, deadline=None)
@given(
    paths=st.lists(PATHS, min_size=1, max_size=12),
    rules=st.dictionaries(PATHS.map(lambda path: path[:-1]), st.lists(LINES, min_size=1, max_size=5), max_size=3),
    top=st.lists(LINES, max_size=6),
    exclude=st.lists(LINES, max_size=2),
)
def test_a_random_tree_is_judged_as_git_judges_it(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[tuple[str, ...]],
    rules: dict[tuple[str, ...], list[str]],
    top: list[str],
    exclude: list[str],
) -> None:
    folder = tmp_path_factory.mktemp("tree", numbered=True)
    git(folder, "init", "-q")
    made = make_tree(folder, paths)
    for place, lines in {**rules, (): top}.items():
        if folder.joinpath(*place).is_dir():
            folder.joinpath(*place, ".gitignore").write_text("\n".join(lines) + "\n")
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text("\n".join(exclude))
    listed = git(folder, "check-ignore", "--no-index", "-z", "--stdin", text="\0".join(made))

    files = IgnoreFiles()

    assert {name for name in made if files.why(folder / name)} == {name for name in listed.split("\0") if name}


@pytest.mark.parametrize(
    "rule", ["a**/**", "a**/*/c", "a/b**", "/a**/c", "a/b**/c", "a***/**/c", "b**/[[:digit:]]", "!a**/c", "a\\ **/c"]
)
def test_stars_right_after_a_name_mean_folders_as_they_do_in_git(repository: Path, rule: str) -> None:
    names = ["a/c", "ab", "a/b/c", "a/bc", "abc/c", "a/bx/y/c", "ac", "axc", "b1", "b/2", "bx/y/3", "a b/c"]
    write(repository, dict.fromkeys(names, "") | {".gitignore": f"a*\n{rule}\n" if rule[0] == "!" else f"{rule}\n"})
    listed = git(repository, "check-ignore", "--no-index", "-z", "--stdin", text="\0".join(names))

    files = IgnoreFiles()

    assert [name for name in names if files.why(repository / name)] == [name for name in listed.split("\0") if name]


def test_deeper_and_later_rules_win(repository: Path) -> None:
    write(
        repository,
        {
            ".gitignore": "*.log\nbuild/\n!important.log\n",
            "sub/.gitignore": "!debug.log\nimportant.log",
            "build/.gitignore": "!kept.txt",
        },
    )
    files = IgnoreFiles()

    assert files.why(repository / "x.log") == "gitignore"
    assert files.why(repository / "important.log") is None
    assert files.why(repository / "sub/debug.log") is None
    assert files.why(repository / "sub/important.log") == "gitignore"
    assert files.why(repository / "build/kept.txt") == "gitignore"
    assert files.why(repository / "main.py") is None
    assert files.problems == []


def test_completiondignore_is_a_second_set(repository: Path) -> None:
    write(repository, {".gitignore": "git.txt\n", ".completiondignore": "own.txt\n!git.txt\n", "a/b.txt": ""})

    files = IgnoreFiles()
    assert files.why(repository / "a/own.txt") == "completiondignore"
    assert files.why(repository / "a/git.txt") == "gitignore"
    assert files.why(repository / "a/b.txt") is None

    only_own = IgnoreFiles(use_gitignore=False)
    assert only_own.why(repository / "a/own.txt") == "completiondignore"
    assert only_own.why(repository / "a/git.txt") is None


def test_a_workspace_without_a_repository_and_one_with_many(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "a.txt", "w/.gitignore": "b.txt", "w/.completiondignore": "c.txt"})
    write(tmp_path, {"w/in/.gitignore": "d.txt"})
    (tmp_path / "w/in/.git").mkdir(parents=True)
    files, roots = IgnoreFiles(), (tmp_path / "w",)

    assert files.why(tmp_path / "w/sub/a.txt", roots) is None  # above the workspace
    assert files.why(tmp_path / "w/sub/b.txt", roots) == "gitignore"
    assert files.why(tmp_path / "w/sub/b.txt") is None  # in no workspace: only its own folder's files
    assert files.why(tmp_path / "w/b.txt") == "gitignore"
    assert files.why(tmp_path / "w/in/d.txt", roots) == "gitignore"
    assert files.why(tmp_path / "w/in/b.txt", roots) is None  # another repository
    assert files.why(tmp_path / "w/in/c.txt", roots) == "completiondignore"


def test_info_exclude_of_a_worktree_is_the_repositorys(repository: Path, tmp_path: Path) -> None:
    git(repository, "-c", "user.name=u", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    write(repository, {".git/info/exclude": "local.txt\n"})
    files = IgnoreFiles()

    assert files.why(repository / "local.txt") == "gitignore"
    assert files.why(tmp_path / "tree" / "local.txt") == "gitignore"
    assert files.why(tmp_path / "tree" / "other.txt") is None


def test_an_edit_takes_effect_after_a_second_and_not_before(repository: Path) -> None:
    clock = Clock()
    files = IgnoreFiles(clock=clock)
    assert files.why(repository / "a.txt") is None

    write(repository, {".gitignore": "a.txt"})
    clock.now_s = 0.9
    assert files.why(repository / "a.txt") is None
    clock.now_s = 1.1
    assert files.why(repository / "a.txt") == "gitignore"

    write(repository, {".gitignore": "other.txt"})
    clock.now_s = 2.2
    assert files.why(repository / "a.txt") is None

    (repository / ".gitignore").unlink()
    clock.now_s = 3.3
    assert files.why(repository / "other.txt") is None


def test_a_file_is_read_once_while_it_stays_the_same(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {".gitignore": "a.txt\nb.txt\n"})
    parsed: list[str] = []
    parse = Rule.parse

    def counting_parse(line: str) -> Rule | None:
        parsed.append(line)
        return parse(line)

    monkeypatch.setattr(Rule, "parse", counting_parse)
    clock = Clock()
    files = IgnoreFiles(clock=clock)

    for second in range(5):
        clock.now_s = second * 1.5
        assert files.why(repository / "a.txt") == "gitignore"
        assert files.why(repository / "sub" / "b.txt") == "gitignore"

    assert parsed.count("a.txt") == 1


def test_a_symbolic_link_is_judged_by_both_its_ends(repository: Path, tmp_path: Path) -> None:
    write(repository, {".gitignore": "private/\nlink.txt\n", "private/notes.txt": "", "open.txt": ""})
    (tmp_path / "elsewhere.txt").symlink_to(repository / "private/notes.txt")
    (repository / "alias.txt").symlink_to(repository / "private/notes.txt")
    (repository / "link.txt").symlink_to(repository / "open.txt")
    (repository / "folder").symlink_to(repository / "private", target_is_directory=True)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    files = IgnoreFiles()

    assert files.why(tmp_path / "elsewhere.txt") == "gitignore"
    assert files.why(repository / "alias.txt") == "gitignore"
    assert files.why(repository / "link.txt") == "gitignore"
    assert files.why(repository / "folder/notes.txt") == "gitignore"
    assert files.why(repository / "open.txt") is None
    assert files.why(tmp_path / "loop") is None


def test_dots_in_a_path_do_not_hide_it(repository: Path) -> None:
    write(repository, {".gitignore": "/private/", "private/x": "", "src/y": ""})

    assert IgnoreFiles().why(repository / "src/../private/x") == "gitignore"
    assert IgnoreFiles().why(repository / "private/../src/y") is None


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        (b"a.txt\n*.c\\\nb.txt", 2, "\\"),
        (b"[b-a]\na.txt", 1, "range"),
        (b"[ab\na.txt", 1, "[ab"),
        (b"[[:nonsense:]]\na.txt", 1, "nonsense"),
        (b"a.txt\n**/a/**/b/**/c/**/d", 2, "**"),
        ("a.txt\n".encode("utf-16"), None, "UTF-8"),
        (b"a.txt\n" * 200_000, None, "larger"),
    ],
)
def test_a_broken_file_is_a_problem_and_no_error(repository: Path, content: bytes, line: int | None, word: str) -> None:
    file = repository / ".gitignore"
    file.write_bytes(content)
    files = IgnoreFiles()

    # A broken line takes nothing from the others; a broken file excludes nothing.
    assert files.why(repository / "a.txt") == (None if line is None else "gitignore")
    (problem,) = files.problems
    assert (problem.path, problem.line) == (file, line)
    assert word in problem.message


def test_a_problem_goes_away_with_its_cause(repository: Path) -> None:
    clock = Clock()
    (repository / ".gitignore").mkdir()
    files = IgnoreFiles(clock=clock)
    assert files.why(repository / "a.txt") is None
    assert [problem.message for problem in files.problems] == ["not a regular file"]

    (repository / ".gitignore").rmdir()
    write(repository, {".gitignore": "a.txt"})
    clock.now_s = 2.0
    assert files.why(repository / "a.txt") == "gitignore"
    assert files.problems == []


def test_a_problem_is_told_when_it_is_found_and_not_again(repository: Path) -> None:
    clock = Clock()
    told: list[str] = []
    (repository / "sub").mkdir()
    (repository / "sub" / ".gitignore").mkdir()
    write(repository, {".gitignore": "[oops\na.txt\n"})
    files = IgnoreFiles(clock=clock, on_problem=lambda problem: told.append(str(problem)))

    for second in range(5):
        clock.now_s = second * 1.5
        files.why(repository / "a.txt")
        files.why(repository / "sub" / "b.txt")
    assert [line.split(":")[0] for line in told] == [
        f"{repository}/.gitignore",
        f"{repository}/sub/.gitignore excludes nothing",
    ]
    assert told[0].startswith(f"{repository}/.gitignore:1 excludes nothing: '[oops': ")

    write(repository, {".gitignore": "a.txt\n[oops\n[again\n"})
    clock.now_s = 10.0
    files.why(repository / "a.txt")
    assert [line.split(" ")[0] for line in told[2:]] == [f"{repository}/.gitignore:2", f"{repository}/.gitignore:3"]


def test_a_broken_file_does_not_fill_the_log(repository: Path) -> None:
    told: list[str] = []
    write(repository, {".gitignore": "[" + "x" * 10_000 + "\n" + "[b\n" * 1000})
    files = IgnoreFiles(on_problem=lambda problem: told.append(str(problem)))

    assert files.why(repository / "a.txt") is None
    assert len(files.problems) == 1001
    assert len(told) == 5
    assert max(map(len, told)) < 200 + len(str(repository))


def test_a_file_without_permission_is_tried_again() -> None:
    clock = Clock()
    with unprivileged_folder() as folder:
        (folder / ".git").mkdir()
        write(folder, {".gitignore": "a.txt"})
        (folder / ".gitignore").chmod(0)
        files = IgnoreFiles(clock=clock)
        assert files.why(folder / "a.txt") is None
        assert files.problems[0].message == "Permission denied"

        (folder / ".gitignore").chmod(0o600)
        clock.now_s = 2.0
        assert files.why(folder / "a.txt") == "gitignore"


@pytest.mark.parametrize("content", [b"\xef\xbb\xbfa.txt\r\nb.txt\r\n", b"a.txt\n\xff\xfe\nb.txt"])
def test_byte_order_marks_line_ends_and_strange_bytes(repository: Path, content: bytes) -> None:
    (repository / ".gitignore").write_bytes(content)
    files = IgnoreFiles()

    assert [files.why(repository / name) for name in ("a.txt", "b.txt")] == ["gitignore", "gitignore"]
    assert files.problems == []


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000, "a/" * 1500 + "b"])
def test_a_path_that_cannot_be_is_not_excluded(repository: Path, name: str) -> None:
    write(repository, {".gitignore": "*.txt"})

    assert IgnoreFiles().why(repository / name) is None


def test_a_hostile_pattern_and_path_take_little_time(repository: Path) -> None:
    patterns = ["*a" * 30 + "b", "x" + "*a" * 30 + "*[!a]", "**/a/**/a/b", "/" + "*a" * 20 + "b/c", "*?*?*?*?*?*?*?b"]
    write(repository, {".gitignore": "\n".join(patterns)})
    started = time.perf_counter()

    assert IgnoreFiles().why(repository / ("a" * 255)) is None
    assert IgnoreFiles().why(repository / ("a/" * 300 + "c")) is None
    assert time.perf_counter() - started < 5.0
