"""One phrase over and over in a line; ``§`` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.place import Place
from tests.complete.showing import reason, shown, write

SENTENCE = "Our tea is grown by hand. "


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("x = [§\n", "1234, " * 11, "1234, 1234,"),
        ("<p>§\n", "We sell. " + SENTENCE * 5, "We sell. " + (SENTENCE * 2).rstrip()),
        ("def f():\n    §\n", "a = 1\n    b = " + "c + dd * " * 8, "a = 1\n    b = c + dd * c + dd *"),
        ("f(§)\n", "1234, " * 11, "1234, 1234"),
        ("x = § + total\n", "1234 + " * 11, ""),
    ],
)
def test_it_ends_behind_the_second(text: str, answer: str, expected: str) -> None:
    assert (shown(text, answer), reason(text, answer)) == (expected, "repeat")


@pytest.mark.parametrize(
    "answer",
    ["0, " * 40 + "0]", "None, " * 6 + "None]", "0xFF, " * 7 + "0xFF]", SENTENCE * 2 + "And", "=" * 80, "-+" * 40],
)
def test_a_row_of_a_table_or_a_rule_is_shown(answer: str) -> None:
    assert shown("x = [§\n", answer) == answer


@settings(deadline=None, max_examples=300)
@given(
    text=st.sampled_from(
        ["x = [§\n", "§\n", "f(§)\n", "f(a, §), b)\n", "x = § + b\n", '"§"\n', "if a:\n    §\n    b\n"]
    ),
    start=st.text("ab, ", max_size=8),
    phrase=st.text("abc,( )", min_size=6, max_size=14),
    times=st.integers(2, 9),
    end=st.text("ab, )\n", max_size=8),
    then=st.sampled_from(["eos", "length"]),
)
def test_what_was_called_safe_is_never_taken_back(
    text: str, start: str, phrase: str, times: int, end: str, then: str
) -> None:
    prefix, suffix = text.split("§")

    write(Place.of(prefix, suffix), start + phrase * times + end, then)  # asserts it
