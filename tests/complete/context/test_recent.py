"""Where was edited lately, by the numbers that lines have now."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.context.recent import MAX_RANGES, Recent
from completiond.complete.request import LineEdit


def ranges(recent: Recent, document: str = "a") -> list[tuple[int, int]]:
    return [(one.first_line, one.end_line) for one in recent.uses[document].edited]


def recent_with(*edits: LineEdit) -> Recent:
    recent = Recent()
    recent.open("a", "/a.py")
    recent.edit("a", edits)
    return recent


def edit(first: int, old: int, new: int) -> LineEdit:
    return LineEdit(first, old, ("x",) * new)


def test_the_newest_place_is_the_last() -> None:
    assert ranges(recent_with(edit(50, 1, 1), edit(10, 1, 1))) == [(50, 51), (10, 11)]


def test_places_move_with_the_lines_above_them() -> None:
    assert ranges(recent_with(edit(50, 1, 1), edit(10, 1, 4))) == [(53, 54), (10, 14)]
    assert ranges(recent_with(edit(50, 1, 1), edit(10, 5, 0))) == [(45, 46), (10, 10)]


def test_what_is_typed_at_one_place_is_one_place() -> None:
    assert ranges(recent_with(*[edit(10 + n, 1, 2) for n in range(9)])) == [(10, 20)]


def test_the_places_are_bounded() -> None:
    recent = recent_with(*[edit(10 * n, 1, 1) for n in range(50)])
    assert ranges(recent) == [(10 * n, 10 * n + 1) for n in range(50 - MAX_RANGES, 50)]


def test_documents_are_in_the_order_of_their_last_use() -> None:
    recent = Recent()
    for name in "abc":
        recent.open(name, f"/{name}")
    recent.edit("a", [edit(0, 1, 1)])
    recent.view("b", 7)
    assert list(recent.uses) == ["c", "a", "b"]
    assert (recent.uses["b"].line, recent.uses["c"].line) == (7, None)
    recent.close("a")
    recent.close("nobody")
    recent.edit("nobody", [edit(0, 1, 1)])
    recent.view("nobody", 1)
    assert list(recent.uses) == ["c", "b"]


def test_a_document_that_was_replaced_has_no_past() -> None:
    recent = recent_with(edit(3, 1, 1))
    recent.open("a", "/a.py")
    assert ranges(recent) == []


@given(st.integers(0, 10**6))
def test_the_last_edit_is_always_in_a_place_that_the_document_has(seed: int) -> None:
    numbers, num_lines = random.Random(seed), 100
    recent = recent_with()
    for _ in range(30):
        first = numbers.randint(0, num_lines - 1)
        old = numbers.randint(0, min(10, num_lines - first))
        new = numbers.randint(0, 10)
        recent.edit("a", [edit(first, old, new)])
        num_lines += new - old
        if num_lines < 1:
            break
        spots = ranges(recent)
        assert spots[-1][0] <= first
        assert first + new <= spots[-1][1]
        assert all(0 <= begin <= end <= num_lines for begin, end in spots)
