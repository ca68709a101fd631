"""A text in pieces: always the same, however it came, and ended by what ends it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.pieces import Pieces

ENDS = ("<|fim_pad|>", "<|file_sep|>", "</s>")
TEXTS = st.lists(
    st.sampled_from(["ab", "_1", " ", "\t", "\n", "<", "|", "<|fim", "<|fim_pad|>", "</s>", "ü", "."])
).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    borders = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in pairwise(borders)]


def pieces_of(portions: list[str]) -> tuple[list[str], bool]:
    pieces = Pieces(ENDS)
    found = [piece for portion in portions for piece in pieces.push(portion)]
    return [*found, *pieces.flush()], pieces.is_over


@given(TEXTS, st.lists(st.integers(0, 1000)))
def test_where_a_text_was_cut_changes_nothing(text: str, places: list[int]) -> None:
    found, is_over = pieces_of(cut(text, places))
    assert (found, is_over) == pieces_of([text])
    ends = [place for end in ENDS if (place := text.find(end)) >= 0]
    assert "".join(found) == text[: min(ends, default=len(text))]
    assert is_over == bool(ends)


def test_words_and_runs_of_blanks_are_whole_and_signs_are_alone() -> None:
    pieces = Pieces()
    assert pieces.push("exce") == []
    assert pieces.push("ptions") == []
    assert pieces.push(" = [") == ["exceptions", " ", "=", " ", "["]
    assert pieces.push("\n  ") == ["\n"]
    assert pieces.push("  ]") == ["    ", "]"]
    assert pieces.flush() == []


def test_what_may_be_an_end_waits() -> None:
    pieces = Pieces(ENDS)
    assert pieces.push("a <") == ["a"]
    assert pieces.push("b") == [" ", "<"]
    assert pieces.push(" <|fim_") == ["b"]
    assert pieces.push("pad|> more") == [" "]
    assert pieces.is_over
    assert pieces.push("more") == []
    assert pieces.flush() == []
