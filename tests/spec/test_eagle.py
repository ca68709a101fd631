"""The EAGLE drafter in the decode loop of a small decoder: whatever came before, it drafts as one that reads anew."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from completiond.cache.seats import Seats
from completiond.cache.shift import Move
from completiond.cache.tree import PAGE_TOKENS, PrefixTree
from completiond.config import ModelConfig
from completiond.engine.decoder import Decoder
from completiond.engine.generate import PREFILL_CHUNK_TOKENS, Step, generate
from completiond.engine.linear import Kernels
from completiond.engine.load import load_model
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import NO_DRAFT, Draft, Drafter, NoDrafter, Verified
from completiond.spec.eagle import EagleDrafter
from completiond.spec.eagle_checkpoint import HeadTarget, load_eagle
from completiond.spec.eagle_head import EagleHead
from completiond.spec.policy import FixedPolicy
from tests.engine.random_models import SIZES as MODEL
from tests.engine.random_models import VOCAB_SIZE, make_folder
from tests.spec.eagle_files import FLOAT, Sizes, Tensors, config_of, eagle1, eagle3, write

SIZES = Sizes(
    hidden=MODEL["hidden_size"], inner=64, heads=6, kv_heads=2, dim=16, vocab=VOCAB_SIZE, draft_vocab=100, num_layers=3
)
CONFIG = config_of(SIZES, eagle_aux_hidden_state_layer_ids=[0, 2, 3])
CAPACITY = 64
MAX_DRAFT = 8


class CheckAll(FixedPolicy):
    """No guess is left out."""

    def trim(self, draft: Draft) -> Draft:
        return draft


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("model") / "model", "llama")


@pytest.fixture(scope="module", params=["float32", "int8"])
def target(request: pytest.FixtureRequest, folder: Path) -> Decoder:
    settings = ModelConfig(device="cpu", dtype=request.param)
    loaded = load_model(folder, settings, folder.parent / "prepared", lambda share, what: None).target
    assert isinstance(loaded, Decoder)
    return loaded


def load(folder: Path, target: Decoder, tensors: Tensors, kernels: Kernels | None = None, **config: Any) -> EagleHead:
    weights, shape = target.weights, target.shape
    borrowed = HeadTarget(
        shape.hidden_size, shape.num_layers, target.vocab_size, weights.embedding, weights.lm_head,
        kernels or target.kernels, target.device,
    )  # fmt: skip
    return load_eagle(write(folder, tensors, CONFIG | config), borrowed)


def features_of(target: Decoder, head: EagleHead, ids: Sequence[int]) -> Tensor:
    features = target.forward(ids, target.new_cache(len(ids)), 0, head.shape.feature_layers).features
    assert features is not None
    return features


def random_ids(count: int, seed: int) -> list[int]:
    randomness = random.Random(seed)
    return [randomness.randrange(VOCAB_SIZE) for _ in range(count)]


OWN = -1
PLAN = [(True, OWN), (True, 3), (False, 2), (True, 0), (True, 8), (False, OWN), (True, 1), (True, OWN), (False, 0)]
"""By pass: whether the head is asked, and how many guesses are right that are checked instead of its own."""


class Checked(EagleDrafter):
    """Holds each of its drafts against that of a drafter that reads the whole text at once.

    What is checked is what PLAN says, as random heads are hardly ever right.
    """

    def __init__(self, target: Decoder, head: EagleHead, width: int = 1, capacity_tokens: int = CAPACITY) -> None:
        super().__init__(head, capacity_tokens, max_depth=4, width=width)
        self.target = target
        self.fresh: Callable[[], EagleDrafter] = lambda: EagleDrafter(head, capacity_tokens, max_depth=4, width=width)
        self.text: list[int] = []
        self.truth: list[int] = []
        self.gap = 0
        self.plan: Iterator[tuple[bool, int]] = itertools.cycle(PLAN)
        self.num_checked = 0

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        super().begin(prompt_ids, num_cached_tokens, move)
        self.text = list(prompt_ids)

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        super().observe(token_ids, verified)
        self.text.extend(token_ids)

    def propose(self, budget: int) -> Draft:
        is_asked, num_right = next(self.plan)
        own = super().propose(budget) if is_asked else NO_DRAFT
        if own.token_ids:
            self.check(own, budget)
        if num_right == OWN or budget < 1:
            return own
        place = len(self.text)
        right = self.truth[place : place + num_right]
        wrong = (self.truth[place + num_right] + 1) % VOCAB_SIZE if place + num_right < len(self.truth) else 0
        tokens = [*right, wrong][:budget]
        return Draft(tuple(tokens), (0.5,) * len(tokens), "other")

    def check(self, own: Draft, budget: int) -> None:
        fresh = self.fresh()
        fresh.begin(self.text, self.gap)
        fresh.read(features_of(self.target, self.head, self.text[:-1])[self.gap :])
        expected = fresh.propose(budget)
        # A difference in the last bit of a float may be one of a whole int8 step.
        exactness = 0.01 if self.head.kernels.int8 else 1e-4
        assert (own.token_ids, own.parents) == (expected.token_ids, expected.parents)
        assert own.probabilities == pytest.approx(expected.probabilities, abs=exactness)
        self.num_checked += 1


class StopAt:
    """A stop check that gives ``reason`` at the token of that number, from 0 on."""

    def __init__(self, number: int, reason: str = "line") -> None:
        self.number, self.reason = number, reason
        self.count = 0

    def __call__(self, token_id: int) -> str | None:
        self.count += 1
        return self.reason if self.count == self.number + 1 else None


def steps_of(
    target: Decoder, drafter: Drafter, kv: Any, prompt: Sequence[int], temperature: float, max_tokens: int = 14,
    stop: tuple[int, str] | None = None,
) -> Any:  # fmt: skip
    drafter.reset(prompt)
    sampler = Sampler(SamplingParams(temperature, seed=11))
    return generate(
        target, kv, prompt, drafter, sampler, StopAt(*stop or (1000, "")), max_tokens, MAX_DRAFT, CheckAll()
    )


def tokens_of(steps: Sequence[Step]) -> list[int]:
    return [token for step in steps for token in step.token_ids]


class Stream:
    """Answers on one cache, each held against plain decoding on a new one."""

    def __init__(self, target: Decoder, drafter: Checked, temperature: float, capacity_tokens: int = CAPACITY) -> None:
        self.target, self.drafter, self.temperature = target, drafter, temperature
        self.capacity_tokens = capacity_tokens
        self.kv = target.new_cache(capacity_tokens)
        self.steps: list[Step] = []

    def plain(self, prompt: Sequence[int], **how: Any) -> list[int]:
        kv = self.target.new_cache(self.capacity_tokens)
        return tokens_of(list(steps_of(self.target, NoDrafter(), kv, prompt, self.temperature, **how)))

    def answer(self, prompt: Sequence[int], num_steps: int | None = None, **how: Any) -> list[int]:
        """The whole text behind it; the caller loses interest after ``num_steps``."""
        plain = self.plain(prompt, **how)
        self.drafter.truth = [*prompt, *plain]
        passes = steps_of(self.target, self.drafter, self.kv, prompt, self.temperature, **how)
        self.steps = list(itertools.islice(passes, num_steps))
        passes.close()
        tokens = tokens_of(self.steps)
        assert tokens == (plain if num_steps is None else plain[: len(tokens)])
        return [*prompt, *tokens]


@pytest.mark.parametrize("version", [3, 1])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_no_history_shows_in_answers_or_drafts(
    target: Decoder, temperature: float, width: int, version: int, tmp_path: Path
) -> None:
    head = load(tmp_path, target, eagle3(SIZES) if version == 3 else eagle1(SIZES))
    drafter = Checked(target, head, width)
    stream = Stream(target, drafter, temperature)

    text = stream.answer(random_ids(20, seed=1))
    assert drafter.num_checked >= 2
    text = stream.answer([*text[:26], *random_ids(3, seed=2)])
    assert stream.steps[0].cached_tokens == 26, "a prefix that it drafted in"
    prompt = [*text[:10], *random_ids(9, seed=3)]
    text = stream.answer(prompt)
    assert stream.answer(prompt) == text, "with all but the last token known"
    for num_steps in (1, 2, 3):
        text = stream.answer([*text[:12], *random_ids(8, seed=num_steps)], num_steps)
        text = stream.answer([*text, *random_ids(2, seed=9)], max_tokens=6)
    for place in (0, 3, 4):
        for reason in ("line", "eos"):
            text = stream.answer(text[:22], stop=(place, reason))
            text = stream.answer([*text[:25], 7], max_tokens=5)
    for max_tokens in (1, 2, 3):
        text = stream.answer(text[:24], max_tokens=max_tokens)
    stream.answer(random_ids(15, seed=5))
    text = stream.answer(random_ids(40, seed=6), max_tokens=CAPACITY - 40)
    assert len(text) == CAPACITY
    stream.answer(text[: CAPACITY - 3], max_tokens=3)

    assert drafter.num_checked >= 40
    assert max(step.accepted for step in stream.steps) > 0


@pytest.mark.parametrize("version", [3, 1])
def test_no_other_text_shows_in_the_drafts_for_one_that_is_come_back_to(
    target: Decoder, version: int, tmp_path: Path
) -> None:
    """Its rows and the head's come from the tree: whole pages, parts of one, and branches at a page's end."""
    drafter = Checked(target, load(tmp_path, target, eagle3(SIZES) if version == 3 else eagle1(SIZES)))
    drafter.plan = itertools.cycle([(True, OWN), (True, 2)])
    stream = Stream(target, drafter, 0.0)
    stream.kv.others = PrefixTree(1 << 24)
    stream.kv.others.follower = drafter
    randomness = random.Random(1)
    texts = [random_ids(40, seed=1), random_ids(30, seed=2)]
    num_cached = 0
    for turn in range(24):
        text = texts[turn % 2]
        kept = text[
            : randomness.choice((len(text), len(text) - 1, 2 * PAGE_TOKENS, 2 * PAGE_TOKENS - 1, PAGE_TOKENS, 9))
        ]
        before = drafter.num_checked
        answer = stream.answer([*kept, *random_ids(randomness.choice((1, 2, 6)), seed=turn)][:44], max_tokens=8)
        assert drafter.num_checked > before
        num_cached += stream.steps[0].cached_tokens
        texts[turn % 2] = answer
    assert num_cached > 300, "most of it was not read again"


@pytest.mark.parametrize("version", [3, 1])
def test_nor_of_one_that_lies_beside(target: Decoder, version: int, tmp_path: Path) -> None:
    """Three texts on two seats, in any order, each going on where it was left or a little before."""
    drafter = Checked(target, load(tmp_path, target, eagle3(SIZES) if version == 3 else eagle1(SIZES)))
    drafter.plan = itertools.cycle([(True, OWN), (True, 2)])
    stream = Stream(target, drafter, 0.0)
    stream.kv.others = PrefixTree(1 << 24)
    stream.kv.others.follower = drafter
    stream.kv.seats = Seats(stream.kv)
    randomness = random.Random(1)
    texts = [random_ids(40, seed=1), random_ids(30, seed=2), random_ids(35, seed=3)]
    num_cached = 0
    for turn in range(30):
        number = randomness.choice((0, 0, 1, 1, 2))
        stream.kv.seats.take(number)
        text = texts[number]
        kept = text[: randomness.choice((len(text), len(text) - 1, len(text) - 5, 9))]
        before = drafter.num_checked
        answer = stream.answer([*kept, *random_ids(randomness.choice((1, 2, 6)), seed=turn)][:44], max_tokens=8)
        assert drafter.num_checked > before
        num_cached += stream.steps[0].cached_tokens
        texts[number] = answer
    assert num_cached > 500, "most of it was not read again"


def test_states_of_the_text_before_are_not_taken_for_those_that_a_page_lacks(target: Decoder, tmp_path: Path) -> None:
    drafter = Checked(target, load(tmp_path, target, eagle3(SIZES)))
    stream = Stream(target, drafter, 0.0)
    stream.answer(random_ids(40, seed=1), max_tokens=8)
    states = drafter.take(PAGE_TOKENS, 2 * PAGE_TOKENS)
    other = random_ids(2 * PAGE_TOKENS, seed=2)
    drafter.put(0, other[:PAGE_TOKENS], None)
    drafter.put(PAGE_TOKENS, other[PAGE_TOKENS:], states)
    assert len(drafter.held(other)) == 0


def test_a_text_that_is_come_back_to_is_not_entered_again(
    target: Decoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafter = Checked(target, load(tmp_path, target, eagle3(SIZES)))
    drafter.plan = itertools.cycle([(True, OWN)])
    stream = Stream(target, drafter, 0.0)
    stream.kv.others = PrefixTree(1 << 24)
    stream.kv.others.follower = drafter
    text = stream.answer(random_ids(40, seed=1), max_tokens=8)
    stream.answer(random_ids(40, seed=2), max_tokens=8)
    entered: list[int] = []
    enter = EagleHead.enter

    def counting(head: EagleHead, token_ids: Sequence[int], *others: Any) -> Any:
        entered.append(len(token_ids))
        return enter(head, token_ids, *others)

    monkeypatch.setattr(drafter, "check", lambda own, budget: None)  # it enters the whole text
    monkeypatch.setattr(EagleHead, "enter", counting)
    stream.answer([*text[:44], 5], max_tokens=4)
    assert stream.steps[0].cached_tokens == 44
    assert 0 < max(entered) <= PAGE_TOKENS


@pytest.mark.parametrize("num_steps", [1, 2, 4])
def test_a_long_prompt_that_was_given_up_is_gone_on_with(target: Decoder, num_steps: int, tmp_path: Path) -> None:
    capacity_tokens = 2 * PREFILL_CHUNK_TOKENS + 64
    drafter = Checked(target, load(tmp_path, target, eagle3(SIZES)), capacity_tokens=capacity_tokens)
    stream = Stream(target, drafter, 0.8, capacity_tokens)
    prompt = random_ids(2 * PREFILL_CHUNK_TOKENS + 5, seed=1)

    stream.answer(prompt, num_steps, max_tokens=8)
    stream.answer(prompt, max_tokens=8)

    assert stream.steps[0].cached_tokens >= PREFILL_CHUNK_TOKENS
    assert drafter.num_checked >= 1
    stream.answer([*prompt[:100], *random_ids(4, seed=2)], max_tokens=8)


def test_what_the_target_read_without_it_is_left_out(target: Decoder, tmp_path: Path) -> None:
    drafter = Checked(target, load(tmp_path, target, eagle3(SIZES)))
    stream = Stream(target, drafter, 0.0)

    def read_by_another(prompt: list[int]) -> list[int]:
        return [*prompt, *tokens_of(list(steps_of(target, NoDrafter(), stream.kv, prompt, 0.0)))]

    def answer(prompt: list[int], gap: int) -> list[int]:
        drafter.gap = gap
        before = drafter.num_checked
        text = stream.answer(prompt)
        assert drafter.num_checked >= before + 2
        return text

    text = read_by_another(random_ids(20, seed=1))
    drafter.plan = itertools.cycle([(True, OWN)])
    text = answer([*text[:30], 5], gap=30)
    assert stream.steps[0].cached_tokens == 30
    assert [step.drafted > 0 for step in stream.steps[:3]] == [False, True, True]
    text = answer([*text[:38], 6, 7], gap=30)
    # What it lacked is read again for a prompt that shares less, and for one that shares nothing.
    text = answer([*text[:12], *random_ids(5, seed=2)], gap=12)
    answer(random_ids(18, seed=3), gap=0)
    # It knows a prefix, then lacks a part, and what it knew goes too.
    text = read_by_another([*drafter.text[:10], *random_ids(8, seed=4)])
    answer([*text[:20], 9], gap=20)


def fitted(target: Decoder, prompt: list[int], text: list[int], depth: int, folder: Path) -> EagleHead:
    """A float head whose guesses along ``text`` behind ``prompt`` are right: its product is the least-squares solution
    for the states it has there.
    """
    tensors = eagle3(SIZES, reduced=False)
    config = {"draft_vocab_size": VOCAB_SIZE}
    head = load(folder / "random", target, tensors, FLOAT, **config)
    features = features_of(target, head, text)
    rows: list[Tensor] = []
    right: list[int] = []
    for newest in range(len(prompt), len(text) - depth):
        cache = head.new_cache(len(text) + depth)
        mask = torch.ones(newest, newest, dtype=torch.bool).tril()
        fused = head.fuse(features[:newest])
        state = head.step(text[1 : newest + 1], fused, cache, 0, range(newest), mask, 0)[-1:]
        for row in range(newest, newest + depth):
            rows.append(state)
            right.append(text[row + 1])
            state = head.step([text[row + 1]], state, cache, row, [row], None, 0)
    assert head.weights.norm is not None
    states = FLOAT.normed_rows(torch.cat(rows), head.weights.norm, head.shape.rms_eps).values.double()
    wanted = torch.nn.functional.one_hot(torch.tensor(right), VOCAB_SIZE).double() * 40.0
    tensors["lm_head.weight"] = torch.linalg.lstsq(states, wanted, driver="gelsd").solution.T.float().contiguous()
    return load(folder / "fitted", target, tensors, FLOAT, **config)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_perfect_head_is_accepted_all_the_way(
    target: Decoder, temperature: float, width: int, tmp_path: Path
) -> None:
    prompt = random_ids(8, seed=1)
    plain = tokens_of(
        list(steps_of(target, NoDrafter(), target.new_cache(CAPACITY), prompt, temperature, max_tokens=27))
    )
    head = fitted(target, prompt, [*prompt, *plain], 3, tmp_path)
    drafter = EagleDrafter(head, CAPACITY, max_depth=3, width=width)

    kv = target.new_cache(CAPACITY)
    steps = list(steps_of(target, drafter, kv, prompt, temperature, max_tokens=24))

    assert tokens_of(steps) == plain[:24]
    # The first pass reads the prompt and has nothing to draft from; each later one gives the most there can be.
    assert [len(step.token_ids) for step in steps] == [1, 4, 4, 4, 4, 4, 3]
    assert {step.source for step in steps[1:]} == {"eagle"}


@pytest.mark.parametrize("width", [1, 3])
def test_tokens_that_the_heads_own_embedding_lacks_do_no_harm(target: Decoder, width: int, tmp_path: Path) -> None:
    small = Sizes(**{**SIZES.__dict__, "vocab": 200})
    tensors = eagle3(small) | {"embed_tokens.weight": torch.randn(200, SIZES.hidden)}
    drafter = Checked(target, load(tmp_path, target, tensors, vocab_size=200), width)

    Stream(target, drafter, 0.8).answer([VOCAB_SIZE - 1, 5, 201, 199, 200])

    assert drafter.num_checked >= 2
