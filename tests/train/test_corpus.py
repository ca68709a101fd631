"""Which files are learnt from, and which are kept to measure on."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from pathlib import Path

import pytest

from completiond.errors import UsageError
from completiond.exclude.exclusions import Exclusions
from completiond.train.corpus import Corpus, find_corpus
from tests.train.small import code, write

SECRET = "AKIA" + "".join(random.Random(1).choices(string.ascii_uppercase + string.digits, k=16))


def find(*paths: Path, globs: Sequence[str] = (), share: float = 0.1) -> Corpus:
    return find_corpus(paths, Exclusions(globs), share)


def files_of(corpus: Corpus) -> dict[str, set[str]]:
    """Names of the files found, by repository."""
    repositories = (*corpus.training, *corpus.held_out)
    return {one.name: {file.relative_to(one.folder).as_posix() for file in one.files} for one in repositories}


def texts_of(corpus: Corpus, name: str) -> dict[str, str]:
    """The usable text of each file of a repository."""
    one = next(one for one in (*corpus.training, *corpus.held_out) if one.name == name)
    return {file.relative_to(one.folder).as_posix(): text for _, file, text in corpus.texts([one])}


def beside(tmp_path: Path) -> Path:
    """A second repository, without which there is no corpus."""
    return write(tmp_path / "beside", {"pyproject.toml": code(900), "x.py": code(901)})


@pytest.mark.parametrize("mark", [".git/HEAD", "pyproject.toml", "package.json", "Cargo.toml", "go.mod"])
def test_a_folder_with_a_projects_mark_is_one_repository(tmp_path: Path, mark: str) -> None:
    project = write(tmp_path / "project", {mark: "", "a.py": code(1), "inner/b.py": code(2), "other/c.rs": code(3)})
    found = files_of(find(project, beside(tmp_path)))
    assert found.keys() == {"project", "beside"}
    assert found["project"] - {mark} == {"a.py", "inner/b.py", "other/c.rs"}


def test_else_each_folder_in_it_is_one(tmp_path: Path) -> None:
    write(tmp_path / "all", {"a/x.py": code(1), "b/y.go": code(2), ".hidden/z.py": code(3), "empty/notes.txt": code(4)})
    assert files_of(find(tmp_path / "all")) == {"a": {"x.py"}, "b": {"y.go"}}


def test_a_folder_of_loose_files_is_one(tmp_path: Path) -> None:
    loose = write(tmp_path / "loose", {"x.py": code(1)})
    assert files_of(find(loose, beside(tmp_path)))["loose"] == {"x.py"}


def test_only_code_is_read_and_nothing_that_others_installed_there(tmp_path: Path) -> None:
    project = write(
        tmp_path / "project",
        {
            "setup.py": code(1), "README.md": code(2), "picture.svg": code(3), "node_modules/x/y.js": code(4),
            ".venv/z.py": code(5), "deep/node_modules/q.ts": code(6), "deep/p.ts": code(7),
        },
    )  # fmt: skip
    assert files_of(find(project, beside(tmp_path)))["project"] == {"setup.py", "README.md", "deep/p.ts"}


def names(count: int) -> list[str]:
    return [f"project-{number}" for number in range(count)]


def test_which_repositories_are_held_out_depends_on_their_names_only(tmp_path: Path) -> None:
    one = [write(tmp_path / "one" / name, {"setup.py": code(n)}) for n, name in enumerate(names(20))]
    two = [write(tmp_path / "two" / name, {"go.mod": "", "b.go": code(50 + n)}) for n, name in enumerate(names(20))]
    first, second = find(*one), find(*reversed(two))
    assert [one.name for one in first.held_out] == [one.name for one in second.held_out]
    assert len(first.held_out) == 2
    assert len(first.training) == 18
    assert not {one.name for one in first.held_out} & {one.name for one in first.training}
    assert [one.name for one in find(tmp_path / "one").held_out] == [one.name for one in first.held_out]


def test_one_repository_at_least_is_held_out_and_one_learnt_from(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": code(1), "b/y.py": code(2)})
    corpus = find(tmp_path, share=0.01)
    assert (len(corpus.held_out), len(corpus.training)) == (1, 1)


def test_fewer_than_two_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^There is one repository with code, .* Give at least two"):
        find(beside(tmp_path))
    with pytest.raises(UsageError, match=r"^There is no repository with code"):
        find(write(tmp_path / "poor", {"a/x.txt": code(1)}))


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"x.py": code(1)})
    for name in ("x.py", "missing"):
        with pytest.raises(UsageError, match=f"{name} is not a folder"):
            find(beside(tmp_path), tmp_path / name)


def test_a_folder_counts_once_however_often_it_is_named(tmp_path: Path) -> None:
    write(tmp_path / "all", {"a/setup.py": code(1), "a/inner/x.py": code(2), "b/y.py": code(3)})
    a = tmp_path / "all" / "a"
    corpus = find(tmp_path / "all", a, a / "inner", tmp_path / "all" / "b" / ".." / "a")
    assert files_of(corpus) == {"a": {"setup.py", "inner/x.py"}, "b": {"y.py"}}
    with pytest.raises(UsageError, match="There is one repository"):
        find(a, a)


def test_excluded_files_are_not_read(tmp_path: Path) -> None:
    project = write(
        tmp_path / "project",
        {
            "setup.py": code(1), ".gitignore": "build/\n*_made.py\n", "build/a.py": code(2), "b_made.py": code(3),
            "credentials.json": code(4), ".env.js": code(5), "legal/c.py": code(6), "d.py": code(7),
            ".completiondignore": "e.py\n", "e.py": code(8),
        },
    )  # fmt: skip
    (project / "link.py").symlink_to(project / "d.py")
    (project / "linked").symlink_to(beside(tmp_path), target_is_directory=True)
    corpus = find(project, beside(tmp_path), globs=["legal/"])
    assert files_of(corpus)["project"] == {"setup.py", "d.py"}


def test_a_link_among_projects_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "all", {"a/x.py": code(1), "b/y.py": code(2)})
    (tmp_path / "all" / "c").symlink_to(beside(tmp_path), target_is_directory=True)
    assert files_of(find(tmp_path / "all")).keys() == {"a", "b"}


def test_lines_with_secrets_are_left_out(tmp_path: Path) -> None:
    before, after = code(1), code(2)
    project = write(tmp_path / "project", {"setup.py": f"{before}key_id = '{SECRET}'\n{after}"})
    assert texts_of(find(project, beside(tmp_path)), "project") == {"setup.py": before + after}


def test_a_file_of_little_but_secrets_is_left_out(tmp_path: Path) -> None:
    body = "".join(f"{'QUJD' * 16}\n" for _ in range(20))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    project = write(tmp_path / "project", {"setup.py": code(1), "notes.md": key})
    corpus = find(project, beside(tmp_path))
    assert "notes.md" in files_of(corpus)["project"]
    assert texts_of(corpus, "project").keys() == {"setup.py"}


def test_the_same_text_is_taken_once(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": code(1), "a/y.py": code(1), "a/z.py": code(2), "b/x.py": code(1), "b/y.py": code(3)})
    corpus = find(tmp_path)
    found = [text for _, _, text in corpus.texts((*corpus.training, *corpus.held_out))]
    assert sorted(found) == sorted([code(1), code(2), code(3)])


def test_repositories_come_in_turns(tmp_path: Path) -> None:
    write(tmp_path / "big", {f"{number}.py": code(number) for number in range(5)})
    write(tmp_path / "mid", {f"{number}.py": code(10 + number) for number in range(3)})
    write(tmp_path / "low", {"0.py": code(20)})
    corpus = find(tmp_path)
    by_name = {one.name: one for one in (*corpus.training, *corpus.held_out)}
    turns = [
        f"{repository.name}/{file.name}"
        for repository, file, _ in corpus.texts([by_name["big"], by_name["mid"], by_name["low"]])
    ]
    assert turns == [
        "big/0.py", "mid/0.py", "low/0.py", "big/1.py", "mid/1.py", "big/2.py", "mid/2.py", "big/3.py", "big/4.py",
    ]  # fmt: skip


def test_what_is_too_short_too_long_or_generated_is_left_out(tmp_path: Path) -> None:
    write(
        tmp_path / "a",
        {
            "short.py": code(1)[:399],
            "just.py": code(2)[:400],
            "long.py": code(3, 20_000),
            "wide.js": code(4) + "x" * 2001 + "\n" + code(5),
            "empty.py": "",
            "wide_but_short.py": "\u20ac" * 200,
        },
    )
    write(tmp_path / "b", {"y.py": code(6)})
    assert len((tmp_path / "a" / "long.py").read_text()) > 200_000
    assert texts_of(find(tmp_path), "a").keys() == {"just.py"}


def test_strange_bytes(tmp_path: Path) -> None:
    write(
        tmp_path / "a",
        {
            "latin.py": code(1).encode() + b"# caf\xe9\n",
            "binary.py": bytes(range(256)) * 4,
            "crlf.py": code(2).replace("\n", "\r\n"),
            "old_mac.py": code(3).replace("\n", "\r"),
            "nul.py": code(4) + "\0\n",
            "wide.py": "x = '\u6f22\U0001f600'\n" * 80,
        },
    )
    write(tmp_path / "b", {"y.py": code(6)})
    assert texts_of(find(tmp_path), "a") == {
        "crlf.py": code(2),
        "old_mac.py": code(3),
        "nul.py": code(4) + "\0\n",
        "wide.py": "x = '\u6f22\U0001f600'\n" * 80,
    }


def test_a_file_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": code(1), "a/y.py": code(2), "b/y.py": code(3)})
    corpus = find(tmp_path)
    (tmp_path / "a" / "x.py").unlink()
    assert texts_of(corpus, "a") == {"y.py": code(2)}
