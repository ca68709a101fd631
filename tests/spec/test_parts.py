"""Text cut into words, signs and blanks: nothing is lost, and where a name changes it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.spec.parts import PartKind, kind_of, split_parts

ODD = "aZ9_ \t\n\r\u00a0\u0301\u00df\u00b2\u0663\u4e2d\ufffd\U0001f642\ud83d(."


@given(text=st.text(ODD) | st.text())
def test_parts_are_the_whole_text_in_order(text: str) -> None:
    parts = split_parts(text)

    assert "".join(parts) == text
    assert all(parts)


@given(text=st.text(ODD) | st.text())
def test_every_part_is_of_one_kind(text: str) -> None:
    for part in split_parts(text):
        kinds = {kind_of(char) for char in part}
        assert kinds == {kind_of(part)}


@given(before=st.text(ODD), after=st.text(ODD))
def test_text_that_comes_later_changes_the_last_part_only(before: str, after: str) -> None:
    parts = split_parts(before)
    *whole, last = parts or [""]

    assert split_parts(before + after) == [*whole, *split_parts(last + after)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_HTTPBody(1)", ["get", "_", "HTTP", "Body", "(", "1", ")"]),
        ("camelCase2x", ["camel", "Case", "2", "x"]),
        ("__init__", ["__", "init", "__"]),
        ("SECURE_URL", ["SECURE", "_", "URL"]),
        ("a  =\tb", ["a", "  ", "=", "\t", "b"]),
        ("a\n    b\n\n", ["a", "\n    ", "b", "\n", "\n"]),
        ("!==", ["!", "=", "="]),
        ("\u4e2d\u6587", ["\u4e2d", "\u6587"]),
        ("", []),
    ],
)
def test_where_edits_cut(text: str, expected: list[str]) -> None:
    assert split_parts(text) == expected


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ("name", PartKind.WORD),
        ("12", PartKind.WORD),
        ("\u4e2d", PartKind.WORD),
        ("_", PartKind.SIGN),
        ("(", PartKind.SIGN),
        ("\U0001f642", PartKind.SIGN),
        ("\n    ", PartKind.BLANK),
        ("\t", PartKind.BLANK),
    ],
)
def test_a_word_never_stands_for_a_sign_or_a_blank(part: str, kind: PartKind) -> None:
    assert kind_of(part) is kind
