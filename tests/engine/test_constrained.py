"""Choosing among some tokens: as if the others had no probability at all."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.engine.constrained import ConstrainedSampler
from completiond.engine.sampling import Sampler, uniform
from completiond.engine.sampling_params import SamplingParams

SIZE = 12


class Some:
    """A Constraint that never changes."""

    def __init__(self, ids: list[int] | None) -> None:
        self.ids = ids
        self.chosen: list[tuple[int, int]] = []

    def allowed(self, position: int) -> Tensor | None:
        return None if self.ids is None else torch.tensor(self.ids)

    def chose(self, position: int, token_id: int) -> None:
        self.chosen.append((position, token_id))


def oracle(logits: Tensor, ids: list[int], params: SamplingParams, position: int) -> int:
    """Step by step, over numbers."""
    if params.temperature == 0.0:
        return max(ids, key=lambda index: (float(logits[index]), -index))
    weights = {index: float(torch.exp(logits[index].double() / params.temperature)) for index in ids}
    total = sum(weights.values())
    draw, seen = uniform(params.seed, position), 0.0
    for index in ids:
        seen += weights[index] / total
        if seen > draw:
            return index
    return ids[-1]


@settings(deadline=None)
@given(
    values=st.lists(st.floats(-4, 4, width=32), min_size=SIZE, max_size=SIZE),
    ids=st.sets(st.integers(0, SIZE - 1), min_size=1).map(sorted),
    temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    seed=st.integers(0, 1000),
    position=st.integers(0, 1000),
)
def test_the_choice_is_the_targets_own_among_what_is_allowed(
    values: list[float], ids: list[int], temperature: float, seed: int, position: int
) -> None:
    logits, params = torch.tensor(values), SamplingParams(temperature, seed=seed)
    constraint = Some(ids)

    token_id = ConstrainedSampler(params, constraint).sample(logits, position)

    assert token_id == oracle(logits, ids, params, position)
    assert constraint.chosen == [(position, token_id)]


@pytest.mark.parametrize("params", [SamplingParams(), SamplingParams(0.8, seed=3), SamplingParams(1.0, 3, 0.7)])
def test_without_a_constraint_it_is_a_sampler(params: SamplingParams) -> None:
    for position in range(30):
        logits = torch.randn(SIZE, generator=torch.Generator().manual_seed(position))

        assert ConstrainedSampler(params, Some(None)).sample(logits, position) == Sampler(params).sample(
            logits, position
        )


@pytest.mark.parametrize("params", [SamplingParams(1.0, top_k=2), SamplingParams(1.0, top_p=0.5)])
def test_the_likeliest_are_counted_among_the_allowed(params: SamplingParams) -> None:
    logits = torch.tensor([9.0, 8.0, 7.0, 1.0, 0.9, -5.0])
    drawn = {ConstrainedSampler(params, Some([3, 4, 5])).sample(logits, position) for position in range(60)}

    assert drawn <= {3, 4}
    assert 3 in drawn
