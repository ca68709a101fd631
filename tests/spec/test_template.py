"""A text followed with changes: what it goes on with, and that a replacement seen once is made again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.parts import split_parts
from completiond.spec.template import MAX_DRAFT_PARTS, Continuation, Template, swap_parts

PIECES = st.sampled_from(["a", "b", "ab", "AB", "Ab", "_", "(", " ", "\n", "\n  ", "1", "é", "\ud83d", "\U0001f642"])
TEXTS = st.lists(PIECES, max_size=16).map("".join)


def after(source: str, *written: str) -> list[Continuation]:
    template = Template("line", source)
    for text in written:
        template.write(text)
    return template.continuations()


def first(source: str, *written: str) -> str:
    return after(source, *written)[0].text


def swapped(text: str, *pairs: tuple[str, str]) -> str:
    return "".join(swap_parts(split_parts(text), [(split_parts(old), split_parts(new)) for old, new in pairs]))


def test_where_nothing_is_written_yet_all_of_it_may_follow() -> None:
    assert after("x = 1\n")[0] == Continuation("x = 1\n", "line, agrees", 0)


def test_what_is_written_already_is_behind() -> None:
    template = Template("line", "x = value\n", "x = ")

    assert template.continuations()[0].text == "value\n"


@pytest.mark.parametrize("written", ["x", "x = v", "x = value"])
def test_in_step_it_goes_on(written: str) -> None:
    assert first("x = value(1)\n", written) == "x = value(1)\n".removeprefix(written)


def test_its_name_and_how_the_last_part_was_taken_say_where_a_continuation_is_from() -> None:
    (replaced, *_), (agrees, *_) = after("f(a)\n", "g"), after("f(a)\n", "g(")

    assert (replaced.origin, replaced.match) == ("line, replaces", 0)
    assert (agrees.origin, agrees.match) == ("line, agrees", 1)


def test_a_replacement_seen_once_is_made_at_the_next_place() -> None:
    assert first("left = self.left + left\n", "right =") == " self.right + right\n"


def test_a_replacement_is_made_in_the_case_of_the_next_place() -> None:
    assert first("secure = SECURE or Secure(secure)\n", "partitioned =") == " PARTITIONED or Partitioned(partitioned)\n"
    assert first("class Secure(secure, SECURE_URL):", "class HTTPOnly(") == "httponly, HTTPONLY_URL):"


def test_a_replacement_is_made_within_longer_names() -> None:
    assert first("secure = self.get_cookie_secure(app)\n", "partitioned =") == " self.get_cookie_partitioned(app)\n"
    assert first("secure = self.getCookieSecure(app)\n", "partitioned =") == " self.getCookiePartitioned(app)\n"


def test_words_left_out_once_are_left_out_again() -> None:
    assert first("a: typing.List = typing.List()\n", "a: List =") == " List()\n"


def test_of_two_replacements_of_one_word_the_later_is_made() -> None:
    assert first("old(old, old)\n", "one(two,") == " two)\n"


def test_it_goes_on_inside_a_word_that_has_begun() -> None:
    texts = [one.text for one in after("class Headers(typing.Mapping[str, str]):\n", "class Headers(M")]

    assert "apping[str, str]):\n" in texts


def test_a_word_that_has_begun_is_not_cut_short_at_its_next_place() -> None:
    assert first("cookie = f(cookie)\n", "coo") == "kie = f(cookie)\n"


def test_behind_its_end_nothing_follows() -> None:
    assert after("x = 1\n", "x = 1\n") == []
    assert after("", "x") == []


def test_no_more_is_drafted_than_is_worth_it() -> None:
    (one, *_) = after("a " * 500)

    assert len(split_parts(one.text)) == MAX_DRAFT_PARTS


@settings(deadline=None, max_examples=200)
@given(source=TEXTS, written=TEXTS, cuts=st.sets(st.integers(0, 30), max_size=6))
def test_written_piece_by_piece_is_the_same_as_written_at_once(source: str, written: str, cuts: set[int]) -> None:
    bounds = [0, *sorted(cut for cut in cuts if cut < len(written)), len(written)]
    pieces = [written[begin:end] for begin, end in pairwise(bounds)]

    assert after(source, *pieces) == after(source, written)


@settings(deadline=None, max_examples=200)
@given(source=TEXTS, end=st.integers(0, 40))
def test_while_it_is_copied_what_follows_is_its_rest(source: str, end: int) -> None:
    parts = split_parts(source)[:end]
    rest = source[len("".join(parts)) :]
    rests = [one.text for one in after(source, "".join(parts))]

    assert not rest or rest in rests


# Replacing runs of words


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a.secure(SECURE, Secure)", "secure", "partitioned", "a.partitioned(PARTITIONED, Partitioned)"),
        ("Secure secure", "Secure", "Open", "Open open"),
        ("a_b A_B a_c", "a_b", "c_d", "c_d C_D a_c"),
        ("typing.List", "typing.", "", "List"),
        ("insecure", "secure", "open", "insecure"),
        ("a", "a_b", "c", "a"),
        ("", "a", "b", ""),
    ],
)
def test_words_are_replaced_as_wholes_in_their_case(text: str, old: str, new: str, expected: str) -> None:
    assert swapped(text, (old, new)) == expected


def test_of_pairs_for_one_place_the_first_is_made_and_never_upon_its_own_result() -> None:
    assert swapped("one two", ("one", "two"), ("two", "one"), ("one", "three")) == "two one"


@given(text=TEXTS)
def test_without_pairs_all_stays(text: str) -> None:
    assert swapped(text) == text
