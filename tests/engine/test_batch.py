"""Several sequences at once: each row as if its sequence were alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from completiond.engine.batch import BatchKV
from completiond.engine.decoder import Decoder
from completiond.engine.target import NORMED
from tests.engine.random_models import ARCHITECTURES, VOCAB_SIZE, make_folder
from tests.engine.test_decoder import load, random_ids

LAYERS = (0, 2, NORMED)
SEQUENCES, READ, CAPACITY = 5, 70, 76


def load_decoder(folder: Path, dtype: str, prepared: Path) -> Decoder:
    target = load(folder, dtype, prepared).target
    assert isinstance(target, Decoder)
    return target


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("int8", 0.1)])
def test_each_row_is_that_of_its_sequence(architecture: str, dtype: str, tolerance: float, tmp_path: Path) -> None:
    target = load_decoder(make_folder(tmp_path / "model", architecture), dtype, tmp_path)
    texts = [random_ids(CAPACITY, VOCAB_SIZE, seed) for seed in range(SEQUENCES)]
    own = target.new_cache(READ + 9)
    kv = BatchKV(own, SEQUENCES, READ, CAPACITY)
    for row, text in enumerate(texts):
        own.rollback(0)
        target.forward(text[: READ + 3], own, 0)
        kv.put(row, own)
    for place in range(READ, CAPACITY):
        result = target.forward_each([text[place] for text in texts], kv, LAYERS)
        assert result.logits.shape == (SEQUENCES, VOCAB_SIZE)
        for row, text in enumerate(texts):
            fresh = target.forward(text[: place + 1], target.new_cache(CAPACITY), 1, LAYERS)
            assert result.features is not None
            assert fresh.features is not None
            torch.testing.assert_close(result.logits[row], fresh.logits[0], atol=tolerance, rtol=tolerance)
            torch.testing.assert_close(result.features[row], fresh.features[-1], atol=tolerance, rtol=tolerance)
    assert kv.num_tokens == CAPACITY


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    target = load_decoder(make_folder(tmp_path / "model", "llama"), "float32", tmp_path)
    own = target.new_cache(4)
    target.forward([1, 2, 3], own, 0)
    kv = BatchKV(own, 2, 3, 4)
    with pytest.raises(ValueError, match="3 tokens cannot go behind 3 of 4"):
        target.forward_each([1, 2, 3], kv)
    target.forward_each([1, 2], kv)
    with pytest.raises(ValueError, match="2 tokens cannot go behind 4 of 4"):
        target.forward_each([1, 2], kv)
