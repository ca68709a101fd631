"""What a pass costs is measured for each size that a draft can lead to."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import torch

from completiond.engine.measure import CONTEXT_TOKENS, ROUNDS, measure_costs, measure_passes
from tests.fake_model import FakeTarget

VOCAB_SIZE = 300


def make_target() -> FakeTarget:
    return FakeTarget(lambda ids: torch.zeros(VOCAB_SIZE), VOCAB_SIZE)


@pytest.mark.parametrize(
    ("max_tokens", "sizes"), [(1, [1]), (2, [1, 2]), (32, [1, 2, 4, 8, 16, 32]), (33, [1, 2, 4, 8, 16, 32, 33])]
)
def test_each_size_is_measured_behind_a_context(max_tokens: int, sizes: list[int]) -> None:
    target = make_target()

    costs, read_ms = measure_costs(target, max_tokens)

    assert list(costs.as_dict()) == sizes
    assert costs.max_tokens == max_tokens
    assert 0.0 < read_ms < float("inf")
    assert all(0.0 < ms < float("inf") for ms in costs.as_dict().values())
    assert target.pass_sizes == [CONTEXT_TOKENS, *sizes * ROUNDS]


def test_larger_passes_of_a_target_that_takes_longer_for_them_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    target = make_target()
    now_s = 0.0

    def before_pass() -> None:
        nonlocal now_s
        # The first round is held up by something else.
        now_s += 0.010 * (1 + len(target.pass_sizes)) if len(target.pass_sizes) <= 4 else 0.001 * len(target.pass_sizes)

    monkeypatch.setattr(time, "perf_counter", lambda: now_s)
    target.before_pass = before_pass
    costs, read_ms = measure_costs(target, 8)

    assert all(smaller < larger for smaller, larger in pairwise(costs.as_dict().values()))
    assert costs.pass_ms(1) == pytest.approx(5.0)
    assert read_ms == pytest.approx(10.0 / CONTEXT_TOKENS)


def test_a_long_context_is_read_in_pieces_and_once() -> None:
    target = make_target()

    costs = measure_passes(target, [4, 1], context_tokens=600, rounds=2)

    assert target.pass_sizes == [256, 256, 88, 4, 1, 4, 1]
    assert list(costs.as_dict()) == [1, 4]
