"""The Jacobi window against columns that are kept one by one, and when it is left out."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.lookahead_window import JacobiWindow, WindowPause
from completiond.spec.pass_costs import PassCosts
from completiond.spec.tree import ancestors_of
from tests.fake_model import babble

VOCAB_SIZE = 11


class NaiveColumns:
    """Each column by itself: its tokens, oldest first, and what the text model says behind all that it sees."""

    def __init__(self, first_ids: Sequence[int], num_levels: int, seed: int) -> None:
        self.columns = [[token_id] for token_id in first_ids]
        self.num_levels = num_levels
        self.script = babble(VOCAB_SIZE, seed, memory=6)

    def seen(self, number: int, height: int) -> list[int]:
        """The path down to the token of a column at a height: the chain of first tokens, then its own."""
        return [column[0] for column in self.columns[: number + 1]] + self.columns[number][1 : height + 1]

    def step(self, known: Sequence[int]) -> list[tuple[int, ...]]:
        """One iteration; returns the n-grams of full columns."""
        new = []
        for number, column in enumerate(self.columns):
            new.append(int(self.script([*known, *self.seen(number, len(column) - 1)]).argmax()))
        ngrams = []
        for column, token_id in zip(self.columns, new, strict=True):
            column.append(token_id)
            if len(column) > self.num_levels:
                ngrams.append(tuple(column))
                del column[0]
        return ngrams


def successors(window: JacobiWindow, known: Sequence[int], seed: int, first_node: int) -> list[int]:
    """What a target would write below the last level, by the tree that is handed to it."""
    script = babble(VOCAB_SIZE, seed, memory=6)
    token_ids = window.token_ids()
    parents = [*range(-1, first_node - 1), *window.parents(first_node)]
    rows = []
    for node in range(first_node, len(parents)):
        path = [*ancestors_of(node, parents), node]
        rows.append(int(script([*known, *(token_ids[at - first_node] for at in path)]).argmax()))
    return rows[-window.num_columns :]


@settings(deadline=None, max_examples=50)
@given(
    num_columns=st.integers(1, 5),
    num_levels=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    first_node=st.integers(0, 3),
    advances=st.lists(st.integers(1, 3), min_size=1, max_size=8),
)
def test_the_window_is_columns_of_jacobi_iterates(
    num_columns: int, num_levels: int, seed: int, first_node: int, advances: list[int]
) -> None:
    known = [1, 2, 3]
    window = JacobiWindow(num_columns, num_levels, [4, 5, 6, 7], random.Random(seed))
    naive = NaiveColumns(window.token_ids(), num_levels, seed)
    for num_new in advances:
        heights = range(len(naive.columns[0]))
        assert window.token_ids() == [column[height] for height in heights for column in naive.columns]

        ngrams = window.advance(successors(window, known, seed, first_node))

        assert ngrams == naive.step(known)
        known += [num_new] * num_new  # however many tokens the pass wrote, the window keeps its content


def test_its_tree_is_a_chain_of_columns_with_the_levels_below() -> None:
    window = JacobiWindow(3, 2, [1], random.Random(0))
    assert window.parents() == [-1, 0, 1]
    window.advance([7, 8, 9])
    assert window.parents() == [-1, 0, 1, 0, 1, 2]
    assert window.parents(10) == [-1, 10, 11, 10, 11, 12]
    assert window.token_ids() == [1, 1, 1, 7, 8, 9]


def test_levels_are_filled_one_a_pass_before_there_are_ngrams() -> None:
    window = JacobiWindow(2, 3, [1], random.Random(0))

    assert [window.advance([10 * step, 10 * step + 1]) for step in (1, 2, 3, 4)] == [
        [], [], [(1, 10, 20, 30), (1, 11, 21, 31)], [(10, 20, 30, 40), (11, 21, 31, 41)],
    ]  # fmt: skip
    assert window.is_full
    assert window.token_ids() == [20, 21, 30, 31, 40, 41]


def test_it_begins_with_tokens_of_its_source() -> None:
    source = list(range(100, 200))
    first, same, other = (JacobiWindow(7, 4, source, random.Random(seed)).token_ids() for seed in (1, 1, 2))
    assert set(first) <= set(source)
    assert first == same != other


@pytest.mark.parametrize(("num_columns", "source"), [(0, [1, 2]), (3, [])])
def test_without_columns_or_tokens_there_is_no_window(num_columns: int, source: list[int]) -> None:
    window = JacobiWindow(num_columns, 2, source, random.Random(0))
    assert (window.num_columns, window.token_ids(), window.parents(), window.advance([])) == (0, [], [], [])


def test_what_is_no_window_is_refused() -> None:
    for sizes in ((-1, 2), (2, 0)):
        with pytest.raises(ValueError, match="no window"):
            JacobiWindow(*sizes, [1], random.Random(0))
    with pytest.raises(ValueError, match="3 tokens for 2 columns"):
        JacobiWindow(2, 2, [1], random.Random(0)).advance([1, 2, 3])


DEAR = PassCosts({1: 10.0, 21: 30.0})
"""A row costs a tenth of a pass, ten rows a token."""


def pauses(pause: WindowPause, accepted: int, num_passes: int) -> list[int]:
    """The numbers of the passes without a window, when each with one accepts ``accepted`` guesses."""
    without = []
    for number in range(num_passes):
        if pause.is_on:
            without.append(number)
            pause.skipped()
        else:
            pause.carried(4, 10, accepted)
    return without


def test_a_window_that_does_not_pay_is_left_out_for_longer_and_longer() -> None:
    without = pauses(WindowPause(DEAR), accepted=0, num_passes=32 + 64 + 32 + 128 + 32 + 10)

    assert without == [*range(32, 96), *range(128, 256), *range(288, 298)]


def test_a_pause_is_never_longer_than_the_longest() -> None:
    pause = WindowPause(DEAR)
    longest = 0
    for _ in range(8):
        pauses(pause, 0, 32)
        length = 0
        while pause.is_on:
            pause.skipped()
            length += 1
        longest = max(longest, length)
    assert longest == 1024


def test_a_window_that_pays_for_itself_stays() -> None:
    assert pauses(WindowPause(DEAR), accepted=1, num_passes=500) == []
    assert pauses(WindowPause(None), accepted=0, num_passes=500) == []


def test_it_is_judged_by_its_last_passes_and_a_good_time_shortens_the_next_pause() -> None:
    pause = WindowPause(DEAR)
    assert len(pauses(pause, 0, 32 + 64)) == 64
    assert pauses(pause, 2, 100) == []

    # 16 bad passes weigh against 16 that each brought one token more than they cost; then they weigh more.
    assert pauses(pause, 0, 17 + 64) == list(range(17, 81))


def test_passes_larger_than_any_measured_cost_as_much_as_the_largest() -> None:
    pause = WindowPause(PassCosts({1: 10.0, 2: 10.0}))
    for _ in range(100):
        pause.carried(8, 30, 0)
    assert not pause.is_on
