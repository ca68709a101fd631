"""Copies spelled anew: with other names, and from the middle of a token on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.tokens import TextTokenizer
from completiond.spec.spelling import WordSwap, beyond_seam, swap_words, unswap_words
from tests.fake_model import PADDED_VOCAB_SIZE, bytes_of, fake_tokenizer

BYTES = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
NAMES = st.sampled_from(["a", "b", "ab", "a_b", "é", "x1"])
SWAPS = st.lists(st.tuples(NAMES, NAMES), max_size=3)
TEXTS = st.lists(
    st.sampled_from(["a", "b", "ab", "_", ".", " ", "\n", "é", "x1", "\U0001f642", "\\", "|"]), max_size=16
).map("".join)


def swapped(text: str, *swaps: WordSwap) -> str | None:
    new = swap_words(BYTES.encode(text), swaps, BYTES)
    return None if new is None else BYTES.decode(new)


def unswapped(text: str, *swaps: WordSwap) -> str | None:
    new = unswap_words(BYTES.encode(text), swaps, BYTES)
    return None if new is None else BYTES.decode(new)


def beyond(typed: str, text: str) -> str | None:
    new = beyond_seam(typed, BYTES.encode(text), BYTES)
    return None if new is None else BYTES.decode(new)


# Names


@pytest.mark.parametrize(
    ("text", "swaps", "expected"),
    [
        ("f(total) + total", [("total", "tally")], "f(tally) + tally"),
        ("subtotal, total_2, self.total", [("total", "n")], "subtotal, total_2, self.n"),
        ("a, b", [("a", "b"), ("b", "a")], "b, a"),
        ("x", [("x", "new"), ("x", "old")], "new"),
        ("a_b a", [("a", "c"), ("a_b", "d")], "d c"),
        ("größe", [("größe", "länge")], "länge"),
        ("other", [("total", "tally")], None),
        ("", [("total", "tally")], None),
        ("total", [], None),
    ],
)
def test_whole_names_are_replaced(text: str, swaps: Sequence[WordSwap], expected: str | None) -> None:
    assert swapped(text, *swaps) == expected


@pytest.mark.parametrize(
    ("text", "swaps", "expected"),
    [
        ("f(tally) + total", [("total", "tally")], "f(total) + total"),
        ("tallying", [("total", "tally")], None),
        ("new", [("first", "new"), ("second", "new")], "first"),
        ("a, b", [("a", "b"), ("b", "a")], "b, a"),
        ("text", [], None),
        ("", [("total", "tally")], None),
    ],
)
def test_a_text_is_read_as_before_the_replacement(text: str, swaps: Sequence[WordSwap], expected: str | None) -> None:
    assert unswapped(text, *swaps) == expected


def words(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)


@settings(deadline=None)
@given(text=TEXTS, swaps=SWAPS)
def test_replacing_is_done_word_by_word(text: str, swaps: list[WordSwap]) -> None:
    new_by_old = dict(reversed(swaps))
    expected = "".join(new_by_old.get(word, word) for word in words(text))

    assert swapped(text, *swaps) == (expected if expected != text else None)


@settings(deadline=None)
@given(text=TEXTS, old=NAMES)
def test_turning_a_replacement_back_gives_the_text_before(text: str, old: str) -> None:
    new = swapped(text, (old, "fresh"))

    assert new is None or unswapped(new, (old, "fresh")) == text


def test_a_shorter_name_moves_what_stands_behind_it() -> None:
    assert swap_words(bytes_of("f(abc, abc)"), [("abc", "x")], BYTES) == bytes_of("f(x, x)")


def test_a_longer_name_moves_what_stands_behind_it() -> None:
    assert swap_words(bytes_of("a + b"), [("a", "long")], BYTES) == bytes_of("long + b")


# Seams


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("ret", "return x", "urn x"),
        ("    ", "    return", "return"),
        ("", "return", "return"),
        ("return", "return", None),
        ("return x", "return", None),
        ("reg", "return", None),
        ("", "", None),
    ],
)
def test_a_copy_goes_on_where_what_was_typed_ends(typed: str, text: str, expected: str | None) -> None:
    assert beyond(typed, text) == expected


@settings(deadline=None)
@given(typed=TEXTS, rest=TEXTS)
def test_what_was_typed_and_what_goes_on_are_the_copy(typed: str, rest: str) -> None:
    assert beyond(typed, typed + rest) == (rest or None)


@settings(deadline=None)
@given(ids=st.lists(st.integers(0, 255), max_size=12), typed=TEXTS, swaps=SWAPS)
def test_halves_of_characters_are_spelled_like_any_text(ids: list[int], typed: str, swaps: list[WordSwap]) -> None:
    made = (swap_words(ids, swaps, BYTES), beyond_seam(typed, ids, BYTES), unswap_words(ids, swaps, BYTES))
    assert all(new is None or all(0 <= token_id < 256 for token_id in new) for new in made)
