"""What was read of other texts: found again to the token and to the bit, never over the budget, the right ones kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.cache.kv import KVCache
from completiond.cache.tree import NEW_SHARE, PAGE_TOKENS, PrefixTree, common_length
from completiond.engine.decoder import Decoder
from completiond.engine.generate import generate
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft, NoDrafter
from completiond.spec.eagle import EagleDrafter
from completiond.spec.eagle_checkpoint import HeadTarget, load_eagle
from tests.complete.test_drafters import make_eagle
from tests.engine.random_models import VOCAB_SIZE, make_folder
from tests.engine.test_decoder import load, random_ids

CAPACITY = 120
TOKEN_BYTES = 2 * 2 * 3 * 4
"""Of a float32 cache with 1 layer, 2 heads and 3 numbers a head: keys and values."""


class Texts:
    """A cache whose rows are a function of all tokens up to theirs, as a model's are."""

    def __init__(self, budget_tokens: int) -> None:
        self.kv = KVCache(1, 2, 3, CAPACITY)
        self.tree = self.kv.others = PrefixTree(budget_tokens * TOKEN_BYTES)
        self.saved: list[list[int]] = []

    def row(self, token_ids: Sequence[int]) -> Tensor:
        randomness = random.Random(repr(list(token_ids)))
        return torch.tensor([randomness.random() for _ in range(12)]).view(2, 1, 2, 3)

    def read(self, prompt: list[int]) -> int:
        """As the decode loop does: reuse, then read the rest. Returns how much was reused."""
        if self.kv.token_ids:
            self.saved.append(list(self.kv.token_ids))
        num_unread = self.kv.num_unread(prompt)
        reused = self.kv.reuse(prompt)
        if self.tree.budget_bytes >= 100_000 * TOKEN_BYTES:  # else what is saved now may push out what was counted on
            assert num_unread == len(prompt) - reused, "said beforehand, without a change"
        assert self.kv.token_ids == prompt[:reused]
        for place in range(reused, len(prompt)):
            row = self.row(prompt[: place + 1])
            self.kv.keys[:, :, place], self.kv.values[:, :, place] = row[0], row[1]
            self.kv.extend([prompt[place]])
        return reused

    def check(self) -> None:
        """All valid rows are what a reading of the text would have given."""
        for place in range(self.kv.num_tokens):
            row = self.row(self.kv.token_ids[: place + 1])
            assert torch.equal(self.kv.keys[:, :, place], row[0])
            assert torch.equal(self.kv.values[:, :, place], row[1])


PROMPTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 100), st.lists(st.integers(0, 2), max_size=20)), min_size=1, max_size=12
)


def prompt_of(text: int, length: int, end: list[int]) -> list[int]:
    """A beginning of one of four texts, of which two share 40 tokens, and something of its own."""
    shared = text // 2
    return [shared] * min(length, 40) + [10 + text] * max(0, length - 40) + end or [0]


@settings(max_examples=150, deadline=None)
@given(PROMPTS)
def test_with_memory_enough_it_finds_what_a_list_of_all_texts_would(prompts: list[tuple[int, int, list[int]]]) -> None:
    texts = Texts(budget_tokens=100_000)
    for prompt in (prompt_of(*parts) for parts in prompts):
        reused = texts.read(prompt)
        # The oracle: the longest beginning in common with any text there ever was.
        assert reused == max((common_length(saved, prompt[:-1]) for saved in texts.saved), default=0)
        texts.check()


@settings(max_examples=150, deadline=None)
@given(PROMPTS, st.integers(0, 90))
def test_with_little_memory_rows_are_right_and_the_budget_holds(
    prompts: list[tuple[int, int, list[int]]], budget_tokens: int
) -> None:
    texts = Texts(budget_tokens)
    for prompt in (prompt_of(*parts) for parts in prompts):
        before = list(texts.kv.token_ids)
        assert texts.read(prompt) >= common_length(before, prompt[:-1])
        texts.check()
        assert 0 <= texts.tree.size_bytes <= budget_tokens * TOKEN_BYTES
        held = sum(page.size_bytes for page in texts.tree._all())
        assert texts.tree.size_bytes == held


def test_the_longest_unused_text_goes_first() -> None:
    texts = Texts(budget_tokens=5 * PAGE_TOKENS)
    a, b, c = ([n] * (2 * PAGE_TOKENS) for n in (1, 2, 3))
    for prompt in (a, b, a, c, [4] * 8, [5]):  # saved: a, b, a again, c (32 + 32 + 32 do not fit), 8 of 4
        texts.read(prompt)
    assert texts.read([*b, 0]) < len(b)
    assert texts.read([*a, 0]) == len(a)


def test_what_is_typed_in_one_file_does_not_drive_out_another() -> None:
    texts = Texts(budget_tokens=12 * PAGE_TOKENS)
    other = [7] * (3 * PAGE_TOKENS)
    texts.read(other)
    texts.read([8])
    texts.read([*other, 1])  # met again
    for key in range(40):  # the text before the cursor grows, and that behind it is a new branch each time
        texts.read([9] * (20 + key) + [5] * 30)
    assert texts.read([*other, 2]) == len(other)
    assert 12 * PAGE_TOKENS * NEW_SHARE < 40 * 30  # it would have been driven out


def test_a_forgotten_text_is_read_again() -> None:
    texts = Texts(budget_tokens=1000)
    texts.read([1] * 40)
    texts.read([2])
    texts.kv.forget()
    assert texts.read([1] * 40) == 0
    assert texts.tree.size_bytes == 0


def test_moved_rows_are_not_saved() -> None:
    texts = Texts(budget_tokens=1000)
    texts.read([1] * 40)
    texts.kv.moved_from = 20
    texts.read([2])
    assert texts.tree.match([1] * 40) == 20


def test_exact_rows_are_taken_before_moved_ones() -> None:
    texts = Texts(budget_tokens=1000)
    texts.read([1] * 40)
    texts.read([2])
    texts.read([1] * 10)
    texts.kv.extend([1] * 30)
    texts.kv.keys[:, :, 10:40] = -1.0
    texts.kv.moved_from = 10
    assert texts.read([1] * 41) == 40
    moved_from: int | None = texts.kv.moved_from
    assert moved_from is None
    texts.check()


class Follows:
    """A follower that remembers the text it has states of; a state is the token's id."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.put_ids: list[tuple[int, list[int], list[float] | None]] = []

    def sit(self, seat: int) -> None:
        raise AssertionError("there are no seats")

    def held(self, token_ids: Sequence[int]) -> range:
        return range(common_length(self.ids, token_ids))

    def take(self, start: int, end: int) -> Tensor:
        return torch.tensor(self.ids[start:end], dtype=torch.float32)[:, None]

    def put(self, start: int, token_ids: Sequence[int], states: Tensor | None) -> None:
        self.put_ids.append((start, list(token_ids), None if states is None else states[:, 0].tolist()))


def test_a_followers_states_come_back_with_the_rows() -> None:
    texts = Texts(budget_tokens=1000)
    follower = texts.tree.follower = Follows()
    first = [*range(40)]
    texts.read(first)
    follower.ids = [*range(20)]  # the rest was read without it
    texts.read([99])
    texts.read([*range(30), 50])
    assert follower.put_ids == [
        (0, [*range(16)], [float(n) for n in range(16)]),
        (16, [*range(16, 30)], None),
    ]
    follower.ids = [*range(30), 50]
    texts.read([99, 98])
    follower.put_ids.clear()
    texts.read([*range(30), 60])
    assert follower.put_ids[-1] == (16, [*range(16, 30)], [float(n) for n in range(16, 30)])


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    folder: Path = tmp_path_factory.mktemp("tree")
    target = load(make_folder(folder / "model", "qwen2"), "int8", folder).target
    assert isinstance(target, Decoder)
    return target


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_are_those_of_a_fresh_cache(decoder: Decoder, temperature: float) -> None:
    """Several texts in turn, each going on a little: token for token what a new process would write."""
    randomness = random.Random(3)
    kv = decoder.new_cache(400)
    kv.others = PrefixTree(1 << 20)
    texts = [random_ids(90 + 20 * n, VOCAB_SIZE, seed=n) for n in range(4)]
    reread = 0
    for turn in range(24):
        text = texts[randomness.randrange(4)]
        if randomness.random() < 0.3:
            del text[randomness.randrange(20, len(text)) :]
        text += random_ids(3, VOCAB_SIZE, seed=100 + turn)
        answers, steps = [], []
        for cache in (kv, decoder.new_cache(400)):
            sampler = Sampler(SamplingParams(temperature=temperature, seed=turn))
            steps = list(generate(decoder, cache, text, NoDrafter(), sampler, lambda token_id: None, 8, 0))
            answers.append([token_id for step in steps for token_id in step.token_ids])
            if cache is kv:
                reread += len(text) - steps[0].cached_tokens
        assert answers[0] == answers[1]
        assert torch.equal(kv.keys[:, :, : kv.num_tokens], cache.keys[:, :, : kv.num_tokens])
    assert reread < 24 * 30  # and most of it was not read again


class Recorded(EagleDrafter):
    """Remembers what it drafted."""

    def __init__(self, folder: Path, target: HeadTarget) -> None:
        super().__init__(load_eagle(folder, target), 400)
        self.drafts: list[Draft] = []

    def propose(self, budget: int) -> Draft:
        self.drafts.append(super().propose(budget))
        return self.drafts[-1]


@pytest.mark.parametrize("follows", [True, False])
def test_a_head_goes_on_as_if_it_had_never_left_the_text(decoder: Decoder, tmp_path: Path, follows: bool) -> None:
    shape, weights = decoder.shape, decoder.weights
    target = HeadTarget(
        shape.hidden_size, shape.num_layers, shape.vocab_size, weights.embedding, weights.lm_head, decoder.kernels,
        decoder.device,
    )  # fmt: skip
    folder = make_eagle(decoder, tmp_path / "eagle")
    kv, head, fresh = decoder.new_cache(400), Recorded(folder, target), Recorded(folder, target)
    kv.others = PrefixTree(1 << 20)
    kv.others.follower = head if follows else None
    first, second = random_ids(150, VOCAB_SIZE, seed=1), random_ids(90, VOCAB_SIZE, seed=2)

    def run(drafter: Recorded, cache: KVCache, ids: list[int]) -> None:
        drafter.drafts.clear()
        drafter.reset(ids)
        list(generate(decoder, cache, ids, drafter, Sampler(SamplingParams()), lambda token_id: None, 12, 3))

    run(head, kv, first)
    run(head, kv, second)
    run(head, kv, [*first, 5])
    run(fresh, decoder.new_cache(400), [*first, 5])
    # A fresh head has nothing to draft from in the pass that reads the prompt.
    same = [draft.token_ids for draft in head.drafts[1:]] == [draft.token_ids for draft in fresh.drafts[1:]]
    assert same is follows
