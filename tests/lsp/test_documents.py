from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.lsp.documents import Change, DocumentStore, Position, PositionEncoding, Snapshot
from completiond.lsp.text import Text

URI = "file:///a.py"
ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]
TRICKY = [
    "a",
    "b",
    " ",
    "\n",
    "\r",
    "\r\n",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "é",
    "e\u0301",
    "漢",
    "🙂",
    "👩‍💻",
]

texts = st.lists(st.sampled_from(TRICKY), max_size=30).map("".join)
positions = st.builds(Position, line=st.integers(-1, 12), character=st.integers(-1, 40))
changes_strategy = st.one_of(
    st.builds(Change, start=positions, end=positions, text=texts),
    st.builds(Change, start=positions, end=st.none(), text=texts),
    st.builds(Change, start=st.none(), end=st.none(), text=texts),
)


def naive_lines(text: str) -> list[tuple[str, str]]:
    """Return each line's text and its line end."""
    parts = [*re.split(r"(\r\n|\n|\r)", text), ""]
    return list(zip(parts[::2], parts[1::2], strict=True))


def naive_width(character: str, encoding: PositionEncoding) -> int:
    if encoding == "utf-8":
        return len(character.encode())
    if encoding == "utf-16":
        return len(character.encode("utf-16-le")) // 2
    return 1


def naive_offset(text: str, position: Position, encoding: PositionEncoding) -> int:
    if position.line < 0:
        return 0
    lines = naive_lines(text)
    if position.line >= len(lines):
        return len(text)
    offset = sum(len(line + line_end) for line, line_end in lines[: position.line])
    num_units = 0
    for character in lines[position.line][0]:
        num_units += naive_width(character, encoding)
        if num_units > position.character:
            break
        offset += 1
    return offset


def naive_apply(text: str, change: Change, encoding: PositionEncoding) -> str:
    if change.start is None:
        return change.text
    start = naive_offset(text, Position(change.start.line, change.start.character), encoding)
    end = start if change.end is None else naive_offset(text, Position(change.end.line, change.end.character), encoding)
    return text[: min(start, end)] + change.text + text[max(start, end) :]


def snapshot_of(text: str, encoding: PositionEncoding = "utf-16", chunk_chars: int = 3) -> Snapshot:
    return Snapshot(URI, "python", 1, Text(text, encoding, chunk_chars=chunk_chars))


def edited(text: str, *changes: Change, encoding: PositionEncoding = "utf-16") -> str:
    store = DocumentStore(encoding)
    store.open(URI, "python", 1, text)
    document = store.change(URI, 2, changes)
    assert document is not None
    return str(document.text)


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> Change:
    return Change(Position(*start), Position(*end), text)


@given(
    text=texts,
    changes=st.lists(changes_strategy, max_size=8),
    probe=positions,
    encoding=st.sampled_from(ENCODINGS),
    chunk_chars=st.one_of(st.integers(1, 8), st.just(8192)),
)
def test_edits_do_what_they_do_to_a_naive_text(
    text: str, changes: list[Change], probe: Position, encoding: PositionEncoding, chunk_chars: int
) -> None:
    document = snapshot_of(text, encoding, chunk_chars)
    expected = text
    for step in changes:
        document = document.apply([step], document.version + 1)
        expected = naive_apply(expected, step, encoding)
        assert str(document.text) == expected
        assert document.text.num_lines == len(naive_lines(expected))
    offset = naive_offset(expected, probe, encoding)
    assert document.offset_at(probe) == offset
    assert document.split(probe) == (expected[:offset], expected[offset:])
    assert document.around(probe, 4, 5) == (expected[max(offset - 4, 0) : offset], expected[offset : offset + 5])


@given(text=texts, encoding=st.sampled_from(ENCODINGS), chunk_chars=st.integers(1, 8))
def test_a_position_at_each_character_names_it(text: str, encoding: PositionEncoding, chunk_chars: int) -> None:
    document = snapshot_of(text, encoding, chunk_chars)
    offset = 0
    for number, (line, line_end) in enumerate(naive_lines(text)):
        character = 0
        for item in line:
            assert document.position_at(offset) == Position(number, character)
            character += naive_width(item, encoding)
            offset += 1
        assert document.position_at(offset) == Position(number, character)
        offset += len(line_end)


@given(text=texts, changes=st.lists(changes_strategy, max_size=8), encoding=st.sampled_from(ENCODINGS))
def test_snapshots_stay_as_they_were(text: str, changes: list[Change], encoding: PositionEncoding) -> None:
    snapshots = [snapshot_of(text, encoding)]
    expected = [text]
    for step in changes:
        snapshots.append(snapshots[-1].apply([step], snapshots[-1].version + 1))
        expected.append(naive_apply(expected[-1], step, encoding))
    assert [str(snapshot.text) for snapshot in snapshots] == expected
    assert [snapshot.version for snapshot in snapshots] == list(range(1, len(changes) + 2))


@pytest.mark.parametrize("separator", list("\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"))
def test_other_separators_do_not_end_a_line(separator: str) -> None:
    assert edited(f"a{separator}b\nc", change((1, 0), (1, 1), "X")) == f"a{separator}b\nX"
    assert edited(f"a{separator}b\nc", change((0, 2), (0, 3), "X")) == f"a{separator}X\nc"


@pytest.mark.parametrize(
    ("text", "position", "offset"),
    [
        pytest.param("ab\ncd", (0, 99), 2, id="past the end of a LF line"),
        pytest.param("ab\r\ncd", (0, 99), 2, id="past the end of a CRLF line"),
        pytest.param("ab\r\ncd", (0, 3), 2, id="between CR and LF"),
        pytest.param("ab\rcd", (0, 3), 2, id="past the end of a CR line"),
        pytest.param("ab\ncd", (1, 99), 5, id="past the end of the last line"),
        pytest.param("ab\n", (1, 0), 3, id="the empty line at the end"),
        pytest.param("ab\n", (1, 7), 3, id="past the empty line at the end"),
        pytest.param("ab\n", (2, 0), 3, id="past the last line"),
        pytest.param("", (0, 0), 0, id="the empty document"),
        pytest.param("", (5, 5), 0, id="past the empty document"),
        pytest.param("ab\ncd", (-1, 1), 0, id="negative line"),
        pytest.param("ab\ncd", (1, -1), 3, id="negative character"),
        pytest.param("ab\ncd", (2**31 - 1, 2**31 - 1), 5, id="the largest numbers"),
    ],
)
def test_positions_are_clamped(text: str, position: tuple[int, int], offset: int) -> None:
    for encoding in ENCODINGS:
        assert snapshot_of(text, encoding).offset_at(Position(*position)) == offset


@pytest.mark.parametrize(
    ("encoding", "offsets"),
    [
        ("utf-8", [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4]),
        ("utf-16", [0, 1, 2, 2, 3, 4, 4]),
        ("utf-32", [0, 1, 2, 3, 4, 4]),
    ],
)
def test_positions_count_units_and_fall_back_to_the_start_of_a_character(
    encoding: PositionEncoding, offsets: list[int]
) -> None:
    document = snapshot_of("é漢🙂x\n", encoding)
    assert [document.offset_at(Position(0, character)) for character in range(len(offsets))] == offsets


def test_a_combining_mark_is_a_character_of_its_own() -> None:
    assert edited("e\u0301x", change((0, 1), (0, 2), "")) == "ex"


def test_lone_surrogates_do_not_raise() -> None:
    for encoding in ENCODINGS:
        assert edited("a\ud83d\nb", change((1, 0), (1, 1), "c"), encoding=encoding) == "a\ud83d\nc"
    assert edited("x\ude42", change((0, 1), (0, 1), "\ud83d")) == "x🙂"


def test_changes_are_applied_in_order_each_in_what_the_one_before_left() -> None:
    assert edited("ab", change((0, 0), (0, 0), "1\n"), change((1, 0), (1, 1), "2")) == "1\n2b"
    assert edited("ab", Change(None, None, "new\r\n"), change((1, 0), (1, 0), "!")) == "new\r\n!"


def test_an_edit_that_ends_in_cr_before_lf_makes_one_line_end() -> None:
    assert edited("a\nb", change((0, 1), (0, 1), "\r"), change((1, 0), (1, 1), "X")) == "a\r\nX"


def test_a_lf_after_a_cr_makes_one_line_end() -> None:
    assert edited("a\rb", change((1, 0), (1, 0), "\n"), change((1, 0), (1, 1), "X")) == "a\r\nX"


def test_deleting_a_crlf_joins_its_lines() -> None:
    assert edited("a\r\nb\r\n", change((0, 1), (1, 0), "")) == "ab\r\n"


def test_a_range_the_wrong_way_round_is_the_same_range() -> None:
    assert edited("abcd", change((0, 3), (0, 1), "X")) == "aXd"


def test_store_keeps_uri_language_and_version() -> None:
    store = DocumentStore("utf-8")
    assert store.encoding == "utf-8"
    opened = store.open(URI, "python", 3, "x = 1\n")
    assert store.get(URI) is opened
    changed = store.change(URI, 7, [change((0, 4), (0, 5), "2")])
    assert changed is store.get(URI)
    assert changed is not None
    assert (changed.uri, changed.language_id, changed.version, str(changed.text)) == (URI, "python", 7, "x = 2\n")
    assert (opened.version, str(opened.text), opened.split(Position(0, 4))) == (3, "x = 1\n", ("x = ", "1\n"))


def test_an_empty_list_of_changes_still_brings_the_version() -> None:
    store = DocumentStore()
    store.open(URI, "python", 1, "a")
    document = store.change(URI, 2, [])
    assert document is not None
    assert (document.version, str(document.text)) == (2, "a")


def test_documents_that_are_not_open_are_no_error() -> None:
    store = DocumentStore()
    assert store.get(URI) is None
    assert store.change(URI, 2, [Change(None, None, "a")]) is None
    store.close(URI)
    assert len(store) == 0


def test_close_forgets_and_open_replaces() -> None:
    store = DocumentStore()
    store.open("file:///a", "python", 1, "a")
    store.open("file:///b", "c", 1, "b")
    store.open("file:///a", "rust", 5, "c")
    assert [(document.uri, document.language_id, document.version) for document in store] == [
        ("file:///b", "c", 1),
        ("file:///a", "rust", 5),
    ]
    snapshot = store.get("file:///a")
    for document in store:
        store.close(document.uri)
    assert len(store) == 0
    assert snapshot is not None
    assert str(snapshot.text) == "c"


def test_windows_have_no_more_than_was_asked_for() -> None:
    document = snapshot_of("0123456789")
    assert document.around(Position(0, 5), 2, 3) == ("34", "567")
    assert document.around(Position(0, 5), 0, 0) == ("", "")
    assert document.around(Position(0, 5), -1, -1) == ("", "")
    assert document.around(Position(0, 5), 99, 99) == ("01234", "56789")


def test_change_from_json() -> None:
    span = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}
    assert Change.from_json({"range": span, "rangeLength": 9, "text": "x"}) == change((1, 2), (3, 4), "x")
    assert Change.from_json({"text": "x"}) == Change(None, None, "x")
    assert Change.from_json({"range": None, "text": "x"}) == Change(None, None, "x")


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"text": None},
        {"text": "x", "range": 3},
        {"text": "x", "range": {"start": {"line": 1, "character": 2}}},
        {"text": "x", "range": {"start": {"line": 1}, "end": {"line": 1, "character": 2}}},
        {"text": "x", "range": {"start": {"line": "1", "character": 2}, "end": {"line": 1, "character": 2}}},
    ],
)
def test_a_malformed_change_is_a_value_error(value: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="content change"):
        Change.from_json(value)
