"""Verification and sampling: whatever is drafted, the tokens are those the target alone would produce."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.engine.sampling import Sampler, uniform
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import UsageError
from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.verify import verify

VOCAB_SIZE = 6
PARAMS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    top_k=st.sampled_from([0, 1, 3, 100]),
    top_p=st.sampled_from([1.0, 0.9, 0.4]),
    seed=st.integers(0, 2**63 - 1),
)
LOGITS = st.lists(
    st.lists(st.floats(-5, 5, width=32), min_size=VOCAB_SIZE, max_size=VOCAB_SIZE), min_size=1, max_size=8
).map(lambda rows: torch.tensor(rows, dtype=torch.float32))


def chain(token_ids: list[int]) -> Draft:
    return Draft(tuple(token_ids), (0.5,) * len(token_ids), "test")


@settings(deadline=None)
@given(logits=LOGITS, params=PARAMS, position=st.integers(0, 5000), data=st.data())
def test_any_draft_gives_the_tokens_of_plain_decoding(
    logits: Tensor, params: SamplingParams, position: int, data: st.DataObject
) -> None:
    # Plain decoding draws row i with the number of position + i, as long as the tokens before it are the drafted ones.
    plain = [Sampler(params).sample(row, position + index) for index, row in enumerate(logits)]
    num_right = data.draw(st.integers(0, len(logits) - 1))
    wrong = data.draw(st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=len(logits), max_size=len(logits)))
    draft = [*plain[:num_right], *wrong][: len(logits) - 1]

    tokens, path = verify(logits, chain(draft), Sampler(params), position)

    num_accepted = next((i for i, pair in enumerate(zip(draft, plain, strict=False)) if pair[0] != pair[1]), len(draft))
    assert tokens == plain[: num_accepted + 1]
    assert path == list(range(num_accepted))


@pytest.mark.parametrize("num_right", range(4))
def test_n_accepted_guesses_give_n_plus_one_tokens(num_right: int) -> None:
    logits = torch.eye(4)  # row i says token i
    draft = [index if index < num_right else 3 - index for index in range(3)]

    tokens, path = verify(logits, chain(draft), Sampler(SamplingParams()), position=7)

    assert tokens == list(range(num_right + 1))
    assert path == list(range(num_right))


def test_without_a_draft_there_is_one_token() -> None:
    assert verify(torch.eye(4)[2:3], NO_DRAFT, Sampler(SamplingParams()), position=0) == ([2], [])


@settings(deadline=None)
@given(logits=LOGITS, params=PARAMS, order=st.randoms(use_true_random=False))
def test_order_of_drawing_does_not_matter(logits: Tensor, params: SamplingParams, order: random.Random) -> None:
    positions = list(range(len(logits)))
    sampler = Sampler(params)
    in_order = {index: sampler.sample(logits[index], index) for index in positions}

    order.shuffle(positions)
    shuffled = {index: sampler.sample(logits[index], index) for index in positions}

    assert shuffled == in_order


def test_numbers_depend_on_seed_and_position_and_nothing_else() -> None:
    keys = [(seed, position) for seed in (0, 1, 2**63 - 1) for position in range(200)]
    numbers = [uniform(*key) for key in keys]

    assert numbers == [uniform(*key) for key in keys]
    assert len(set(numbers)) == len(numbers)
    assert all(0.0 <= number < 1.0 for number in numbers)


@pytest.mark.parametrize("along", ["seeds", "positions"])
def test_numbers_are_uniform_along_seeds_and_along_positions(along: str) -> None:
    count, bins = 8000, 16
    numbers = [uniform(i, 5) if along == "seeds" else uniform(5, i) for i in range(count)]

    observed = Counter(int(number * bins) for number in numbers)

    assert chi_square(observed, [1 / bins] * bins, count) < chi_square_bound(bins - 1)


def expected_distribution(logits: Tensor, params: SamplingParams) -> list[float]:
    """Softmax, then the top k, then the fewest that reach top p, written the slow way."""
    weights = [math.exp(value / params.temperature) for value in logits.tolist()]
    ranked = sorted(range(len(weights)), key=lambda index: -weights[index])[: params.top_k or None]
    total = sum(weights[index] for index in ranked)
    kept: list[int] = []
    for index in ranked:
        if sum(weights[i] for i in kept) / total >= params.top_p:
            break
        kept.append(index)
    total = sum(weights[index] for index in kept)
    return [weights[index] / total if index in kept else 0.0 for index in range(len(weights))]


def chi_square(observed: Counter[int], expected: list[float], count: int) -> float:
    return sum((observed[i] - share * count) ** 2 / (share * count) for i, share in enumerate(expected) if share > 0)


def chi_square_bound(freedom: int) -> float:
    """Exceeded by chance once in some 10^5 trials (Wilson and Hilferty); the trials here are the same in every run."""
    spread = 2.0 / (9.0 * max(1, freedom))
    return max(1, freedom) * float((1.0 - spread + 4.3 * math.sqrt(spread)) ** 3)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (3, 1.0), (0, 0.75), (4, 0.8), (1, 1.0)])
def test_samples_follow_the_softmax(temperature: float, top_k: int, top_p: float) -> None:
    logits = torch.tensor([1.0, 0.2, -0.5, 1.7, 0.9, -2.0, 1.3])
    count = 3000
    expected = expected_distribution(logits, SamplingParams(temperature, top_k, top_p))

    samplers = (Sampler(SamplingParams(temperature, top_k, top_p, seed)) for seed in range(count))
    observed = Counter(sampler.sample(logits, position=3) for sampler in samplers)

    assert all(expected[index] > 0 for index in observed), "a token outside of top-k and top-p"
    freedom = sum(share > 0 for share in expected) - 1
    assert chi_square(observed, expected, count) < chi_square_bound(freedom)


def test_temperature_zero_takes_the_most_likely_whatever_the_seed() -> None:
    logits = torch.tensor([0.1, 3.0, 2.9])

    assert {Sampler(SamplingParams(0.0, seed=seed)).sample(logits, seed) for seed in range(50)} == {1}


def test_a_tiny_top_p_keeps_one_token() -> None:
    logits = torch.tensor([0.1, 3.0, 2.9])

    assert {Sampler(SamplingParams(1.0, 0, 1e-9, seed)).sample(logits, 0) for seed in range(50)} == {1}


def test_a_token_without_probability_is_never_drawn() -> None:
    logits = torch.full((50,), -torch.inf)
    logits[[7, 31]] = 0.0

    assert {Sampler(SamplingParams(1.0, seed=seed)).sample(logits, 0) for seed in range(200)} == {7, 31}


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": -0.1},
        {"temperature": 10.1},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"seed": -1},
        {"seed": 2**63},
    ],
)
def test_values_out_of_range_are_refused_by_name(values: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(values))):
        SamplingParams(**values)  # type: ignore[arg-type]
