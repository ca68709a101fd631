"""The decode loop on a model without weights: no drafter, however bad, changes an answer or spoils the cache."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from unittest.mock import patch

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from completiond.engine import generate as generate_module
from completiond.engine.generate import Step, generate
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft, Drafter, NoDrafter, TextDrafter, Verified
from completiond.spec.ngram import NGramDrafter
from tests.fake_model import FakeCache, FakeTarget, babble, says

VOCAB_SIZE = 7
CAPACITY = 128
MAX_DRAFT = 6


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def never(token_id: int) -> str | None:
    return None


class StopAt:
    """Ends an answer for ``reason`` at its token number ``number``, counted from 0."""

    def __init__(self, number: int | None, reason: str = "line") -> None:
        self.left = number
        self.reason = reason

    def __call__(self, token_id: int) -> str | None:
        if self.left == 0:
            return self.reason
        self.left = None if self.left is None else self.left - 1
        return None


class Recording(TextDrafter):
    """Another drafter, and what the loop did with it."""

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter
        self.budgets: list[int] = []
        self.drafts: list[Draft] = []
        self.observed: list[int] = []

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        self.drafter.reset(context_ids, other_ids)

    def propose(self, budget: int) -> Draft:
        self.budgets.append(budget)
        self.drafts.append(self.drafter.propose(budget))
        return self.drafts[-1]

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        assert token_ids, "a pass without tokens has nothing to observe"
        self.observed += token_ids
        self.drafter.observe(token_ids, verified)


class BadDrafter(TextDrafter):
    """Knows the right answer and mixes it with every kind of mistake."""

    def __init__(self, answer: Sequence[int], seed: int) -> None:
        self.answer = list(answer)
        self.random = random.Random(seed)

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        pass

    def propose(self, budget: int) -> Draft:
        right = self.answer[: self.random.randrange(budget + 3)] if budget >= 0 else []
        wrong = self.random.choice(
            [
                [],
                [self.random.randrange(VOCAB_SIZE) for _ in range(3)],
                [VOCAB_SIZE, 0, 0],
                [-1, 0],
                [2**40],
                [0] * 300,
            ]
        )
        ids = (*right, *wrong) if self.random.random() < 0.8 else ()
        return Draft(ids, (0.5,) * len(ids), "bad")

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        del self.answer[: len(token_ids)]


@dataclass(frozen=True)
class Run:
    """One answer and what it left behind."""

    tokens: list[int]
    reason: str | None
    steps: list[Step]
    kv: FakeCache
    target: FakeTarget


def run(
    prompt: Sequence[int],
    drafter: Drafter | None = None,
    *,
    target: FakeTarget | None = None,
    kv: FakeCache | None = None,
    stop: Callable[[int], str | None] = never,
    max_tokens: int = 20,
    params: SamplingParams | None = None,
    seed: int = 0,
) -> Run:
    target = target or FakeTarget(babble(VOCAB_SIZE, seed), VOCAB_SIZE)
    kv = kv or target.new_cache(CAPACITY)
    sampler = Sampler(params or SamplingParams())
    steps = list(generate(target, kv, prompt, drafter or NoDrafter(), sampler, stop, max_tokens, MAX_DRAFT))
    return Run([token for step in steps for token in step.token_ids], steps[-1].stop_reason, steps, kv, target)


PROMPTS = st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=1, max_size=30)
SAMPLING = st.builds(SamplingParams, temperature=st.sampled_from([0.0, 0.8]), seed=st.integers(0, 1000))


@settings(deadline=None)
@given(
    prompt=PROMPTS,
    params=SAMPLING,
    seed=st.integers(0, 10**6),
    max_tokens=st.integers(1, 20),
    stop_at=st.none() | st.integers(0, 20),
    reason=st.sampled_from(["eos", "line"]),
    chunk=st.integers(1, 40),
)
@example(prompt=[0], params=SamplingParams(), seed=0, max_tokens=1, stop_at=None, reason="line", chunk=1)
def test_no_drafter_changes_an_answer(
    prompt: list[int], params: SamplingParams, seed: int, max_tokens: int, stop_at: int | None, reason: str, chunk: int
) -> None:
    def answer(drafter: Drafter) -> Run:
        with patch.object(generate_module, "PREFILL_CHUNK_TOKENS", chunk):
            return run(prompt, drafter, stop=StopAt(stop_at, reason), max_tokens=max_tokens, params=params, seed=seed)

    plain = answer(NoDrafter())
    ngram = NGramDrafter()
    ngram.reset(prompt)

    for drafter in (ngram, BadDrafter(plain.tokens, seed), BadDrafter(plain.tokens[::-1], seed)):
        drafted = answer(drafter)
        assert (drafted.tokens, drafted.reason) == (plain.tokens, plain.reason)
        # Afterwards the cache holds the prompt and the answer, all but the last token at most, and nothing else.
        drafted.kv.assert_consistent()
        sequence = [*prompt, *drafted.tokens]
        assert drafted.kv.token_ids == sequence[: drafted.kv.num_tokens]
        assert drafted.kv.num_tokens >= len(sequence) - 1


@settings(deadline=None)
@given(prompt=PROMPTS, seed=st.integers(0, 10**6), max_tokens=st.integers(1, 20), params=SAMPLING)
def test_every_step_says_what_its_pass_did(
    prompt: list[int], seed: int, max_tokens: int, params: SamplingParams
) -> None:
    plain = run(prompt, max_tokens=max_tokens, seed=seed, params=params)
    drafter = Recording(BadDrafter(plain.tokens, seed))

    drafted = run(prompt, drafter, max_tokens=max_tokens, seed=seed, params=params)

    assert len(drafted.tokens) == max_tokens
    assert drafted.reason == "length"
    assert drafter.observed == drafted.tokens
    assert len(drafted.steps) == drafted.target.num_passes == len(drafter.drafts)
    so_far = 0
    for step, draft, budget in zip(drafted.steps, drafter.drafts, drafter.budgets, strict=True):
        assert budget == min(MAX_DRAFT, max_tokens - so_far - 1)
        assert 0 <= step.accepted <= step.drafted <= min(budget, len(draft.token_ids))
        assert step.token_ids[: step.accepted] == draft.token_ids[: step.accepted]
        assert len(step.token_ids) == step.accepted + 1
        assert step.source == draft.source
        so_far += len(step.token_ids)
    script = babble(VOCAB_SIZE, seed)
    expected = [
        float(torch.log_softmax(script([*prompt, *plain.tokens[:index]]), -1)[token_id])
        for index, token_id in enumerate(plain.tokens)
    ]
    assert [value for step in drafted.steps for value in step.logprobs] == pytest.approx(expected, abs=1e-5)
    assert [step.stop_reason for step in drafted.steps[:-1]] == [None] * (len(drafted.steps) - 1)


class Parrot(TextDrafter):
    """A drafter that always proposes the same ids, and so is right when they are."""

    def __init__(self, *token_ids: int) -> None:
        self.token_ids = token_ids

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        pass

    def propose(self, budget: int) -> Draft:
        return Draft(self.token_ids, (0.9,) * len(self.token_ids), "parrot")

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        self.token_ids = self.token_ids[len(token_ids) :]


ANSWER = [1, 2, 3, 4, 5]
"""What the model says after a 0 in these tests; then it says 6."""


def speaker() -> FakeTarget:
    return FakeTarget(says(ANSWER, after=0, then=6, vocab_size=VOCAB_SIZE), VOCAB_SIZE)


@pytest.mark.parametrize("reason", ["eos", "line"])
@pytest.mark.parametrize("place", range(6))
def test_a_stop_anywhere_inside_an_accepted_block_ends_the_answer_there(place: int, reason: str) -> None:
    drafter = Recording(Parrot(*ANSWER))

    result = run([6, 0], drafter, target=speaker(), stop=StopAt(place, reason))

    kept = [*ANSWER, 6][: place + (reason == "line")]
    assert result.tokens == drafter.observed == kept
    assert result.reason == reason
    assert [(step.drafted, step.accepted) for step in result.steps] == [(5, min(5, len(kept)))]
    # An accepted token has a row in the cache; the model's own newest one would get it in the next pass.
    assert result.kv.token_ids == [6, 0, *kept[:5]]


class Clerk(Sampler):
    """Takes down which places it was asked to draw for."""

    def __init__(self) -> None:
        super().__init__(SamplingParams())
        self.positions: list[int] = []

    def sample(self, logits: torch.Tensor, position: int) -> int:
        self.positions.append(position)
        return super().sample(logits, position)


@pytest.mark.parametrize("drafter", [NoDrafter(), Parrot(*ANSWER)], ids=["plain", "drafted"])
def test_a_token_is_drawn_with_the_number_of_its_place_in_the_sequence(drafter: Drafter) -> None:
    target, sampler = speaker(), Clerk()
    kv = target.new_cache(CAPACITY)
    kv.extend([6, 6])
    kv.rows.extend([6, 6])

    list(generate(target, kv, [6, 6, 6, 0], drafter, sampler, never, 6, MAX_DRAFT))

    assert sampler.positions == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(("num_right", "num_passes"), [(0, 6), (1, 5), (3, 3), (5, 1)])
def test_each_accepted_guess_saves_a_pass(num_right: int, num_passes: int) -> None:
    guesses = [*ANSWER[:num_right], *[0] * (5 - num_right)]

    result = run([0], Parrot(*guesses), target=speaker(), max_tokens=6)

    assert result.tokens == [*ANSWER, 6]
    assert result.target.num_passes == num_passes
    assert sum(step.accepted for step in result.steps) == num_right


def test_repeating_text_needs_fewer_passes_than_tokens() -> None:
    line = [1, 2, 3, 4, 5, 6]
    target = FakeTarget(says(line * 5, after=0, vocab_size=VOCAB_SIZE, then=6), VOCAB_SIZE)
    drafter = NGramDrafter()
    drafter.reset([*line, 0])

    result = run([*line, 0], drafter, target=target, max_tokens=30)

    assert result.tokens == line * 5
    assert target.num_passes <= 15


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 6])
def test_the_answer_is_never_longer_than_asked_for_and_no_pass_reads_past_it(max_tokens: int) -> None:
    prompt = [6, 0]

    result = run(prompt, Parrot(*ANSWER * 9), target=speaker(), kv=FakeCache(2 + max_tokens), max_tokens=max_tokens)

    assert result.tokens == [*ANSWER, 6][:max_tokens]
    assert result.reason == "length"
    assert sum(result.target.pass_sizes) <= len(prompt) + max_tokens - 1


@settings(deadline=None, max_examples=50)
@given(prompt=PROMPTS, seed=st.integers(0, 10**6), num_steps=st.integers(1, 30), chunk=st.integers(1, 10))
def test_closing_after_any_step_leaves_a_cache_that_the_next_request_can_use(
    prompt: list[int], seed: int, num_steps: int, chunk: int
) -> None:
    plain = run(prompt, seed=seed)
    target = FakeTarget(babble(VOCAB_SIZE, seed), VOCAB_SIZE)
    kv = target.new_cache(CAPACITY)

    with patch.object(generate_module, "PREFILL_CHUNK_TOKENS", chunk):
        steps = generate(
            target, kv, prompt, BadDrafter(plain.tokens, seed), Sampler(SamplingParams()), never, 20, MAX_DRAFT
        )
        tokens = [token for step in islice(steps, num_steps) for token in step.token_ids]
        steps.close()  # type: ignore[attr-defined]

    kv.assert_consistent()
    assert kv.token_ids == [*prompt, *tokens][: kv.num_tokens]
    assert run(prompt, target=target, kv=kv).tokens == plain.tokens


def test_a_long_prompt_is_read_in_pieces_that_produce_no_tokens() -> None:
    prompt = [1] * 20

    with patch.object(generate_module, "PREFILL_CHUNK_TOKENS", 8):
        result = run([*prompt, 0], target=speaker(), max_tokens=2)

    assert result.target.pass_sizes == [8, 8, 5, 1]
    assert [step.token_ids for step in result.steps] == [(), (), (1,), (2,)]
    assert [step.drafted for step in result.steps[:2]] == [0, 0]


def test_the_next_request_reads_only_what_is_new() -> None:
    target = FakeTarget(babble(VOCAB_SIZE), VOCAB_SIZE)
    kv = target.new_cache(CAPACITY)
    first = run([1, 2, 3, 4], target=target, kv=kv, max_tokens=5)
    target.pass_sizes.clear()

    second = run([1, 2, 3, 4, *first.tokens[:3], 6, 6], target=target, kv=kv, max_tokens=1)

    assert {step.cached_tokens for step in second.steps} == {7}
    assert target.pass_sizes == [2]


def test_the_same_request_again_computes_one_token_of_its_prompt() -> None:
    first = run([1, 2, 3, 4])

    second = run([1, 2, 3, 4], target=first.target, kv=first.kv)

    assert second.tokens == first.tokens
    assert second.steps[0].cached_tokens == 3


def test_a_prompt_that_fills_the_cache_with_its_answer_is_served_and_one_more_token_refused() -> None:
    target = speaker()

    assert len(run([1, 0], target=target, kv=FakeCache(6), max_tokens=4).tokens) == 4
    with pytest.raises(ValueError, match="do not fit"):
        run([1, 1, 0], target=target, kv=FakeCache(6), max_tokens=4)


@pytest.mark.parametrize(("prompt", "max_tokens"), [([], 5), ([1], 0), ([1], -3)])
def test_nothing_to_read_or_to_write_is_refused(prompt: list[int], max_tokens: int) -> None:
    with pytest.raises(ValueError, match="not enough"):
        run(prompt, max_tokens=max_tokens)


def test_an_error_of_the_model_leaves_a_usable_cache() -> None:
    target = speaker()
    kv = target.new_cache(CAPACITY)

    def fail() -> None:
        if target.num_passes == 2:
            raise MemoryError

    target.before_pass = fail
    with pytest.raises(MemoryError):
        run([0], Parrot(1, 5), target=target, kv=kv)
    target.before_pass = lambda: None

    assert run([0], target=target, kv=kv, max_tokens=5).tokens == ANSWER
