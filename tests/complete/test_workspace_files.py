"""Files that the user wants drafts from though no editor has them open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from completiond.complete.dictionary import Dictionary
from completiond.complete.open_documents import OpenDocuments
from completiond.complete.tokens import TextTokenizer
from completiond.complete.workspace_files import MAX_FILES, find_files, read_lines
from completiond.exclude.exclusions import Exclusions
from completiond.exclude.guard import Guard
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer

CLIENT = "me"


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def documents(budget_bytes: int = 64_000_000) -> tuple[OpenDocuments, Dictionary]:
    tokenizer = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
    dictionary = Dictionary(tokenizer, budget_bytes)
    return OpenDocuments(dictionary, Guard(Exclusions()), ("**/*.py",)), dictionary


def read_all(one: OpenDocuments) -> int:
    count = 0
    while one.read_next(CLIENT):
        count += 1
    return count


def test_files_are_found_once_in_order(tmp_path: Path) -> None:
    write(tmp_path, b="", a="")
    (tmp_path / "notes.txt").write_text("no")

    found = list(find_files([str(tmp_path)], ("*.py", "a.*")))

    assert [path.name for path in found] == ["a.py", "b.py"]


def test_links_folders_and_missing_folders_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, real="x = 1")
    (tmp_path / "link.py").symlink_to(tmp_path / "real.py")
    (tmp_path / "folder.py").mkdir()

    found = list(find_files([str(tmp_path / "none"), str(tmp_path)], ("*.py",)))

    assert [path.name for path in found] == ["real.py"]


def test_nothing_behind_a_link_is_found(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    write(inside, own="1")
    write(outside, other="2")
    (inside / "link").symlink_to(outside)

    found = list(find_files([str(inside)], ("*.py", "link/*.py", "**/*.py")))

    assert [path.name for path in found] == ["own.py"]


def test_there_is_a_limit(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 3):
        (tmp_path / f"{number}.py").touch()

    assert len(list(find_files([str(tmp_path)], ("*.py",)))) == MAX_FILES


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"x" * 1_000_001])
def test_what_is_no_text_or_too_large_is_not_read(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.py"
    file.write_bytes(content)

    assert read_lines(file) is None
    assert read_lines(tmp_path / "gone.py") is None


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_bytes(b"a\r\nb\n")

    assert read_lines(tmp_path / "one.py") == ["a", "b", ""]


def test_files_of_the_folders_are_drafted_from(tmp_path: Path) -> None:
    write(tmp_path, one="total = price * amount", two="other = 1")
    one, dictionary = documents()
    one.set_folders(CLIENT, [str(tmp_path)])

    assert read_all(one) == 2
    assert one.state.documents == 2
    assert dictionary.num_tokens > 0


def test_what_the_editor_has_open_counts_in_place_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, one="old", two="other")
    path = str(tmp_path / "one.py")
    one, _ = documents()
    one.set_folders(CLIENT, [str(tmp_path)])
    one.open((CLIENT, "file:///one.py"), ["new"], path)
    read_all(one)
    assert one.state.documents == 2

    one.open((CLIENT, "file:///two.py"), ["newer"], str(tmp_path / "two.py"))
    assert one.state.documents == 2


def test_excluded_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("made_*.py\n")
    write(tmp_path, made_up="x = 1", own="y = 2")
    one, _ = documents()
    one.set_folders(CLIENT, [str(tmp_path)])
    read_all(one)

    assert one.state.documents == 1


def test_other_folders_take_their_place(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    write(tmp_path / "first", a="1", b="2")
    write(tmp_path / "second", c="3")
    one, dictionary = documents()
    one.set_folders(CLIENT, [str(tmp_path / "first")])
    read_all(one)
    one.set_folders(CLIENT, [str(tmp_path / "second")])
    read_all(one)
    assert one.state.documents == 1

    one.forget_client(CLIENT)
    assert (one.state.documents, dictionary.num_tokens, one.read_next(CLIENT)) == (0, 0, False)


def test_reading_ends_where_half_of_the_memory_is_used(tmp_path: Path) -> None:
    write(tmp_path, **{f"file_{number}": "value = value + 1\n" * 500 for number in range(20)})
    one, dictionary = documents(budget_bytes=200_000)
    one.set_folders(CLIENT, [str(tmp_path)])

    assert 0 < read_all(one) < 20
    assert dictionary.size_bytes < 200_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_folders_that_cannot_be_read_have_no_files(tmp_path: Path) -> None:
    tmp_path.chmod(0)
    try:
        assert list(find_files([str(tmp_path)], ("*.py",))) == []
    finally:
        tmp_path.chmod(0o700)
