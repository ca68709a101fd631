from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.lsp.text import Position, PositionEncoding, Text, num_units

ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("abc", "utf-8", 3),
        ("é漢🙂", "utf-8", 9),
        ("é漢🙂", "utf-16", 4),
        ("é漢🙂", "utf-32", 3),
        ("\ud83d", "utf-8", 3),
        ("\ud83d", "utf-16", 1),
        ("\ud83d", "utf-32", 1),
        ("", "utf-16", 0),
    ],
)
def test_num_units(text: str, encoding: PositionEncoding, expected: int) -> None:
    assert num_units(text, encoding) == expected


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="utf-7"):
        Text("", "utf-7")  # type: ignore[arg-type]


def test_chunks_of_no_characters_are_refused() -> None:
    with pytest.raises(ValueError, match="chunk_chars"):
        Text("", "utf-8", chunk_chars=0)


@pytest.mark.parametrize(
    ("text", "num_lines"),
    [("", 1), ("a", 1), ("a\n", 2), ("a\r\nb", 2), ("a\rb", 2), ("\n\r\n\r", 4), ("\r\r\n\n", 4)]
    + [(f"a{separator}b", 1) for separator in "\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"],
)
def test_lines_end_only_where_the_protocol_says(text: str, num_lines: int) -> None:
    assert Text(text, "utf-16").num_lines == num_lines
    assert Text(text, "utf-16", chunk_chars=1).num_lines == num_lines


@pytest.mark.parametrize("chunk_chars", [1, 2, 100])
@pytest.mark.parametrize(
    ("before", "start", "end", "inserted", "after", "num_lines"),
    [
        pytest.param("a\r\nb", 2, 2, "x", "a\rx\nb", 3, id="insertion splits a CRLF"),
        pytest.param("a\r\nb", 2, 3, "", "a\rb", 2, id="deletion leaves the CR"),
        pytest.param("a\r\nb", 1, 2, "", "a\nb", 2, id="deletion leaves the LF"),
        pytest.param("a\nb", 1, 1, "\r", "a\r\nb", 2, id="a CR comes before a LF"),
        pytest.param("a\rb", 2, 2, "\n", "a\r\nb", 2, id="a LF comes after a CR"),
        pytest.param("\rx\n", 1, 2, "", "\r\n", 2, id="deletion joins CR and LF"),
        pytest.param("\r" + "x" * 9 + "\n", 1, 10, "", "\r\n", 2, id="deletion of several chunks joins CR and LF"),
        pytest.param("a\r\nb", 0, 4, "", "", 1, id="deletion of everything"),
    ],
)
def test_edits_split_and_join_line_ends(
    chunk_chars: int, before: str, start: int, end: int, inserted: str, after: str, num_lines: int
) -> None:
    text = Text(before, "utf-16", chunk_chars=chunk_chars).replace(start, end, inserted)
    assert str(text) == after
    assert text.num_lines == num_lines


@pytest.mark.parametrize("chunk_chars", [1, 100])
def test_halves_of_a_surrogate_pair_that_meet_become_one_character(chunk_chars: int) -> None:
    assert str(Text("a\ud83d\ude42b", "utf-8")) == "a🙂b"
    text = Text("ab", "utf-8", chunk_chars=chunk_chars).replace(1, 1, "\ud83d").replace(2, 2, "\ude42")
    assert str(text) == "a🙂b"
    assert text.position_at(2) == Position(0, 5)
    assert str(Text("\ud83d-\ude42", "utf-8", chunk_chars=chunk_chars).replace(1, 2, "")) == "🙂"


def test_offsets_out_of_the_text_are_clamped() -> None:
    text = Text("abc", "utf-8")
    assert text.slice(-5, 99) == "abc"
    assert text.slice(2, 1) == ""
    assert str(text.replace(-5, 1, "x")) == "xbc"
    assert str(text.replace(99, 2, "x")) == "abx"
    assert text.position_at(-1) == Position(0, 0)
    assert text.position_at(99) == Position(0, 3)


def test_an_offset_within_a_crlf_is_the_end_of_its_line() -> None:
    text = Text("ab\r\nc", "utf-16")
    assert [text.position_at(offset) for offset in range(6)] == [
        Position(0, 0),
        Position(0, 1),
        Position(0, 2),
        Position(0, 2),
        Position(1, 0),
        Position(1, 1),
    ]


def test_an_edit_leaves_the_text_it_was_made_in() -> None:
    first = Text("one\ntwo\n", "utf-16", chunk_chars=2)
    second = first.replace(0, 3, "1")
    assert (str(first), first.num_lines, first.num_chars) == ("one\ntwo\n", 3, 8)
    assert (str(second), second.num_lines, second.num_chars) == ("1\ntwo\n", 3, 6)


@given(
    before=st.text(alphabet="ab\r\n漢🙂\f\u2028"),
    edits=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.text(alphabet="ab\r\n漢🙂"))),
    encoding=st.sampled_from(ENCODINGS),
    chunk_chars=st.integers(1, 9),
)
def test_a_text_edits_like_a_string(
    before: str, edits: list[tuple[int, int, str]], encoding: PositionEncoding, chunk_chars: int
) -> None:
    text, expected = Text(before, encoding, chunk_chars=chunk_chars), before
    for start, length, inserted in edits:
        text = text.replace(start, start + length, inserted)
        expected = expected[:start] + inserted + expected[start + length :]
        assert str(text) == expected
        assert text.num_chars == len(expected)
        assert text.slice(start, start + length) == expected[start : start + length]
        for offset in range(len(expected) + 1):
            is_within_crlf = expected[max(offset - 1, 0) : offset + 1] == "\r\n"
            assert text.offset_at(text.position_at(offset)) == offset - is_within_crlf
