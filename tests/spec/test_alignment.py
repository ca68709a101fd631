"""The alignment against a plain dynamic programme, and the places and replacements that it reads off."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.alignment import (
    INSERT_MORE,
    INSERT_OPEN,
    REPLACE_BLANK,
    REPLACE_SIGN,
    REPLACE_WORD,
    SKIP_MORE,
    SKIP_OPEN,
    Alignment,
    Arrival,
)
from completiond.spec.parts import PartKind, kind_of, split_parts

PIECES = st.sampled_from(["a", "b", "ab", "Ab", "_", "(", ",", " ", "\n", "\n  ", "1", "é"])
TEXTS = st.lists(PIECES, max_size=14).map("".join)
INFINITE = float("inf")


def naive_costs(source: list[str], written: list[str]) -> list[float]:
    """Gotoh's recurrences, cell by cell: cost of all of ``written`` against the first 0, 1, ... parts of ``source``."""
    by_kind = {PartKind.WORD: REPLACE_WORD, PartKind.SIGN: REPLACE_SIGN, PartKind.BLANK: REPLACE_BLANK}

    def replace(old: str, new: str) -> float:
        if old == new:
            return 0.0
        return by_kind[kind_of(old)] if kind_of(old) is kind_of(new) else INFINITE

    paired = [[INFINITE] * (len(source) + 1) for _ in range(len(written) + 1)]
    inserted = [[INFINITE] * (len(source) + 1) for _ in range(len(written) + 1)]
    skipped = [[INFINITE] * (len(source) + 1) for _ in range(len(written) + 1)]
    paired[0][0] = 0.0
    for i in range(len(written) + 1):
        for j in range(len(source) + 1):
            if i and j:
                before = min(paired[i - 1][j - 1], inserted[i - 1][j - 1], skipped[i - 1][j - 1])
                paired[i][j] = before + replace(source[j - 1], written[i - 1])
            if i:
                opened = min(paired[i - 1][j], inserted[i - 1][j], skipped[i - 1][j]) + INSERT_OPEN
                inserted[i][j] = min(opened, inserted[i - 1][j] + INSERT_MORE)
            if j:
                opened = min(paired[i][j - 1], inserted[i][j - 1]) + SKIP_OPEN
                skipped[i][j] = min(opened, skipped[i][j - 1]) + SKIP_MORE
    return [min(cells) for cells in zip(paired[-1], inserted[-1], skipped[-1], strict=True)]


def aligned(source: str, *written: str) -> Alignment:
    alignment = Alignment(source)
    for text in written:
        alignment.write(text)
    return alignment


def final_costs(alignment: Alignment) -> list[float]:
    last = alignment._last
    row = alignment._step(last) if last else alignment._rows[-1]
    costs: list[float] = row.final.tolist()
    return costs


def rests(source: str, *written: str) -> list[str]:
    """What the source goes on with at each place, the likeliest first."""
    return [source[one.offset_chars :] for one in aligned(source, *written).arrivals()]


def swaps(source: str, written: str) -> list[tuple[str, str]]:
    return [("".join(old), "".join(new)) for old, new in aligned(source, written).swaps()]


@settings(deadline=None, max_examples=300)
@given(source=TEXTS, written=TEXTS)
def test_costs_are_those_of_a_plain_dynamic_programme(source: str, written: str) -> None:
    expected = naive_costs(split_parts(source), split_parts(written))

    assert final_costs(aligned(source, written)) == pytest.approx(expected, abs=1e-4)


@settings(deadline=None)
@given(source=TEXTS, written=TEXTS)
def test_its_cost_is_that_of_the_likeliest_place_for_what_is_written_whole(source: str, written: str) -> None:
    expected = min(naive_costs(split_parts(source), split_parts(written)[:-1]))

    assert aligned(source, written).cost == pytest.approx(expected, abs=1e-4)


@settings(deadline=None, max_examples=200)
@given(source=TEXTS, written=TEXTS, cuts=st.sets(st.integers(0, 30), max_size=6))
def test_written_piece_by_piece_is_the_same_as_written_at_once(source: str, written: str, cuts: set[int]) -> None:
    bounds = [0, *sorted(cut for cut in cuts if cut < len(written)), len(written)]
    stepwise = aligned(source, *(written[begin:end] for begin, end in pairwise(bounds)))
    at_once = aligned(source, written)

    assert stepwise.arrivals() == at_once.arrivals()
    assert stepwise.swaps() == at_once.swaps()


@settings(deadline=None, max_examples=300)
@given(source=TEXTS, written=TEXTS)
def test_places_are_in_the_source_and_say_rightly_what_agrees_there(source: str, written: str) -> None:
    parts, written_parts = split_parts(source), split_parts(written)
    for one in aligned(source, written).arrivals():
        assert one.offset_chars == len("".join(parts[: one.part])) + one.inside_chars < len(source)
        before = parts[: one.part]
        if one.inside_chars:
            before.append(parts[one.part][: one.inside_chars])
        agrees = not written_parts or before[-1:] == written_parts[-1:]
        assert one.move == ("agrees" if agrees else "replaces")
        assert (one.agreeing > 0) == (agrees and bool(written))
        assert one.agreeing <= len(written_parts)


@settings(deadline=None, max_examples=300)
@given(source=TEXTS, written=TEXTS)
def test_replacements_stand_in_source_and_text_in_order_the_latest_first(source: str, written: str) -> None:
    old_rest, new_rest = split_parts(source), split_parts(written)
    for old, new in aligned(source, written).swaps():
        old_rest = before_last(old_rest, list(old))
        new_rest = before_last(new_rest, list(new))
        assert old != new
        assert any(kind_of(part) is PartKind.WORD for part in old)


def before_last(parts: list[str], run: list[str]) -> list[str]:
    """What stands before the last occurrence of ``run``."""
    places = [i for i in range(len(parts) - len(run) + 1) if parts[i : i + len(run)] == run]
    assert places, f"{run} is not in {parts}"
    return parts[: places[-1]]


# Where the text has come to


def test_at_the_beginning_all_of_the_source_is_ahead() -> None:
    assert rests("x = 1\n")[0] == "x = 1\n"


@pytest.mark.parametrize("written", ["def ", "def get(", "def get(self, na"])
def test_in_step_it_goes_on_where_it_is(written: str) -> None:
    source = "def get(self, name):\n"

    (arrival, *_) = aligned(source, written).arrivals()
    assert source[: arrival.offset_chars] == written
    assert (arrival.move, arrival.cost) == ("agrees", 0.0)


def test_it_is_surer_the_longer_it_has_been_in_step() -> None:
    source = "self.one(a, b)"
    agreeing = [aligned(source, source[:end]).arrivals()[0].agreeing for end in (4, 5, 8, 9, 10)]

    assert agreeing == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("source", "written", "rest"),
    [
        ("x = old(a, b)\n", "x = new(", "a, b)\n"),
        ("x = get_old_name(a)\n", "x = get_new", "_name(a)\n"),
        ("if a < b:\n", "if a > ", "b:\n"),
        ("a = 1\n  b = 2\n", "a = 1\n    b", " = 2\n"),
    ],
)
def test_behind_a_replaced_part_it_comes_back(source: str, written: str, rest: str) -> None:
    assert rests(source, written)[0] == rest


def test_at_a_replaced_part_it_says_that_nothing_agrees() -> None:
    arrival = aligned("x = old(a)\n", "x = new").arrivals()[0]

    assert (arrival.offset_chars, arrival.move, arrival.agreeing) == (len("x = old"), "replaces", 0)


@pytest.mark.parametrize(
    ("source", "written", "rest"),
    [
        ("f(first, second)\n", "f(second", ")\n"),
        ("one()\ntwo()\nthree()\nfour()\n", "one()\nthree(", ")\nfour()\n"),
        ("typing.Mapping[str]", "Mapping", "[str]"),
    ],
)
def test_what_is_left_out_is_behind(source: str, written: str, rest: str) -> None:
    assert rest in rests(source, written)


def test_behind_something_put_in_it_comes_back() -> None:
    source = "f(first, second)\n"

    assert rests(source, "f(first, extra, sec")[0] == "ond)\n"


def test_right_where_something_is_put_in_it_does_not_come_back() -> None:
    assert [one.move for one in aligned("f(a)\n", "f(a,").arrivals() if one.offset_chars == 3] == []


def test_it_comes_back_inside_a_word_that_has_begun() -> None:
    source = "class Headers(typing.Mapping[str, str]):\n"
    found = [one for one in aligned(source, "class Headers(M").arrivals() if one.inside_chars]

    assert [(source[one.offset_chars :], one.move) for one in found] == [("apping[str, str]):\n", "agrees")]


def test_of_words_that_begin_alike_the_nearest_in_cost_is_meant() -> None:
    (arrival,) = [one for one in aligned("map.more.most", "map.mo").arrivals() if one.inside_chars]

    assert arrival == Arrival(len("map.mo"), 2, 2, 3, "agrees", 0.0)


def test_a_sign_never_begins_another_part() -> None:
    assert all(not one.inside_chars for one in aligned("a __init__", "a _").arrivals())


@pytest.mark.parametrize("source", ["x = 1\n", "return value", "f(a)"])
def test_at_the_end_of_the_source_there_is_no_place_left(source: str) -> None:
    assert aligned(source, source).arrivals() == []


@pytest.mark.parametrize("source", ["", "\n", "   "])
def test_an_empty_source_has_nothing_to_say(source: str) -> None:
    alignment = aligned(source, "text(1)\n", "more")

    assert all(one.offset_chars < len(source) for one in alignment.arrivals())
    assert alignment.swaps() == []


# What took the place of what


def test_no_replacement_where_all_agrees() -> None:
    assert swaps("get_cookie(app)", "get_cookie(app)") == []
    assert swaps("get_cookie(app)", "") == []


def test_a_word_that_has_begun_replaces_nothing() -> None:
    assert swaps("cookie = get_cookie(app)", "coo") == []


def test_of_names_that_begin_alike_only_the_rest_is_replaced() -> None:
    assert swaps("get_cookie_secure", "get_cookie_partitioned") == [("secure", "partitioned")]


def test_the_differing_beginning_of_a_name_is_replaced() -> None:
    assert swaps("secure_cookie(app)", "partitioned_cookie(app)") == [("secure", "partitioned")]


def test_names_that_differ_in_all_their_words_are_replaced_as_a_whole() -> None:
    assert swaps("a_b", "c_d") == [("a_b", "c_d")]


def test_several_replacements_come_the_latest_first() -> None:
    assert swaps("x = old(first, same)", "y = new(other, same)") == [("first", "other"), ("old", "new"), ("x", "y")]


def test_words_left_out_are_replaced_by_nothing() -> None:
    assert swaps("f(typing.Mapping[str])", "f(Mapping[str])") == [("typing.", "")]


def test_a_changed_sign_or_blank_is_no_replacement_to_make_again() -> None:
    assert swaps("a + b\n  c", "a - b\n    c") == []


def test_a_line_left_out_is_no_replacement() -> None:
    assert swaps("a = 1\nb = first(2, 3, 4)\nc = 5\n", "a = 1\nc = 5\n") == []
