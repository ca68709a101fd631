"""Where a program asks an answer to end, looked at token by token, and what may be shown before that is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.limits import Limits
from completiond.complete.verdict import Verdict


def written(limits: Limits, text: str, size: int = 1) -> tuple[str, str, list[str]]:
    """What is left of ``text``, why, and all that was shown on the way, in pieces of ``size`` characters."""
    shown = [""]
    for end in range(size, len(text) + size, size):
        so_far = text[:end]
        verdict = limits.narrow(Verdict(None, "", len(so_far)), so_far, end - size)
        if verdict.end is not None:
            return so_far[: verdict.end], verdict.reason, shown
        shown.append(so_far[: verdict.safe])
    return text, "", shown


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_it_ends_before_the_first_of_the_strings(size: int) -> None:
    text, reason, shown = written(Limits(stop=("#end", "\n\n", "zz")), "a = 1\nb = 2\n\nc", size)

    assert (text, reason) == ("a = 1\nb = 2", "stop")
    assert all(text.startswith(one) for one in shown), "what was shown is never taken back"


@given(st.text("ab\n ", max_size=30), st.lists(st.text("ab\n ", min_size=1, max_size=4), max_size=3), st.integers(1, 4))
def test_a_stop_string_is_never_shown_nor_part_of_one_that_comes(text: str, stop: list[str], size: int) -> None:
    kept, _, shown = written(Limits(stop=tuple(stop)), text, size)

    seen = next((text[:end] for end in range(size, len(text), size) if any(word in text[:end] for word in stop)), text)
    first = min((seen.find(word) for word in stop if word in seen), default=len(text))
    assert kept == text[:first]
    assert all(kept.startswith(one) for one in shown)


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n    b\n    c\n", "a\n    b\n    c\n"),
        ("a\n    b\n  c\n", "a\n    b\n"),
        ("a\n\t\t\t\tb\nc", "a\n\t\t\t\tb\n"),
        ("a\n    b\n\n    c", "a\n    b\n"),
        ("a", "a"),
        ("a\n  ", "a\n  "),
    ],
)
def test_it_ends_before_a_line_that_is_less_deep(text: str, kept: str, size: int) -> None:
    found, _, shown = written(Limits(min_indent=4), text, size)

    assert found == kept
    assert all(kept.startswith(one) for one in shown)


def test_the_earlier_of_several_ends_counts() -> None:
    limits = Limits(stop=("x",), min_indent=4)

    assert written(limits, "a x\nb")[:2] == ("a ", "stop")
    assert written(limits, "a\nb x")[:2] == ("a\n", "indent")
    assert limits.narrow(Verdict(1, "line", 1), "abx", 0) == Verdict(1, "line", 1)
    assert limits.narrow(Verdict(None, "line", 1, fallback=1), "abx", 0).end == 1, "where a rule saw an end already"


def test_time_counts_behind_a_line() -> None:
    limits = Limits(max_write_ms=10.0)

    assert not limits.is_time_over("a", 11.0)
    assert not limits.is_time_over("a\nb", 9.0)
    assert limits.is_time_over("a\nb", 11.0)
    assert not Limits().is_time_over("a\nb", 1e9)


def test_which_string_it_was() -> None:
    assert Limits(stop=("b", "bc")).word_at("abc", 1) == "b"
    assert Limits(stop=("x",)).word_at("abc", 1) == ""
