"""Which texts an answer follows: what stood at the cursor, a line like it, the place it copies from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.tokens import TextTokenizer
from completiond.spec.draft_text import DraftText
from completiond.spec.lookup import Copy
from completiond.spec.parts import PartSwap
from completiond.spec.templates import Templates
from completiond.spec.token_index import TokenIndex
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer

BYTES = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
TO_PARTITIONED: PartSwap = (["secure"], ["partitioned"])


def templates(
    before: str, behind: str = "", replaced: str | None = None, analogies: Sequence[PartSwap] = ()
) -> Templates:
    """Of an answer between two texts, where ``replaced`` stood."""
    index = TokenIndex()
    run = None if replaced is None else index.add(BYTES.encode(replaced), "edit")
    text = DraftText(index, "a.py", run, (), tuple(analogies), BYTES)
    return Templates(text, BYTES, BYTES.encode(before), BYTES.encode(behind))


def write(one: Templates, *written: str) -> Templates:
    for text in written:
        one.write(BYTES.encode(text), None)
    return one


def first(one: Templates, name: str) -> str | None:
    """The likeliest continuation of the template ``name``."""
    return next((found.text for found in one.continuations() if found.origin.startswith(f"{name}, ")), None)


def names(one: Templates) -> set[str]:
    return {found.origin.partition(", ")[0] for found in one.continuations()}


def test_with_nothing_around_there_is_no_template() -> None:
    for before, behind in (("", ""), ("\n\n", "\n"), ("  ", "\n  \n")):
        assert templates(before, behind).continuations() == []


# What stood at the cursor


def test_replaced_text_is_followed_and_what_stands_behind_it() -> None:
    one = templates("x = ", "\ny = 2\n", replaced="old(1)")

    assert first(one, "replaced") == "old(1)\ny = 2\n"
    assert first(write(one, "new("), "replaced") == "1)\ny = 2\n"


def test_replaced_text_is_followed_as_the_last_rewrite_would_have_it_too() -> None:
    one = templates("x = ", "\n", replaced="f(secure, SECURE)", analogies=[TO_PARTITIONED])

    assert first(one, "replaced") == "f(secure, SECURE)\n"
    assert first(one, "rewritten") == "f(partitioned, PARTITIONED)\n"


def test_without_a_word_of_the_last_rewrite_there_is_nothing_to_rewrite() -> None:
    one = templates("a(other)\n", "\n", replaced="f(other)", analogies=[TO_PARTITIONED])

    assert names(one) == {"replaced", "sibling"}


# The line like it


def test_a_line_goes_on_as_the_line_above() -> None:
    assert first(templates("    first = 1\n    ", "\n"), "sibling") == "first = 1\n"


def test_what_is_typed_on_the_line_already_is_behind() -> None:
    one = templates("first = make(first)\nsecond = ", "\n")

    assert first(one, "sibling") == "make(second)\n"


def test_the_nearest_line_above_with_the_same_indentation_counts() -> None:
    above = "    far = 1\n    near = 2\n        deeper = 3\n\n  less = 4\n    "

    assert first(templates(above, "\n"), "sibling") == "near = 2\n"


@pytest.mark.parametrize("above", ["", "        deeper = 3\n\n"])
def test_without_one_above_the_line_below_counts(above: str) -> None:
    one = templates(f"{above}    ", "\n    below = 1\n    more = 2\n")

    assert first(one, "sibling") == "below = 1\n    below = 1\n    more = 2\n"


def test_a_line_below_with_another_indentation_does_not_count() -> None:
    assert templates("    ", "\nbelow = 1\n").continuations() == []


def test_a_line_goes_on_as_the_last_line_went_on_with_its_model() -> None:
    one = templates("    a.secure(SECURE)\n    ", "\n", analogies=[TO_PARTITIONED])

    assert first(one, "sibling") == "a.secure(SECURE)\n"
    assert first(one, "analogous") == "a.partitioned(PARTITIONED)\n"


def test_each_new_line_of_the_answer_has_the_line_above_as_its_model() -> None:
    one = templates("zero = 0\n", "\n")
    write(one, "one = first(one)\n")
    assert first(one, "sibling") == "one = first(one)\n"

    write(one, "two =")
    assert first(one, "sibling") == " first(two)\n"

    write(one, " second(two)\nthree")
    assert first(one, "sibling") == " = second(three)\n"


def test_a_line_written_at_once_with_those_above_follows_the_one_with_its_indentation() -> None:
    one = write(templates("def f():\n", "\n"), "    a = first(a)\n        b = 2\n    c =")

    assert first(one, "sibling") == " first(c)\n"


# Where a copy was right


def test_a_place_that_was_copied_from_goes_on_where_the_answer_comes_back_to_it() -> None:
    index = TokenIndex()
    run = index.add(BYTES.encode("start: one(old, 1) + two(old)\n"), "file")
    text = DraftText(index, "a.py", None, (), (), BYTES)
    one = Templates(text, BYTES, BYTES.encode("start:"), [])
    one.write(BYTES.encode(" one(new"), Copy(index, run, run.start + len("start:"), 6, "file"))

    assert first(one, "copied") == ", 1) + two(new)\n"
    assert first(write(one, ", 1) +"), "copied") == " two(new)\n"


def test_a_text_that_the_answer_has_nothing_in_common_with_is_no_longer_followed() -> None:
    one = templates("x = ", "\n", replaced="f(a, b)\ng(c, d)")
    write(one, "[0] + f(")
    assert "replaced" in names(one)

    write(one, "[0];" * 50, "f", "(")
    assert "replaced" not in names(one)


# Whatever is there


TEXTS = st.lists(
    st.sampled_from(["a", "Ab", "secure", "_", "(", " ", "\n", "\n    ", "é", "\U0001f642"]), max_size=30
).map("".join)
LINE = st.text("ab_( 1", min_size=1, max_size=20)
BYTE_IDS = st.lists(st.integers(0, 255), min_size=1, max_size=12)


@settings(deadline=None, max_examples=150)
@given(
    before=TEXTS,
    behind=TEXTS,
    replaced=st.none() | TEXTS,
    written=st.text("ab_( 1", min_size=1, max_size=20),
    data=st.data(),
)
def test_a_line_written_token_by_token_is_the_same_as_written_at_once(
    before: str, behind: str, replaced: str | None, written: str, data: st.DataObject
) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(written))))
    stepwise, at_once = (templates(before, behind, replaced, [TO_PARTITIONED]) for _ in range(2))
    for begin, end in pairwise(sorted({0, *cuts, len(written)})):
        write(stepwise, written[begin:end])
    write(at_once, written)

    assert stepwise.continuations() == at_once.continuations()


@settings(deadline=None, max_examples=150)
@given(before=BYTE_IDS, behind=BYTE_IDS, replaced=BYTE_IDS, passes=st.lists(BYTE_IDS, max_size=6))
def test_halves_of_characters_are_followed_like_any_text(
    before: list[int], behind: list[int], replaced: list[int], passes: list[list[int]]
) -> None:
    index = TokenIndex()
    run = index.add(replaced, "edit")
    one = Templates(DraftText(index, "a.py", run, (), (TO_PARTITIONED,), BYTES), BYTES, before, behind)
    for number, token_ids in enumerate(passes):
        one.write(token_ids, Copy(index, run, run.start, 2, "edit") if number % 2 else None)
        for found in one.continuations():
            assert found.text
            assert BYTES.encode(found.text)
