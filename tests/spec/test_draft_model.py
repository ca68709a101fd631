"""A smaller model drafts: answers stay those of the target alone, and its cache stays in step with the text."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.config import ModelConfig
from completiond.engine.decoder import Decoder
from completiond.engine.generate import PREFILL_CHUNK_TOKENS, Step, generate
from completiond.engine.layer_skip import LayerSkip
from completiond.engine.load import load_model
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.engine.target import TargetModel
from completiond.spec.draft_model import DraftModelDrafter
from completiond.spec.drafter import NO_DRAFT, Draft, Drafter, NoDrafter
from tests.engine.random_models import VOCAB_SIZE, make_folder
from tests.fake_model import FakeTarget, babble, says

CAPACITY = 160
MAX_DRAFT = 6
ANSWER = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
"""What ``speaker`` says after a 0; then it says 13."""


class CheckAll:
    """A policy that checks every guess: models with random weights are never sure of any."""

    def trim(self, draft: Draft) -> Draft:
        return draft

    def observe(self, proposed: Draft, checked: Draft, written_ids: Sequence[int], pass_ms: float, timed: bool) -> None:
        assert proposed == checked


def never(token_id: int) -> str | None:
    return None


def steps_of(
    target: TargetModel[Any], drafter: Drafter, prompt: Sequence[int], *,
    kv: Any = None, temperature: float = 0.0, max_tokens: int = 24, stop: Callable[[int], str | None] = never,
) -> Any:  # fmt: skip
    """The iterator over the steps of one answer."""
    drafter.reset(prompt)
    sampler = Sampler(SamplingParams(temperature=temperature, seed=3))
    kv = kv or target.new_cache(CAPACITY)
    return generate(target, kv, prompt, drafter, sampler, stop, max_tokens, MAX_DRAFT, CheckAll())


def tokens_of(steps: Sequence[Step]) -> list[int]:
    return [token for step in steps for token in step.token_ids]


def answer(target: TargetModel[Any], drafter: Drafter, prompt: Sequence[int], **how: Any) -> list[int]:
    return tokens_of(list(steps_of(target, drafter, prompt, **how)))


def eager(model: TargetModel[Any], **how: Any) -> DraftModelDrafter:
    """Drafts whatever its confidence."""
    return DraftModelDrafter(model, CAPACITY, min_confidence=0.0, **how)


def random_ids(count: int, seed: int) -> list[int]:
    randomness = random.Random(seed)
    return [randomness.randrange(VOCAB_SIZE) for _ in range(count)]


# Real decoders


def load(folder: Path, architecture: str, dtype: str = "int8") -> Decoder:
    path = make_folder(folder / architecture, architecture)
    target = load_model(path, ModelConfig(device="cpu", dtype=dtype), folder / "prepared", lambda *_: None).target
    assert isinstance(target, Decoder)
    return target


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    """Exact, so that plain decoding says what every answer has to be."""
    return load(tmp_path_factory.mktemp("target"), "qwen2")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load(tmp_path_factory.mktemp("stranger"), "llama")


DRAFT_MODELS = ["same", "stranger", "layers"]


def draft_model(kind: str, target: Decoder, stranger: Decoder) -> Decoder:
    return {"same": target, "stranger": stranger, "layers": LayerSkip(target, [0, 2])}[kind]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("kind", DRAFT_MODELS)
def test_answers_are_those_of_the_target_alone(
    kind: str, temperature: float, target: Decoder, stranger: Decoder
) -> None:
    drafter = eager(draft_model(kind, target, stranger))
    kv = target.new_cache(CAPACITY)
    prompt = random_ids(40, seed=1)
    # Several answers in a row, each with a part of the one before.
    for cut, seed in [(40, 2), (45, 3), (20, 4), (0, 5), (60, 6)]:
        plain = answer(target, NoDrafter(), prompt, temperature=temperature)
        steps = list(steps_of(target, drafter, prompt, kv=kv, temperature=temperature))
        assert tokens_of(steps) == plain
        assert sum(step.drafted for step in steps) >= 18, "and it did draft"
        assert {step.source for step in steps if step.drafted} == {"draft"}
        prompt = [*prompt, *plain][:cut] + random_ids(10, seed)


def test_the_same_model_is_always_right(target: Decoder) -> None:
    steps = list(steps_of(target, eager(target), random_ids(40, seed=1), max_tokens=28))

    assert [(step.drafted, step.accepted) for step in steps] == [(MAX_DRAFT, MAX_DRAFT)] * 4


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("kind", DRAFT_MODELS)
def test_its_cache_stays_in_step(kind: str, temperature: float, target: Decoder, stranger: Decoder) -> None:
    model = draft_model(kind, target, stranger)
    drafter = eager(model)
    kv: Any = drafter.kv
    prompt = random_ids(30, seed=7)

    for seed, num_steps in [(8, 3), (9, 5), (10, 2)]:
        steps = steps_of(target, drafter, prompt, temperature=temperature)
        tokens = tokens_of(list(itertools.islice(steps, num_steps)))
        steps.close()
        held = kv.token_ids
        assert held == [*prompt, *tokens][: len(held)]
        assert len(held) >= len(prompt) + len(tokens) - 2, "all but the last guess and the target's own token"
        # What follows is what a model that has read the same text in one go makes of it, to the bit.
        fresh = model.new_cache(CAPACITY)
        model.forward(held, fresh, 0)
        mine = model.forward([5, 6, 7], kv, 3).logits
        assert torch.equal(mine, model.forward([5, 6, 7], fresh, 3).logits)
        prompt = [*prompt, *tokens, *random_ids(4, seed)]


def test_a_float_model_stays_in_step_too(target: Decoder, tmp_path: Path) -> None:
    model = load(tmp_path, "qwen2", "float32")
    drafter = eager(model)
    steps = list(steps_of(target, drafter, random_ids(30, seed=1), max_tokens=30))
    assert sum(step.accepted for step in steps) > 0

    kv: Any = drafter.kv
    fresh = model.forward([*kv.token_ids, 5], model.new_cache(CAPACITY), 1).logits
    assert (model.forward([5], kv, 1).logits - fresh).abs().max() < 1e-4


# Models without weights


def speaker(says_then: Sequence[int] = ANSWER, vocab_size: int = 20, max_positions: int = 4096) -> FakeTarget:
    return FakeTarget(says(says_then, after=0, then=13, vocab_size=vocab_size), vocab_size, max_positions)


def proposal(drafter: DraftModelDrafter, prompt: Sequence[int], budget: int = 6) -> list[int]:
    drafter.begin(prompt, 0)
    return list(drafter.propose(budget).token_ids)


@settings(deadline=None, max_examples=60)
@given(
    prompt=st.lists(st.integers(0, 6), min_size=1, max_size=30),
    seeds=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    temperature=st.sampled_from([0.0, 0.8]),
    ends=st.tuples(st.integers(1, 12), st.none() | st.integers(0, 20)),
    min_confidence=st.sampled_from([0.0, 0.3, 0.6]),
)
def test_a_closed_answer_and_the_next_one(
    prompt: list[int], seeds: tuple[int, int], temperature: float, ends: tuple[int, int | None], min_confidence: float
) -> None:
    target = FakeTarget(babble(7, seeds[0]), 7)
    drafter = DraftModelDrafter(FakeTarget(babble(7, seeds[1]), 7), CAPACITY, min_confidence=min_confidence)
    kv = target.new_cache(CAPACITY)
    num_steps, stop_at = ends
    places = itertools.count()

    def stop(token_id: int) -> str | None:
        return "line" if next(places) == stop_at else None

    steps = steps_of(target, drafter, prompt, kv=kv, temperature=temperature, stop=stop)
    tokens = tokens_of(list(itertools.islice(steps, num_steps)))
    steps.close()
    assert drafter.kv.token_ids == [*prompt, *tokens][: drafter.kv.num_tokens]

    for following in ([*prompt, *tokens, 1], [*prompt, *tokens], prompt, [*prompt[: len(prompt) // 2], 3]):
        plain = answer(target, NoDrafter(), following, temperature=temperature, max_tokens=10)
        assert answer(target, drafter, following, kv=kv, temperature=temperature, max_tokens=10) == plain


def test_when_all_was_accepted_it_reads_the_last_guess_and_the_target_s_token() -> None:
    model = speaker()
    steps = list(steps_of(speaker(), eager(model), [13, 0], max_tokens=12))

    assert [step.accepted for step in steps] == [6, 4]
    # The first guess of the second draft needs the sixth guess, which was not read, and the target's seventh token.
    assert model.pass_sizes == [2, 1, 1, 1, 1, 1, 2, 1, 1, 1]


def test_behind_a_wrong_guess_it_keeps_the_rows_of_the_right_ones() -> None:
    model = speaker([1, 2, 3, 9, 9, 9, 9])
    drafter = eager(model)
    steps = list(steps_of(speaker(), drafter, [13, 0], max_tokens=5))

    assert [(step.drafted, step.accepted) for step in steps] == [(4, 3), (0, 0)]
    assert drafter.kv.token_ids == [13, 0, 1, 2, 3]
    assert model.pass_sizes == [2, 1, 1, 1]


def test_an_answer_that_ends_inside_a_draft_leaves_a_cache_to_go_on_with() -> None:
    model = speaker()
    drafter = eager(model)
    drafter.begin([13, 0], 0)
    assert drafter.propose(6).token_ids == (1, 2, 3, 4, 5, 6)
    drafter.observe([1, 2])
    assert drafter.kv.token_ids == [13, 0, 1, 2]
    assert drafter.propose(2).token_ids == (3, 4)
    assert model.pass_sizes[-2:] == [1, 1], "the newest token is read again, for what follows it"


def test_asked_again_it_says_the_same() -> None:
    drafter = eager(speaker())
    drafter.begin([13, 0], 0)
    assert drafter.propose(6) == drafter.propose(6)
    assert drafter.propose(3).token_ids == (1, 2, 3)


def test_the_next_prompt_s_beginning_is_not_read_again() -> None:
    model = speaker()
    drafter = eager(model)
    proposal(drafter, [13, 12, 0], budget=4)
    model.pass_sizes.clear()

    assert proposal(drafter, [13, 12, 0, 1, 2, 11], budget=1) == [4]
    assert model.pass_sizes == [1], "the 1 and the 2 were guesses once"


def test_text_that_was_written_without_a_pass_is_read_when_the_next_draft_is_asked_for() -> None:
    model = speaker()
    drafter = eager(model)
    drafter.begin([13, 0], 0)
    for token in (1, 2, 3):
        drafter.observe([token])
    assert model.pass_sizes == []
    assert drafter.propose(2).token_ids == (4, 5)
    assert model.pass_sizes == [5, 1]


def test_a_long_prompt_is_read_in_turns_with_the_target() -> None:
    model = speaker()
    drafter = DraftModelDrafter(model, 2000)
    assert proposal(drafter, [13] * (2 * PREFILL_CHUNK_TOKENS + 4) + [0], budget=2) == []
    assert model.pass_sizes == [], "the first token of the answer is not kept waiting"
    assert drafter.propose(2) == NO_DRAFT
    assert model.pass_sizes == [PREFILL_CHUNK_TOKENS]
    drafter.observe([1])
    assert drafter.propose(2).token_ids == (2, 3)
    assert model.pass_sizes == [PREFILL_CHUNK_TOKENS, PREFILL_CHUNK_TOKENS, 6, 1]


def test_a_prompt_of_one_piece_is_read_before_the_second_draft() -> None:
    model = speaker()
    drafter = DraftModelDrafter(model, 2000)
    assert proposal(drafter, [13] * 99 + [0], budget=2) == []
    assert drafter.propose(2).token_ids == (1, 2)
    assert model.pass_sizes == [99, 1, 1]


def test_a_guess_it_is_not_sure_of_ends_the_draft() -> None:
    # Of 20 tokens one with logit x has e^x / (e^x + 19): 0.95, 0.72, 0.28, 0.95.
    logits = [5.9, 3.9, 2.0, 5.9, 5.9]
    model = FakeTarget(lambda ids: torch.eye(20)[ids[-1] + 1] * logits[ids[-1]], 20)

    def drafted(min_confidence: float) -> Draft:
        drafter = DraftModelDrafter(model, CAPACITY, min_confidence=min_confidence)
        drafter.begin([0], 0)
        return drafter.propose(4)

    assert drafted(0.4).token_ids == (1, 2)
    assert drafted(0.4).probabilities == pytest.approx((0.9505, 0.7222), abs=1e-3)
    assert drafted(0.4).confident
    assert drafted(0.8).token_ids == (1,)
    assert drafted(0.96) == NO_DRAFT
    assert drafted(0.0).token_ids == (1, 2, 3, 4)


def test_a_model_that_computes_nonsense_drafts_nothing() -> None:
    assert proposal(eager(FakeTarget(lambda ids: torch.full((20,), torch.nan), 20)), [0]) == []


@pytest.mark.parametrize(("budget", "max_depth", "expected"), [(3, 16, 3), (9, 4, 4), (0, 16, 0), (-1, 16, 0)])
def test_budget_and_depth_bound_a_draft(budget: int, max_depth: int, expected: int) -> None:
    model = speaker()
    assert proposal(eager(model, max_depth=max_depth), [0], budget) == ANSWER[:expected]
    assert model.num_passes == expected


def test_it_stops_when_another_guess_is_not_worth_its_time() -> None:
    asked: list[tuple[int, float]] = []

    def goes_on(draft: Draft, step_ms: float) -> bool:
        asked.append((draft.num_guesses, step_ms))
        return draft.num_guesses < 3

    assert proposal(eager(speaker(), goes_on=goes_on), [13, 0]) == ANSWER[:3]
    assert [num_guesses for num_guesses, _ in asked] == [1, 2, 3]
    assert asked[0][1] == 0.0, "reading the prompt says nothing about a step"
    assert asked[2][1] > 0.0


def test_behind_a_stop_it_drafts_nothing() -> None:
    assert proposal(eager(speaker(), stop_ids={4}), [0]) == [1, 2, 3, 4]


def test_before_the_first_prompt_it_drafts_nothing() -> None:
    assert eager(speaker()).propose(5) == NO_DRAFT


def test_a_model_with_fewer_positions_drafts_as_far_as_they_go() -> None:
    model = speaker(max_positions=6)
    drafter = eager(model)
    target = speaker()

    steps = list(steps_of(target, drafter, [13, 13, 0], max_tokens=12))

    assert tokens_of(steps) == ANSWER
    # Three tokens of text, three guesses that are read, and a last one that is not.
    assert [(step.drafted, step.accepted) for step in steps] == [(4, 4), *[(0, 0)] * 7]
    assert sum(model.pass_sizes) == 6
    assert proposal(drafter, [*[13] * 5, 0]) == [1]
    assert proposal(drafter, [*[13] * 6, 0]) == []


@pytest.mark.parametrize("length", range(1, 10))
def test_a_draft_never_outgrows_the_cache(length: int) -> None:
    prompt = [*[13] * (length - 1), 0]
    model = speaker()
    drafter = DraftModelDrafter(model, capacity_tokens=6, min_confidence=0.0)

    assert proposal(drafter, prompt) == ANSWER[: max(0, min(6, 7 - length))]
    assert drafter.kv.num_tokens <= 6
    # and a shorter prompt finds it as good as new
    assert proposal(drafter, [13, 0], budget=2) == [1, 2]


def test_a_prompt_with_an_id_the_model_does_not_have_gets_no_draft() -> None:
    model = speaker(vocab_size=14)
    drafter = eager(model)
    assert proposal(drafter, [17, 0]) == []
    assert model.num_passes == 0
    drafter.observe([1])
    assert drafter.propose(3) == NO_DRAFT
    assert proposal(drafter, [13, 0], budget=3) == [1, 2, 3], "the next prompt is another matter"


def test_an_answer_with_an_id_the_model_does_not_have_goes_on_without_drafts() -> None:
    words = [1, 2, 3, 17, 5, 6, 7, 8]
    target = speaker(words)
    model = speaker(ANSWER, vocab_size=14)
    drafter = eager(model)
    kv = target.new_cache(CAPACITY)

    steps = list(steps_of(target, drafter, [13, 0], kv=kv, max_tokens=8))

    assert tokens_of(steps) == words
    assert [(step.drafted, step.accepted) for step in steps] == [(6, 3), *[(0, 0)] * 4]
    assert drafter.kv.token_ids == [13, 0, 1, 2, 3]
    again = list(steps_of(speaker(), drafter, [13, 0, 1], max_tokens=5))
    assert tokens_of(again) == ANSWER[1:6]
    assert again[0].accepted == 4


def test_ids_the_target_does_not_have_are_cut() -> None:
    target = speaker()
    model = speaker([1, 2, 40, 4], vocab_size=64)

    steps = list(steps_of(target, eager(model), [13, 0], max_tokens=8))

    assert tokens_of(steps) == ANSWER[:8]
    assert (steps[0].drafted, steps[0].accepted) == (2, 2)


@pytest.mark.parametrize("failing", ["draft", "target"])
def test_an_error_of_either_model_leaves_a_usable_drafter(failing: str) -> None:
    models = {"draft": speaker(), "target": speaker()}
    target, drafter = models["target"], eager(models["draft"])
    kv = target.new_cache(CAPACITY)

    def fail() -> None:
        if models[failing].num_passes == 1:
            raise MemoryError

    models[failing].before_pass = fail
    with pytest.raises(MemoryError):
        answer(target, drafter, [13, 0], kv=kv, max_tokens=12)
    models[failing].before_pass = lambda: None

    assert answer(target, drafter, [13, 0, 1], kv=kv, max_tokens=11) == ANSWER[1:]
