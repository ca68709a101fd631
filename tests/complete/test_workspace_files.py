"""Files that the user wants drafts from though no editor has them open."""

from __future__ import annotations

from pathlib import Path

import pytest

from completiond.complete.dictionary import Dictionary
from completiond.complete.open_documents import MAX_CHECKED, WORKSPACE, OpenDocuments
from completiond.complete.request import LineEdit
from completiond.complete.tokens import TextTokenizer
from completiond.complete.workspace_files import MAX_FILES, find_files, read_lines
from completiond.exclude.exclusions import Exclusions
from completiond.exclude.guard import Guard
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer
from tests.unprivileged import unprivileged_folder

CLIENT = "me"


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def names(folder: Path, *globs: str) -> list[str]:
    return [path.name for path in find_files([str(folder)], globs) if path is not None]


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

    assert names(tmp_path, "*.py", "a.*") == ["a.py", "b.py"]


def test_links_folders_and_missing_folders_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, real="x = 1")
    (tmp_path / "link.py").symlink_to(tmp_path / "real.py")
    (tmp_path / "folder.py").mkdir()

    found = [path for path in find_files([str(tmp_path / "none"), str(tmp_path)], ("*.py",)) if path]

    assert [path.name for path in found] == ["real.py"]


def test_nothing_behind_a_link_is_found(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    write(inside, own="1")
    write(outside, other="2")
    (inside / "link").symlink_to(outside)

    assert names(inside, "*.py", "link/*.py", "**/*.py") == ["own.py"]


def test_there_is_a_limit_and_it_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(MAX_FILES + 3):
        (tmp_path / f"{number}.py").touch()

    assert len(names(tmp_path, "*.py")) == MAX_FILES
    assert f"Only {MAX_FILES} files" in caplog.text


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

    read_all(one)
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


def test_reading_ends_where_half_of_the_memory_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, **{f"file_{number}": "value = value + 1\n" * 500 for number in range(20)})
    one, dictionary = documents(budget_bytes=200_000)
    one.set_folders(CLIENT, [str(tmp_path)])

    assert 0 < read_all(one) < 20
    assert dictionary.size_bytes < 200_000
    assert "half full" in caplog.text


def test_a_folder_that_cannot_be_read_has_no_files_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with unprivileged_folder() as folder:
        write(folder, own="1")
        closed = folder / "closed"
        closed.mkdir()
        write(closed, other="2")
        closed.chmod(0)

        assert names(folder, "*.py") == ["own.py"]
        closed.chmod(0o700)

    assert "Permission denied" in caplog.text
    assert "closed" in caplog.text


def test_a_file_that_cannot_be_read_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with unprivileged_folder() as folder:
        write(folder, closed="1")
        (folder / "closed.py").chmod(0)

        assert read_lines(folder / "closed.py") is None
    assert "Permission denied" in caplog.text


def test_patterns_are_those_of_a_gitignore(tmp_path: Path) -> None:
    for name in ("src", "src/inner", "docs"):
        (tmp_path / name).mkdir()
    write(tmp_path, top="1")
    write(tmp_path / "src", a="1")
    write(tmp_path / "src" / "inner", b="1")
    write(tmp_path / "docs", c="1")

    assert names(tmp_path, "*.py") == ["top.py", "c.py", "a.py", "b.py"]
    assert names(tmp_path, "src/*.py") == ["a.py"]
    assert names(tmp_path, "src/**/*.py") == ["a.py", "b.py"]
    assert names(tmp_path, "src/") == ["a.py", "b.py"]


def test_excluded_folders_are_not_entered(tmp_path: Path) -> None:
    entered: list[str] = []
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, a="1")

    def may_read(path: str) -> bool:
        entered.append(Path(path).name)
        return not path.endswith("other")

    found = [path for path in find_files([str(tmp_path)], ("*.py",), may_read) if path]

    assert found == [tmp_path / "own" / "a.py"]
    assert entered.count("a.py") == 1


def test_many_files_are_judged_in_turns_when_ignore_files_change(tmp_path: Path) -> None:
    now_s = 0.0

    def clock() -> float:
        return now_s

    (tmp_path / ".git").mkdir()
    count = 2 * MAX_CHECKED
    write(tmp_path, **{f"file_{number}": f"value = {number}\n" for number in range(count)})
    dictionary = Dictionary(TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE))
    one = OpenDocuments(dictionary, Guard(Exclusions(clock=clock)), ("*.py",), clock)
    one.set_folders(CLIENT, [str(tmp_path)])
    read_all(one)
    one.check(CLIENT)
    assert one.state.documents == count

    (tmp_path / ".gitignore").write_text("*.py\n")
    left = []
    for _ in range(4):
        now_s += 10.0
        one.check(CLIENT)
        left.append(one.state.documents)

    assert left[0] == count - MAX_CHECKED, "not all at once"
    assert left[-1] == 0


def test_a_file_that_was_read_can_still_be_edited(tmp_path: Path) -> None:
    write(tmp_path, one="first = 1\nsecond = 2\n")
    one, dictionary = documents()
    one.set_folders(CLIENT, [str(tmp_path)])
    read_all(one)
    key = (CLIENT, f"{WORKSPACE}{tmp_path / 'one.py'}")
    assert dictionary.memo_lines == 0

    one.edit(key, [LineEdit(0, 1, ("other = 3",))])
    assert dictionary.lines(key) == ("other = 3", "second = 2", "")
