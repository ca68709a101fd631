"""Texts side by side: each is where it was left, nothing is copied between two, and none has another's rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.cache.seats import NUM_SEATS, Seats
from completiond.cache.tree import PrefixTree, common_length
from completiond.engine.decoder import Decoder
from tests.cache.test_shift import Typist
from tests.cache.test_tree import TOKEN_BYTES, Texts, prompt_of
from tests.engine.random_models import VOCAB_SIZE, make_folder
from tests.engine.test_decoder import load, random_ids

PROMPTS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.integers(0, 3),
        st.integers(1, 100),
        st.lists(st.integers(0, 2), max_size=20),
    ),
    min_size=1,
    max_size=14,
)


def texts_on_seats(budget_tokens: int = 100_000) -> Texts:
    texts = Texts(budget_tokens)
    texts.kv.seats = Seats(texts.kv)
    return texts


def take(texts: Texts, name: str) -> None:
    assert texts.kv.seats is not None
    texts.kv.seats.take(name)


@settings(max_examples=150, deadline=None)
@given(PROMPTS)
def test_with_memory_enough_it_finds_what_a_list_of_all_texts_would(
    prompts: list[tuple[str, int, int, list[int]]],
) -> None:
    """Of three names, on two seats, and of texts that begin alike on both."""
    texts = texts_on_seats()
    read: list[list[int]] = []
    for name, text, length, end in prompts:
        take(texts, name)
        prompt = prompt_of(text, length, end)
        assert texts.read(prompt) == max((common_length(one, prompt[:-1]) for one in read), default=0)
        texts.check()
        read.append(prompt)


@settings(max_examples=100, deadline=None)
@given(PROMPTS, st.integers(0, 90))
def test_with_little_memory_rows_are_right_and_the_budget_holds(
    prompts: list[tuple[str, int, int, list[int]]], budget_tokens: int
) -> None:
    texts = texts_on_seats(budget_tokens)
    for name, text, length, end in prompts:
        take(texts, name)
        before = list(texts.kv.token_ids)
        prompt = prompt_of(text, length, end)
        assert texts.read(prompt) >= common_length(before, prompt[:-1])
        texts.check()
        assert texts.tree.size_bytes <= budget_tokens * TOKEN_BYTES


def test_to_change_between_two_texts_copies_nothing() -> None:
    texts = texts_on_seats()
    for name, number in (("a", 1), ("b", 2)):
        take(texts, name)
        texts.read([number] * 50)
    for key in range(5):
        for name, number in (("a", 1), ("b", 2)):
            take(texts, name)
            assert texts.read([*([number] * 50), *([9] * (key + 1))]) == 50 + key
            texts.check()
    assert texts.tree.size_bytes == 0


def test_a_third_text_takes_the_seat_of_the_one_that_was_left_longest_ago() -> None:
    texts = texts_on_seats()
    assert NUM_SEATS == 2
    for name, prompt in (("a", [1] * 40), ("b", [2] * 40), ("a", [1] * 41), ("c", [3] * 40)):
        take(texts, name)
        texts.read(prompt)
    assert texts.tree.match([2] * 40) == 40
    assert texts.tree.match([1] * 40) == 0
    take(texts, "b")  # in place of a's
    assert texts.read([2] * 41) == 40
    texts.check()
    assert texts.tree.match([1] * 40) == 40


def test_what_lies_beside_is_a_beginning_to_build_on_as_far_as_it_was_read() -> None:
    texts = texts_on_seats()
    take(texts, "a")
    texts.read([1] * 60)
    texts.kv.moved_from = 30
    take(texts, "b")
    assert texts.read([1] * 50) == 30
    texts.check()
    take(texts, "a")
    assert (texts.kv.num_tokens, texts.kv.moved_from) == (60, 30)


def test_forgotten_texts_are_read_again_on_every_seat() -> None:
    texts = texts_on_seats()
    for name, number in (("a", 1), ("b", 2)):
        take(texts, name)
        texts.read([number] * 40)
    texts.kv.forget()
    for name, number in (("a", 1), ("b", 2)):
        take(texts, name)
        assert texts.read([number] * 40) == 0


class Follows:
    """It has states of each text; a state is the seat's number."""

    def __init__(self) -> None:
        self.seats = [0]
        self.put_states: list[float] = []

    def sit(self, seat: int) -> None:
        self.seats.append(seat)

    def held(self, token_ids: Sequence[int]) -> range:
        return range(len(token_ids))

    def take(self, start: int, end: int) -> Tensor:
        return torch.full((end - start, 1), float(self.seats[-1]))

    def put(self, start: int, token_ids: Sequence[int], states: Tensor | None) -> None:
        assert states is not None
        self.put_states += states[:, 0].tolist()


def test_a_follower_is_told_of_each_change() -> None:
    texts = texts_on_seats()
    follower = texts.tree.follower = Follows()
    for name in "aabac":
        take(texts, name)
    assert follower.seats == [0, 1, 0, 1]


def test_a_followers_states_of_what_lies_beside_come_along() -> None:
    texts = texts_on_seats()
    follower = texts.tree.follower = Follows()
    take(texts, "a")
    texts.read([1] * 40)
    take(texts, "b")
    assert texts.read([*([1] * 40), 2]) == 40
    assert follower.put_states == [0.0] * 40
    assert follower.seats[-1] == 1


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    folder: Path = tmp_path_factory.mktemp("seats")
    target = load(make_folder(folder / "model", "qwen2"), "int8", folder).target
    assert isinstance(target, Decoder)
    return target


def test_two_who_type_in_turn_read_what_is_new_and_the_marker(decoder: Decoder) -> None:
    """The text behind each cursor is moved, as if each were alone."""
    together, alone = Typist(decoder), {name: Typist(decoder) for name in "ab"}
    together.kv.others = PrefixTree(1 << 20)
    together.kv.seats = Seats(together.kv)
    texts = {
        name: (random_ids(60, VOCAB_SIZE, seed), random_ids(80, VOCAB_SIZE, seed + 9))
        for seed, name in ((1, "a"), (2, "b"))
    }
    for key in range(6):
        for name, (prefix, suffix) in texts.items():
            together.kv.seats.take(name)
            typed = [*prefix, *random_ids(key, VOCAB_SIZE, 50)]
            assert together.ask(typed, suffix) == alone[name].ask(typed, suffix)
            assert (together.num_computed, together.moved_tokens) == (2, 80) if key else (141, 0)
            places = range(len(typed) + 81)
            for ours, theirs in zip(together.rows(places), alone[name].rows(places), strict=True):
                assert torch.equal(ours, theirs)
