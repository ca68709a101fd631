"""Edits as whole lines: made in the old lines, they give the lines of the new text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.request import LineEdit
from completiond.lsp.documents import Change, DocumentStore, Snapshot
from completiond.lsp.line_edits import all_lines, line_edits
from completiond.lsp.sync import apply
from completiond.lsp.text import Position, PositionEncoding, Text

ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])
TEXTS = st.text("ab\r\n\r\né🙂\u2028", max_size=30)
POSITIONS = st.builds(Position, st.integers(-1, 12), st.integers(-1, 8))
CHANGES = st.builds(Change, POSITIONS, st.one_of(st.none(), POSITIONS), TEXTS)


def lines_of(text: str) -> list[str]:
    return re.split("\r\n|\r|\n", text)


def follow(lines: Sequence[str], edits: Sequence[LineEdit]) -> list[str]:
    result = list(lines)
    for edit in edits:
        assert edit.first_line >= 0
        assert edit.first_line + edit.num_old_lines <= len(result)
        result[edit.first_line : edit.first_line + edit.num_old_lines] = edit.new_lines
    return result


@settings(deadline=None, max_examples=400)
@given(before=TEXTS, changes=st.lists(CHANGES, max_size=4), encoding=ENCODINGS)
def test_the_edits_give_the_lines_of_the_new_text(
    before: str, changes: list[Change], encoding: PositionEncoding
) -> None:
    document = Snapshot("", "", 1, Text(before, encoding, chunk_chars=4))
    after = document.apply(changes, 2)

    edits = line_edits(document.text, changes)

    assert edits is not None
    assert len(edits) == len(changes)
    assert follow(lines_of(before), edits) == lines_of(str(after.text)) == list(all_lines(after.text))


@pytest.mark.parametrize(
    ("before", "start", "end", "text", "after"),
    [
        pytest.param("a\r\nb", (0, 1), (1, 0), "", ["ab"], id="a CRLF goes"),
        pytest.param("a\rb", (1, 0), (1, 0), "\n", ["a", "b"], id="a LF makes a CR a CRLF"),
        pytest.param("a\nb", (0, 1), (0, 1), "\r", ["a", "b"], id="a CR makes a LF a CRLF"),
        pytest.param("\rx\ny", (1, 0), (1, 1), "", ["", "y"], id="a deletion joins CR and LF"),
        pytest.param("a\r\nb", (0, 1), (0, 1), "\r", ["a", "", "b"], id="a CR before a CRLF"),
        pytest.param("", (0, 0), (0, 0), "a\n", ["a", ""], id="into an empty text"),
        pytest.param("a\nb\n", (0, 0), (2, 0), "", [""], id="all of the text goes"),
        pytest.param("abc", (0, 2), (0, 1), "", ["ac"], id="the other way round"),
    ],
)
def test_line_ends_made_and_undone(
    before: str, start: tuple[int, int], end: tuple[int, int], text: str, after: list[str]
) -> None:
    edits = line_edits(Text(before, "utf-16"), [Change(Position(*start), Position(*end), text)])

    assert edits is not None
    assert follow(lines_of(before), edits) == after


def test_an_edit_names_no_more_than_the_lines_next_to_it() -> None:
    text = Text("\n".join(f"line {number}" for number in range(1000)), "utf-16")

    assert line_edits(text, [Change(Position(500, 0), Position(500, 4), "zeile")]) == [
        LineEdit(499, 3, ("line 499", "zeile 500", "line 501"))
    ]


def test_a_replacement_of_the_whole_text_is_no_edit_of_lines() -> None:
    edit = Change(Position(0, 0), None, "x")

    assert line_edits(Text("a", "utf-16"), [edit, Change(None, None, "b"), edit]) is None
    assert line_edits(Text("a", "utf-16"), []) == []


class Follower:
    """Keeps the lines it is told of."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.num_opened = 0

    def opened(self, document: Snapshot) -> None:
        self.num_opened += 1
        self.lines[document.uri] = list(all_lines(document.text))

    def changed(self, uri: str, edits: Sequence[LineEdit]) -> None:
        self.lines[uri] = follow(self.lines[uri], edits)

    def closed(self, uri: str) -> None:
        self.lines.pop(uri, None)


DOCUMENT = {"uri": "file:///a", "version": 1}
RANGE = {"start": {"line": 0, "character": 1}, "end": {"line": 1, "character": 0}}


def test_a_follower_has_the_text_of_the_store() -> None:
    store, follower = DocumentStore(), Follower()
    apply(store, "textDocument/didOpen", {"textDocument": {**DOCUMENT, "text": "a\r\nb\r\n"}}, follower)
    assert follower.lines == {"file:///a": ["a", "b", ""]}

    changes: list[dict[str, object]] = [{"range": RANGE, "text": "x\ny"}]
    apply(store, "textDocument/didChange", {"textDocument": DOCUMENT, "contentChanges": changes}, follower)
    assert (follower.lines["file:///a"], follower.num_opened) == (["ax", "yb", ""], 1)

    changes = [{"text": "all\nnew"}, {"range": RANGE, "text": ""}]
    apply(store, "textDocument/didChange", {"textDocument": DOCUMENT, "contentChanges": changes}, follower)
    assert (follower.lines["file:///a"], follower.num_opened) == (["anew"], 2)

    apply(store, "textDocument/didClose", {"textDocument": DOCUMENT}, follower)
    assert follower.lines == {}


def test_a_change_of_a_document_that_is_not_open_is_not_told() -> None:
    follower = Follower()
    change = {"textDocument": DOCUMENT, "contentChanges": [{"text": "x"}]}
    apply(DocumentStore(), "textDocument/didChange", change, follower)

    assert (follower.lines, follower.num_opened) == ({}, 0)


def test_after_a_change_that_cannot_be_read_a_follower_has_nothing_left() -> None:
    store, follower = DocumentStore(), Follower()
    apply(store, "textDocument/didOpen", {"textDocument": {**DOCUMENT, "text": "a"}}, follower)
    with pytest.raises(ValueError, match="text is not a string"):
        apply(store, "textDocument/didChange", {"textDocument": DOCUMENT, "contentChanges": [{}]}, follower)

    assert follower.lines == {}
