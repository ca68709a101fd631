"""What an edit replaced: the stretch that differs, and the names in it that became other names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.replacements import MAX_PARTS, Replacement, analogies, between, replaced_words
from completiond.spec.parts import split_parts
from completiond.spec.template import swap_parts

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


# What a line has in the places of a line like it


def analogous(model: str, line: str) -> list[tuple[str, str]]:
    return [("".join(old), "".join(new)) for old, new in analogies(model, line)]


@pytest.mark.parametrize(
    ("model", "line", "expected"),
    [
        ("x = old(1)", "x = new(1)", [("old", "new"), ("old", "new")]),  # as a name, and as its only word
        ("secure_url = 1", "open_url = 1", [("secure_url", "open_url"), ("secure", "open")]),
        ("f(typing.List)", "f(List)", [("typing.", "")]),  # no name for a name
        ("x = f(1)", "x = f(1)", []),
        ("", "x = 1", []),
        ("x = 1", "", []),
    ],
)
def test_whole_names_come_before_the_words_in_them(model: str, line: str, expected: list[tuple[str, str]]) -> None:
    assert analogous(model, line) == expected


def test_what_a_rewrite_did_is_done_in_the_next_line_in_its_case() -> None:
    pairs = analogies("secure = f(secure_url)", "open = f(open_url)")

    assert "".join(swap_parts(split_parts("Secure = g(SECURE)"), pairs)) == "Open = g(OPEN)"


LINES = st.lists(
    st.sampled_from(["a", "b", "Ab", "_", "(", " ", "1", "é", "\U0001f642", "\ud83d"]), max_size=12
).map("".join)  # fmt: skip


@given(model=LINES, line=LINES)
def test_each_part_comes_from_the_model_and_from_the_line(model: str, line: str) -> None:
    for old, new in analogous(model, line):
        assert old
        assert old in model
        assert new in line
        assert old != new
