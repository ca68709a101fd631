"""The fast decoder against transformers' own forward, and against itself, bit for bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from completiond.bench.lossless import check_blocks
from completiond.config import ModelConfig
from completiond.engine.linear import Int8Kernels, Rows, has_packed_int8, quantize_weight
from completiond.engine.load import LoadedModel, load_model
from tests.engine.random_models import ARCHITECTURES, VOCAB_SIZE, make_folder, reference_logits


def load(path: Path, dtype: str, scratch: Path) -> LoadedModel:
    return load_model(path, ModelConfig(device="cpu", dtype=dtype), scratch / "prepared", lambda share, what: None)


def random_ids(count: int, vocab_size: int, seed: int = 1) -> list[int]:
    randomness = random.Random(seed)
    return [randomness.randrange(vocab_size) for _ in range(count)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_float32_logits_equal_the_reference(architecture: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", architecture)
    ids = random_ids(150, VOCAB_SIZE)
    target = load(folder, "float32", tmp_path).target

    logits = target.forward(ids, target.new_cache(200), len(ids)).logits

    assert (logits - reference_logits(folder, ids)).abs().max() < 1e-3
    assert logits.std() > 0.1, "logits that say something"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_int8_rows_do_not_depend_on_their_company(architecture: str, tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", architecture), "int8", tmp_path).target
    assert target.exact
    checks = check_blocks(target)
    assert len(checks) == 40
    assert [check for check in checks if check.max_difference != 0] == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_int8_is_close_to_float32(architecture: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", architecture)
    ids = random_ids(150, VOCAB_SIZE)
    target = load(folder, "int8", tmp_path).target
    logits = target.forward(ids, target.new_cache(200), len(ids)).logits
    reference = reference_logits(folder, ids)
    assert torch.nn.functional.cosine_similarity(logits, reference, dim=-1).min() > 0.98


@pytest.mark.parametrize("num_threads", [1, 2, 4])
def test_thread_counts_that_are_powers_of_two_give_the_same_bits(num_threads: int, tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", "qwen2"), "int8", tmp_path).target
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        assert max(check.max_difference for check in check_blocks(target, seed=2)) == 0
    finally:
        torch.set_num_threads(before)


def test_the_portable_product_has_the_packed_one_s_bits() -> None:
    assert has_packed_int8(), "torch without the packed operator: int8 runs, but slowly, and this comparison is void"
    torch.manual_seed(0)
    data, scale = quantize_weight(torch.randn(96, 4864))
    packed, portable = Int8Kernels(packed=True), Int8Kernels(packed=False)
    bias = torch.randn(96)
    for num_rows in (1, 2, 7, 33):
        rows: Rows = packed.rows(torch.randn(num_rows, 4864) * 3)
        one = packed.linear(rows, packed.pack(data, scale, bias))
        other = portable.linear(rows, portable.pack(data, scale, bias))
        assert torch.equal(one, other)


def test_quantised_rows_are_within_half_a_step() -> None:
    x = torch.randn(5, 256) * torch.tensor([[1e-3], [1.0], [50.0], [1e4], [0.0]])
    rows = Int8Kernels().rows(x)
    assert rows.scale is not None
    error = ((rows.values.float() - 128) * rows.scale - x).abs()
    assert bool((error <= rows.scale * 0.5001).all())


def test_a_full_cache_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", "llama"), "int8", tmp_path).target
    kv = target.new_cache(8)
    target.forward([1, 2, 3], kv, 1)
    for too_many in (list(range(6)), []):
        with pytest.raises(ValueError, match="cannot go behind 3 of 8"):
            target.forward(too_many, kv, 0)
    assert kv.token_ids == [1, 2, 3]


def test_other_architectures_run_through_transformers(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "gpt2")
    target: Any = load(folder, "auto", tmp_path).target
    assert not target.exact
    ids = random_ids(40, VOCAB_SIZE)
    reference = reference_logits(folder, ids)
    kv = target.new_cache(64)
    target.forward([*ids[:10], 5, 6, 7], kv, 1)
    kv.rollback(10)
    rows = [
        target.forward(ids[start : start + 6], kv, len(ids[start : start + 6])).logits for start in range(10, 40, 6)
    ]
    assert (torch.cat(rows) - reference[10:]).abs().max() < 1e-3
    assert kv.token_ids == ids
    kv.past = None  # a kind of cache that cannot be cut is dropped, and read again
    kv.num_past_tokens = 0
    kv.rollback(20)
    assert (target.forward(ids[20:30], kv, 10).logits - reference[20:30]).abs().max() < 1e-3


@pytest.mark.model
@pytest.mark.parametrize("model", ["tiny_model", "default_model"])
def test_real_weights_equal_the_reference(model: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    path: Path = request.getfixturevalue(model)
    loaded = load(path, "float32", tmp_path)
    text = Path(__file__).read_text(encoding="utf-8")
    ids = loaded.tokenizer.encode(text, add_special_tokens=False).ids[:200]
    logits = loaded.target.forward(ids, loaded.target.new_cache(256), len(ids)).logits
    reference = reference_logits(path.parent, ids, gguf_file=path.name)
    assert (logits - reference).abs().max() < 1e-3
    # and the logits are those of a model that can read code
    assert (reference[:-1].argmax(-1) == torch.tensor(ids[1:])).float().mean() > 0.3
