"""Which passes ``bench engine`` times, on a model without weights."""

from __future__ import annotations

import torch

from completiond.bench.engine import BLOCK_SIZES, PLAIN_TOKENS, PREFILL_TOKENS, ROUNDS, measure_engine
from tests.fake_model import FakeTarget


def test_each_round_is_a_prefill_the_context_each_size_and_plain_decoding() -> None:
    logits = torch.zeros(20)
    target = FakeTarget(lambda ids: logits, 20)

    figures = measure_engine(target, "fake", context_tokens=300)

    # The prefill's tokens stay in the cache as the beginning of the context; the rest of it is read behind them.
    one_round = [PREFILL_TOKENS, 300 - PREFILL_TOKENS, *BLOCK_SIZES, *[1] * PLAIN_TOKENS]
    assert target.pass_sizes == one_round * (ROUNDS + 1)
    assert list(figures.pass_ms) == [str(size) for size in BLOCK_SIZES]
    assert (figures.model, figures.device, figures.dtype, figures.context_tokens) == ("fake", "cpu", "fake", 300)
