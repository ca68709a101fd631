"""What is shown of an answer, at its end and on the way; ``§`` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from completiond.complete.place import Place
from completiond.complete.stops import check
from tests.complete.showing import place_of, shown, write


def test_an_answer_that_ends_by_itself_is_shown_whole() -> None:
    assert shown("def f():\n    §\n", "a = 1\n    b = 2") == "a = 1\n    b = 2"


def test_a_last_line_that_stands_below_is_not_shown_even_if_the_answer_ends_there() -> None:
    text = "def f():\n    §\n    return total\n"

    assert shown(text, "x = 1\n    return total") == "x = 1"


@pytest.mark.parametrize("answer", ["", " ", "\n", "\n\n   \n", "\t"])
def test_nothing_but_blanks_is_nothing(answer: str) -> None:
    for text in ("def f():\n    §\n", "x = §", "foo(§)", "foo(a,§b)"):
        assert shown(text, answer) == ""


def test_blanks_at_the_end_are_not_shown() -> None:
    assert shown("def f():\n    §\n", "return 1  \n    \n") == "return 1"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("alpha = 1\n    beta = alp", "alpha = 1"),
        ("alpha = bet", "alpha = bet"),
        ("\n    alpha = bet", "\n    alpha = bet"),
        ("alpha = 1\n    if alpha:\n        be", "alpha = 1"),
        ("if alpha:\n        be", "if alpha:\n        be"),
        ("alpha = 1\n", "alpha = 1"),
    ],
)
def test_the_length_cap_leaves_neither_half_a_line_nor_an_empty_block(answer: str, expected: str) -> None:
    assert shown("def f():\n    §\n", answer, then="length") == expected


# Streaming

FRAGMENTS = st.sampled_from(
    [
        *(
            "\n",
            "\n",
            "\n\n",
            "    ",
            "  ",
            "\t",
            " ",
            "}",
            "{",
            ")",
            "(",
            "]",
            "[",
            ":",
            '"',
            "'",
            "```",
            "- ",
            "</a>",
        ),
        *("return x", "if x:", "x = 1", "else:", "} else {", "end", "case 1:", "foo(a, b)", "value", "v", "# note"),
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=12).map("".join)


@settings(deadline=None, max_examples=400)
@given(prefix=TEXTS, suffix=TEXTS, answer=TEXTS, then=st.sampled_from(["eos", "length"]))
@example(prefix="x\n", suffix="\n}\nnext", answer="}\n\n\n\n\nnext\n", then="eos")
@example(prefix="x\n", suffix="\n", answer="a\n\n\n\n\nb", then="length")
@example(prefix="x\n", suffix="\n", answer="a\nif x:\nb", then="length")
def test_what_was_called_safe_is_never_taken_back(prefix: str, suffix: str, answer: str, then: str) -> None:
    write(Place.of(prefix, suffix), answer, then)  # asserts it


def safe_part(text: str, answer: str) -> str:
    verdict = check(answer, place_of(text))
    assert verdict.end is None
    return answer[: verdict.safe]


def test_a_first_line_is_shown_as_it_grows_and_the_others_when_they_are_complete() -> None:
    text = "def f():\n    §\n"

    assert safe_part(text, "tot") == "tot"
    assert safe_part(text, "total = 1\n    ret") == "total = 1"
    assert safe_part(text, "total = 1\n    return total\n") == "total = 1\n    return total"


def test_a_line_that_may_turn_out_to_be_the_next_one_waits() -> None:
    text = "def f():\n    §\n    return total\n"

    assert safe_part(text, "return to") == ""
    assert safe_part(text, "return top") == "return top"


def test_a_gap_is_shown_as_it_grows_only_before_a_closing_bracket_or_quote() -> None:
    assert safe_part("foo(§)", "a, b") == "a"
    assert safe_part("foo(§)", "a, g(b, c") == "a"
    assert safe_part('"§"', "hello") == "hello"
    assert safe_part("x = §total", "count + ") == ""
