"""What an edit replaced: the stretch that differs, and the names in it that became other names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.replacements import MAX_PARTS, Replacement, between, replaced_words

TEXT = st.text("ab \n", max_size=20)


@given(before=TEXT, after=TEXT)
def test_putting_new_where_old_was_gives_the_text_after(before: str, after: str) -> None:
    found = between(before, after)

    start, end = found.start_chars, found.start_chars + len(found.old)
    assert before[start:end] == found.old
    assert before[:start] + found.new + before[end:] == after
    # No more than the difference: its ends differ.
    if found.old and found.new:
        assert found.old[0] != found.new[0]
        assert found.old[-1] != found.new[-1]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("x = total + 1", "x = count + 1", Replacement("total", "count", 4)),
        ("get_name()", "get_title()", Replacement("nam", "titl", 4)),
        ("same", "same", Replacement("", "", 4)),
        ("", "new", Replacement("", "new", 0)),
        ("aaa", "aa", Replacement("a", "", 2)),
    ],
)
def test_the_stretch_that_differs(before: str, after: str, expected: Replacement) -> None:
    assert between(before, after) == expected


def test_long_texts_are_compared_in_little_time_and_right() -> None:
    before = "word " * 100_000
    after = before[:250_000] + "X" + before[250_001:]
    started = time.perf_counter()

    assert between(before, after) == Replacement("w", "X", 250_000)
    assert replaced_words(before, after) == [("word", "Xord")]
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("f(name1)", "f(title)", [("name1", "title")]),
        ("get_name()", "get_title()", [("get_name", "get_title")]),
        ("a + b\nb", "a + c\nc", [("b", "c")]),
        ("f(a, b)", "g(a, c)", [("f", "g"), ("b", "c")]),
        ("same", "same", []),
        ("", "new", []),
        ("old", "", []),
        ("a + b", "a - b", []),
        ("f(1)", "f(2)", []),
        ("   ", "x", []),
        ("x " * MAX_PARTS, "y " * MAX_PARTS, []),
    ],
)
def test_names_that_became_other_names(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    assert replaced_words(before, after) == expected
