"""Rows of the text behind the cursor, moved while it is typed: which, where to, how exactly, and when not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Generator, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.cache.kv import KVCache
from completiond.cache.shift import MAX_CHANGED_TOKENS, MIN_MOVED_TOKENS, SuffixShift, turned
from completiond.engine.decoder import Decoder, rotary_table, rotate
from completiond.engine.generate import generate, read_prompt
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Drafter, NoDrafter
from completiond.spec.ngram import NGramDrafter
from tests.engine.random_models import VOCAB_SIZE, make_folder
from tests.engine.test_decoder import load, random_ids

CAPACITY = 400
MIDDLE = [3]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    folder = tmp_path_factory.mktemp("shift")
    target = load(make_folder(folder / "model", "qwen2"), "int8", folder).target
    assert isinstance(target, Decoder)
    return target


@settings(max_examples=60, deadline=None)
@given(
    place=st.integers(0, 3000),
    by=st.integers(-3000, 3000),
    head_dim=st.sampled_from([4, 16, 64]),
    rope_theta=st.sampled_from([1e4, 1e6]),
)
def test_turned_keys_are_those_of_the_other_place(place: int, by: int, head_dim: int, rope_theta: float) -> None:
    by = max(by, -place)
    keys = torch.randn(3, 2, head_dim, generator=torch.Generator().manual_seed(place))
    cos, sin = rotary_table(head_dim, rope_theta, 6001)[:, [place, place + by]].unbind()
    here, there = (rotate(keys.clone(), cos[i], sin[i]) for i in (0, 1))
    # float32 angles of the table itself are off by their last bits at far places.
    torch.testing.assert_close(turned(here, by, rope_theta), there, atol=1e-5 + 4e-7 * (place + abs(by)), rtol=0)


def test_a_thousand_moves_are_no_worse_than_one() -> None:
    kv = KVCache(1, 1, 16, 192, rope_theta=1e4)
    ids = list(range(100))
    kv.keys.normal_(generator=torch.Generator().manual_seed(0))
    kv.extend(ids)
    shift = SuffixShift(kv)
    block = kv.keys[:, :, 20:90].clone()
    shift.reuse(ids, range(20, 90))
    kv.extend(ids[kv.num_tokens :])
    for number in range(1000):
        prompt = [*ids[:20], *([99] * (1 + number % 9)), *ids[20:]]
        start = len(prompt) - 80
        cached_tokens, move = shift.reuse(prompt, range(start, start + 70))
        assert move is not None
        kv.extend(prompt[cached_tokens:start])
        shift.place(move)
        kv.extend(prompt[move.end :])
    torch.testing.assert_close(kv.keys[:, :, start : start + 70], turned(block, start - 20, 1e4))


class Typist:
    """Reads prompts of a prefix, a block and a middle marker as the decode loop does, with and without moving."""

    def __init__(self, decoder: Decoder, drafter: Drafter | None = None, temperature: float = 0.0) -> None:
        self.decoder = decoder
        self.kv = decoder.new_cache(CAPACITY)
        self.shift = SuffixShift(self.kv)
        self.drafter = drafter or NoDrafter()
        self.sampling = SamplingParams(temperature)
        self.num_computed = 0
        self.moved_tokens = 0

    def ask(self, prefix: Sequence[int], suffix: Sequence[int], max_tokens: int = 4) -> list[int]:
        prompt = [*prefix, *suffix, *MIDDLE]
        self.drafter.reset(prefix, (suffix,))
        answer: list[int] = []
        forward = self.decoder.forward
        self.num_computed = 0
        num_unread = self.shift.num_unread(prompt, range(len(prefix), len(prefix) + len(suffix)))

        def counted(token_ids: Sequence[int], *rest: object) -> object:
            self.num_computed += len(token_ids) if not answer else 0
            return forward(token_ids, *rest)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.decoder, "forward", counted)
            for step in generate(
                self.decoder, self.kv, prompt, self.drafter, Sampler(self.sampling), lambda token_id: None, max_tokens,
                8, None, self.shift, range(len(prefix), len(prefix) + len(suffix)),
            ):  # fmt: skip
                answer += step.token_ids
                self.moved_tokens = step.moved_tokens
        assert self.kv.token_ids[: len(prompt)] == prompt
        if isinstance(self.drafter, NoDrafter):  # the first pass of others checks guesses, too
            assert num_unread == self.num_computed, "said beforehand, without a change"
        return answer

    def read(self, prefix: Sequence[int], suffix: Sequence[int], num_pieces: int | None = None) -> None:
        """In a quiet moment; broken off after some pieces."""
        self.drafter.reset(prefix, (suffix,))
        block = range(len(prefix), len(prefix) + len(suffix))
        prompt = [*prefix, *suffix, *MIDDLE]
        pieces = read_prompt(self.decoder, self.kv, prompt, self.drafter, self.shift, block)
        assert isinstance(pieces, Generator)
        for _ in itertools.islice(pieces, num_pieces):
            pass
        pieces.close()

    def rows(self, places: range) -> tuple[Tensor, Tensor]:
        at = slice(places.start, places.stop)
        return self.kv.keys[:, :, at].clone(), self.kv.values[:, :, at].clone()


PREFIX, SUFFIX = random_ids(60, VOCAB_SIZE, 1), random_ids(80, VOCAB_SIZE, 2)


@pytest.mark.parametrize(
    ("prefix", "num_read"),
    [
        ([*PREFIX, 7], 1),
        ([*PREFIX, 7, 8, 9], 3),
        ([*PREFIX[:-1], 7, 8], 2),
        (PREFIX[:-2], 0),
        ([*PREFIX[:-1], 7], 1),
    ],
    ids=["a key", "a word", "a token grown", "deleted", "replaced"],
)
def test_a_key_reads_what_is_new_and_the_marker(decoder: Decoder, prefix: list[int], num_read: int) -> None:
    typist = Typist(decoder)
    typist.ask(PREFIX, SUFFIX)
    keys, values = typist.rows(range(60, 140))
    typist.ask(prefix, SUFFIX)
    assert (typist.num_computed, typist.moved_tokens) == (num_read + 1, 80)
    moved_keys, moved_values = typist.rows(range(len(prefix), len(prefix) + 80))
    assert torch.equal(moved_values, values)
    assert typist.kv.rope_theta is not None
    torch.testing.assert_close(moved_keys, turned(keys, len(prefix) - 60, typist.kv.rope_theta))
    fresh = Typist(decoder)
    fresh.ask(prefix, SUFFIX)
    for ours, theirs in zip(typist.rows(range(len(prefix))), fresh.rows(range(len(prefix))), strict=True):
        assert torch.equal(ours, theirs), "what is before the cursor is exact"


def test_the_same_prompt_again_reads_only_its_last_token(decoder: Decoder) -> None:
    typist = Typist(decoder)
    typist.ask(PREFIX, SUFFIX)
    first = typist.ask([*PREFIX, 7], SUFFIX)
    assert typist.ask([*PREFIX, 7], SUFFIX) == first
    assert (typist.num_computed, typist.moved_tokens) == (1, 0)


def test_a_key_taken_back_makes_it_exact_again(decoder: Decoder) -> None:
    typist = Typist(decoder)
    first = typist.ask(PREFIX, SUFFIX)
    keys, values = typist.rows(range(141))
    typist.ask([*PREFIX, 7], SUFFIX)
    assert typist.ask(PREFIX, SUFFIX) == first
    assert (typist.num_computed, typist.moved_tokens) == (1, 80)
    assert torch.equal(typist.rows(range(141))[0], keys)
    assert torch.equal(typist.rows(range(141))[1], values)
    assert typist.ask(PREFIX, SUFFIX) == first
    assert (typist.num_computed, typist.moved_tokens) == (1, 0)


def test_once_much_has_changed_it_is_read_again(decoder: Decoder) -> None:
    typist, prefix = Typist(decoder), list(PREFIX)
    typist.ask(prefix, SUFFIX)
    for number in range(MAX_CHANGED_TOKENS):
        prefix.append(number)
        typist.ask(prefix, SUFFIX)
        assert typist.moved_tokens == 80
    prefix.append(5)
    fresh = Typist(decoder)
    assert typist.ask(prefix, SUFFIX) == fresh.ask(prefix, SUFFIX)
    assert (typist.num_computed, typist.moved_tokens) == (1 + 80 + 1, 0)
    for ours, theirs in zip(typist.rows(range(240)), fresh.rows(range(240)), strict=True):
        assert torch.equal(ours[:, :, : len(prefix) + 81], theirs[:, :, : len(prefix) + 81]), "to the bit"
    typist.ask([*prefix, 6], SUFFIX)
    assert typist.moved_tokens == 80, "and from there it is moved again"


def test_a_suffix_that_differs_further_on_is_moved_as_far_as_it_is_the_same(decoder: Decoder) -> None:
    typist = Typist(decoder)
    typist.ask(PREFIX, SUFFIX)
    typist.ask([*PREFIX, 7], [*SUFFIX[:60], 9, 9])
    assert (typist.num_computed, typist.moved_tokens) == (1 + 2 + 1, 60)


def test_another_suffix_is_read(decoder: Decoder) -> None:
    typist, fresh = Typist(decoder), Typist(decoder)
    typist.ask(PREFIX, SUFFIX)
    other = random_ids(80, VOCAB_SIZE, 3)
    assert typist.ask([*PREFIX, 7], other) == fresh.ask([*PREFIX, 7], other)
    assert typist.moved_tokens == 0


def test_a_short_suffix_is_read(decoder: Decoder) -> None:
    typist = Typist(decoder)
    typist.ask(PREFIX, SUFFIX[: MIN_MOVED_TOKENS - 1])
    typist.ask([*PREFIX, 7], SUFFIX[: MIN_MOVED_TOKENS - 1])
    assert typist.moved_tokens == 0


def test_what_another_prompt_has_overwritten_is_read(decoder: Decoder) -> None:
    typist, fresh = Typist(decoder), Typist(decoder)
    typist.ask(PREFIX, SUFFIX)
    typist.ask(random_ids(50, VOCAB_SIZE, 4), random_ids(30, VOCAB_SIZE, 5))
    assert typist.ask([*PREFIX, 7], SUFFIX) == fresh.ask([*PREFIX, 7], SUFFIX)
    assert typist.moved_tokens == 0


def test_what_was_forgotten_is_read(decoder: Decoder) -> None:
    typist = Typist(decoder)
    typist.ask(PREFIX, SUFFIX)
    typist.ask([*PREFIX, 7], SUFFIX)
    typist.kv.forget()
    typist.shift.forget()
    typist.ask([*PREFIX, 7, 8], SUFFIX)
    assert (typist.num_computed, typist.moved_tokens) == (143, 0)


def test_keys_that_are_not_rotated_cannot_be_moved() -> None:
    with pytest.raises(ValueError, match="not rotated"):
        SuffixShift(KVCache(1, 1, 16, 128))


def test_a_quiet_moment_makes_it_exact(decoder: Decoder) -> None:
    typist, fresh, prefix = Typist(decoder), Typist(decoder), [*PREFIX, 7, 8]
    typist.ask(PREFIX, SUFFIX)
    typist.ask(prefix, SUFFIX)
    assert typist.moved_tokens == 80
    typist.read(prefix, SUFFIX)
    assert typist.kv.moved_from is None
    expected = fresh.ask(prefix, SUFFIX)
    for ours, theirs in zip(typist.rows(range(142)), fresh.rows(range(142)), strict=True):
        assert torch.equal(ours, theirs), "to the bit"
    assert typist.ask(prefix, SUFFIX) == expected
    assert (typist.num_computed, typist.moved_tokens) == (1, 0)
    typist.ask([*prefix, 9], SUFFIX)
    assert typist.moved_tokens == 80, "from what was read in the quiet moment"
    assert torch.equal(typist.rows(range(63, 143))[1], fresh.rows(range(62, 142))[1])


def test_a_quiet_moment_that_ends_early_takes_nothing_away(decoder: Decoder) -> None:
    """The rows that were moved before can still be moved, so that the key that ended it is as fast as any."""
    suffix = random_ids(160, VOCAB_SIZE, 6)
    typist, other = Typist(decoder), Typist(decoder)
    for one in (typist, other):
        one.ask(PREFIX, suffix)
        one.ask([*PREFIX, 7], suffix)
    typist.read([*PREFIX, 7], suffix, num_pieces=1)
    assert typist.kv.num_tokens < 61 + 160
    assert typist.ask([*PREFIX, 7, 8], suffix) == other.ask([*PREFIX, 7, 8], suffix)
    assert (typist.num_computed, typist.moved_tokens) == (2, 160)


def test_reading_of_nothing_is_refused(decoder: Decoder) -> None:
    kv = decoder.new_cache(8)
    with pytest.raises(ValueError, match="nothing to read"):
        next(read_prompt(decoder, kv, [], NoDrafter()))


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([0.0, 0.9]))
def test_drafting_over_moved_rows_changes_nothing(decoder: Decoder, seed: int, temperature: float) -> None:
    numbers = random.Random(seed)
    plain = Typist(decoder, temperature=temperature)
    drafting = Typist(decoder, NGramDrafter(), temperature)
    prefix, suffix = random_ids(50, VOCAB_SIZE, seed), random_ids(80, VOCAB_SIZE, seed + 1)
    for _ in range(6):
        expected = plain.ask(prefix, suffix, 12)
        assert drafting.ask(prefix, suffix, 12) == expected
        assert drafting.moved_tokens == plain.moved_tokens
        kept = len(prefix) - numbers.choice([0, 0, 0, 1, 2])
        prefix = [
            *prefix[:kept],
            *expected[: numbers.randrange(9)],
            *random_ids(numbers.randrange(3), VOCAB_SIZE, seed),
        ]
        if numbers.random() < 0.15:
            suffix = suffix[numbers.randrange(4) :]
