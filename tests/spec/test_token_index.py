"""The index of tokens against a scan of all runs, while runs come, grow and go and blocks form and merge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec import token_index
from completiond.spec.token_index import BYTES_PER_TOKEN, MAX_MATCH, MIN_MATCH, Run, TokenIndex

IDS = st.lists(st.integers(0, 3), max_size=12)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), IDS),
        st.tuples(st.just("extend"), IDS),
        st.tuples(st.just("remove"), st.integers(0, 50)),
        st.tuples(st.just("pack"), st.just(0)),
    ),
    max_size=30,
)


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_index, "TAIL_TOKENS", 4)
        patch.setattr(token_index, "MAX_PLACES", 1000)
        yield


class Model:
    """What the index should hold, kept in plain lists."""

    def __init__(self) -> None:
        self.index = TokenIndex()
        self.runs: list[tuple[Run, list[int]]] = []

    def change(self, what: str, value: object) -> None:
        alive = [entry for entry in self.runs if entry[0].alive]
        if what == "add" and isinstance(value, list):
            self.runs.append((self.index.add(value, "file"), list(value)))
        elif what == "extend" and isinstance(value, list) and self.runs and self.runs[-1][0].alive:
            run, token_ids = self.runs[-1]
            self.index.extend(run, value)
            token_ids += value
        elif what == "remove" and isinstance(value, int) and alive:
            self.index.remove(alive[value % len(alive)][0])
        elif what == "pack":
            self.index.pack()

    @property
    def alive(self) -> list[tuple[Run, list[int]]]:
        return [entry for entry in self.runs if entry[0].alive]


def scan(model: Model, context: Sequence[int]) -> tuple[int, set[tuple[int, int]]]:
    """Length of the longest match, and (run, offset in it) of every place behind one."""
    for length in range(min(MAX_MATCH, len(context)), MIN_MATCH - 1, -1):
        tail = list(context[-length:])
        found = {
            (number, end)
            for number, (_, run) in enumerate(model.alive)
            for end in range(length, len(run))
            if run[end - length : end] == tail
        }
        if found:
            return length, found
    return 0, set()


def check(model: Model, context: Sequence[int]) -> None:
    length, expected = scan(model, context)
    matches = model.index.longest(context)
    numbers = {id(run): number for number, (run, _) in enumerate(model.alive)}
    assert {(numbers[id(match.run)], match.place - match.run.start) for match in matches} == expected
    assert len(matches) == len(expected)
    assert all(match.length == length for match in matches)
    assert [match.place for match in matches] == sorted((match.place for match in matches), reverse=True)
    for match in matches:
        rest = model.alive[numbers[id(match.run)]][1][match.place - match.run.start :]
        assert list(model.index.tokens(match.run, match.place, 5)) == rest[:5]


@settings(deadline=None)
@given(changes=CHANGES, contexts=st.lists(IDS, min_size=1, max_size=3))
def test_it_finds_what_a_scan_finds_after_any_changes(
    changes: list[tuple[str, object]], contexts: list[list[int]]
) -> None:
    model = Model()
    for change in changes:
        model.change(*change)
        for context in contexts:
            check(model, context)
    assert model.index.num_tokens == sum(len(run) for _, run in model.alive)


@settings(deadline=None)
@given(changes=CHANGES)
def test_every_pair_of_every_run_is_found(changes: list[tuple[str, object]]) -> None:
    model = Model()
    for change in changes:
        model.change(*change)
    for _, run in model.alive:
        for end in range(MIN_MATCH, len(run)):
            check(model, run[:end])


@pytest.mark.parametrize("num_first", range(1, 14))
def test_a_run_that_grows_after_it_was_sorted_is_found_across_the_seam(num_first: int) -> None:
    index = TokenIndex()
    index.add([100, 101, 102], "prompt")
    run = index.add(range(num_first), "prompt")
    for token_id in range(num_first, 30):
        index.extend(run, [token_id])

    for end in range(MIN_MATCH, 30):
        (match,) = index.longest([end - 2, end - 1])
        assert index.tokens(run, match.place, 1) == (end,)
    assert index.longest([102, 0]) == []


def test_no_match_crosses_from_one_run_to_the_next() -> None:
    index = TokenIndex()
    for run in ([1, 2], [3, 4, 5], [], [2, 3]):
        index.add(run, "file")

    assert index.longest([1, 2]) == []  # nothing behind it in its run
    assert index.longest([2, 3]) == []
    (match,) = index.longest([2, 3, 4])
    assert (match.length, index.tokens(match.run, match.place, 9)) == (2, (5,))


def test_agreement_is_counted_up_to_the_cap_and_not_before_the_first_token() -> None:
    index = TokenIndex()
    run = index.add(range(100), "file")

    (match,) = index.longest(list(range(90)))
    assert (match.length, match.place) == (MAX_MATCH, run.start + 90)
    (match,) = index.longest([7, 7, 0, 1, 2])
    assert match.length == 3


def test_of_very_many_places_the_newest_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_index, "MAX_PLACES", 3)
    index = TokenIndex()
    runs = [index.add([1, 2, number], "file") for number in range(10)]

    assert [match.run for match in index.longest([1, 2])] == runs[:-4:-1]


def test_the_longest_match_is_found_among_very_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_index, "MAX_PLACES", 3)
    index = TokenIndex()
    best = index.add([9, 8, 1, 2, 5], "file")
    for number in range(20):
        index.add([number, 1, 2, 4], "file")

    (match,) = index.longest([9, 8, 1, 2])
    assert (match.run, match.length) == (best, 4)


def test_places_that_are_not_wanted_give_way_to_shorter_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_index, "MAX_PLACES", 3)
    index = TokenIndex()
    refused = index.add([9, 8, 1, 2, 5], "file")
    runs = [index.add([number, 1, 2, 4], "file") for number in range(20, 40)]

    def wanted(run: Run, place: int) -> bool:
        assert index.tokens(run, place, 1) == ((5,) if run is refused else (4,))
        return run is not refused

    found = index.longest([9, 8, 1, 2], wanted)
    assert [match.run for match in found] == runs[:-4:-1]
    assert {match.length for match in found} == {2}
    assert index.longest([9, 8, 1, 2], lambda run, place: False) == []


@settings(deadline=None)
@given(changes=CHANGES)
def test_the_last_place_is_behind_the_newest_earlier_occurrence_of_a_run_s_last_token(
    changes: list[tuple[str, object]],
) -> None:
    model = Model()
    for change in changes:
        model.change(*change)
        for run, token_ids in model.alive:
            ends = [end for end in range(1, len(token_ids)) if token_ids[end - 1] == token_ids[-1]]
            place = model.index.last_place(run)
            assert place == (run.start + ends[-1] if ends else None)
            if place is not None:
                assert list(model.index.tokens(run, place, 99)) == token_ids[ends[-1] :]


@pytest.mark.parametrize("run", [[], [1], [1, 2]])
def test_a_last_token_without_an_earlier_one_in_its_own_run_has_no_last_place(run: list[int]) -> None:
    index = TokenIndex()
    index.add([1, 2, 3], "other")

    assert index.last_place(index.add(run, "file")) is None


def test_only_the_newest_run_can_grow() -> None:
    index = TokenIndex()
    older, newer = index.add([1, 2], "a"), index.add([3, 4], "b")
    with pytest.raises(ValueError, match="newest"):
        index.extend(older, [5])
    index.remove(newer)
    for run in (older, newer):
        with pytest.raises(ValueError, match="newest"):
            index.extend(run, [5])


def test_removing_twice_is_harmless() -> None:
    index = TokenIndex()
    run, other = index.add([1, 2, 3], "a"), index.add([1, 2, 4], "b")
    index.remove(run)
    index.remove(run)

    assert index.num_tokens == 3
    assert [match.run for match in index.longest([1, 2])] == [other]


def test_memory_falls_after_removals_and_what_stays_is_found() -> None:
    index = TokenIndex()
    runs = [index.add([number, number + 1, *range(1000)], f"run {number}") for number in range(2000, 2100)]
    full_bytes = index.size_bytes
    for run in runs[:90]:
        index.remove(run)

    assert index.size_bytes < full_bytes / 4
    assert [match.run for match in index.longest([2095, 2096])] == [runs[95]]
    assert index.longest([2005, 2006]) == []
    for run in runs:
        index.remove(run)
    assert (index.num_tokens, index.size_bytes) == (0, TokenIndex().size_bytes)


def test_packing_leaves_the_bytes_of_what_is_alive_and_little_more() -> None:
    index = TokenIndex()
    runs = [index.add(range(1000), "file") for _ in range(50)]
    for run in runs[:20]:
        index.remove(run)
    index.pack()

    assert index.num_tokens == 30_000
    assert index.size_bytes <= 30_100 * BYTES_PER_TOKEN


def test_memory_stays_bounded_when_runs_come_and_go_even_empty_ones() -> None:
    index = TokenIndex()
    index.add(range(100), "file")
    sizes = []
    for number in range(3000):
        index.remove(index.add(range(number % 3), "edit"))
        sizes.append(index.size_bytes)

    assert max(sizes) <= 4 * 100 * BYTES_PER_TOKEN
