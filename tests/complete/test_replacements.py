"""What an edit replaced: the stretch that differs, and the word around it as tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.replacements import Replacement, between, swaps_of
from completiond.complete.tokens import TextTokenizer
from completiond.spec.swaps import MAX_SWAP_TOKENS
from tests.fake_model import PADDED_VOCAB_SIZE, bytes_of, fake_tokenizer

TEXT = st.text("ab \n", max_size=20)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)


@given(before=TEXT, after=TEXT)
def test_putting_new_where_old_was_gives_the_text_after(before: str, after: str) -> None:
    found = between(before, after)

    start, end = found.start_chars, found.start_chars + len(found.old)
    assert before[start:end] == found.old
    assert before[:start] + found.new + before[end:] == after
    assert before[:start].endswith(found.left)
    assert before[end:].startswith(found.right)
    # No more than the difference: its ends differ.
    if found.old and found.new:
        assert found.old[0] != found.new[0]
        assert found.old[-1] != found.new[-1]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("x = total + 1", "x = count + 1", Replacement("total", "count", "", "", 4)),
        ("get_name()", "get_title()", Replacement("nam", "titl", "get_", "e", 4)),
        ("same", "same", Replacement("", "", "same", "", 4)),
        ("", "new", Replacement("", "new", "", "", 0)),
        ("aaa", "aa", Replacement("a", "", "aa", "", 2)),
    ],
)
def test_the_stretch_and_the_word_around_it(before: str, after: str, expected: Replacement) -> None:
    assert between(before, after) == expected


def test_long_texts_are_compared_in_little_time_and_right() -> None:
    before = "word " * 100_000
    after = before[:250_000] + "X" + before[250_001:]

    assert between(before, after) == Replacement("w", "X", "", "ord", 250_000)


def test_a_swap_is_of_whole_words_alone_and_behind_a_blank(tokenizer: TextTokenizer) -> None:
    assert swaps_of(between("f(nam1)", "f(tam1)"), tokenizer) == [
        (tuple(bytes_of("nam1")), tuple(bytes_of("tam1"))),
        (tuple(bytes_of(" nam1")), tuple(bytes_of(" tam1"))),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("same", "same"),
        ("", "new"),
        ("old", ""),
        ("a + b", "a - b"),  # no word
        ("a\nb", "c\nd"),  # more than one line
        ("a" * (MAX_SWAP_TOKENS + 1), "b" * 3),
        ("   ", "x"),
    ],
)
def test_what_is_no_replacement_of_a_word_is_no_swap(before: str, after: str, tokenizer: TextTokenizer) -> None:
    assert swaps_of(between(before, after), tokenizer) == []
