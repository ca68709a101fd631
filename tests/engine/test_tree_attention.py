"""A pass with a tree of guesses: each row as if its path were the text, to the bit where the engine is exact."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from completiond.engine.target import NORMED
from completiond.spec.tree import ancestors_of
from tests.engine.random_models import ARCHITECTURES, VOCAB_SIZE, make_folder
from tests.engine.test_decoder import load, random_ids

LAYERS = (1, NORMED)


def random_tree(count: int, seed: int) -> tuple[list[int], list[int]]:
    """Token ids and parents."""
    numbers = random.Random(seed)
    return random_ids(count, VOCAB_SIZE, seed), [numbers.randint(-1, node - 1) for node in range(count)]


def worst_row(target: Any, text: list[int], num_pending: int, seed: int, count: int) -> tuple[float, float, float]:
    """Largest differences from a chain: of logits, of features, and of the logits behind an accepted path."""
    token_ids, parents = random_tree(count, seed)
    kv = target.new_cache(len(text) + count + 2)
    if text[:-num_pending]:
        target.forward(text[:-num_pending], kv, 0)
    result = target.forward([*text[-num_pending:], *token_ids], kv, count + 1, LAYERS, parents)
    assert kv.token_ids == text, "of the tree nothing is valid yet"
    logits, features = 0.0, 0.0
    for node in range(count):
        path = [token_ids[index] for index in (*ancestors_of(node, parents), node)]
        fresh = target.forward([*text, *path], target.new_cache(len(text) + count + 2), 1, LAYERS)
        logits = max(logits, float((fresh.logits[0] - result.logits[1 + node]).abs().max()))
        features = max(features, float((fresh.features[-1] - result.features[num_pending + node]).abs().max()))
    accepted = [*ancestors_of(count - 1, parents), count - 1]
    path = [token_ids[node] for node in accepted]
    kv.accept(accepted, path)
    assert kv.token_ids == [*text, *path]
    behind = target.forward([7], kv, 1).logits
    fresh_behind = target.forward([*text, *path, 7], target.new_cache(len(text) + count + 2), 1).logits
    return logits, features, float((behind - fresh_behind).abs().max())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_int8_rows_of_a_tree_have_the_bits_of_a_chain(architecture: str, tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", architecture), "int8", tmp_path).target
    for seed in range(6):
        text = random_ids(random.Random(seed).randint(1, 140), VOCAB_SIZE, seed + 50)
        assert worst_row(target, text, min(len(text), 1 + seed % 3), seed, 1 + 3 * seed) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_float32_rows_of_a_tree_are_those_of_a_chain(architecture: str, tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", architecture), "float32", tmp_path).target
    for seed in range(3):
        assert max(worst_row(target, random_ids(30, VOCAB_SIZE, seed), 2, seed, 9)) < 1e-4


def test_a_tree_that_nothing_is_accepted_of_leaves_no_trace(tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", "qwen2"), "int8", tmp_path).target
    text = random_ids(20, VOCAB_SIZE)
    kv = target.new_cache(60)
    token_ids, parents = random_tree(8, 3)
    target.forward([*text, *token_ids], kv, 9, (), parents)
    kv.accept([], [])

    after = target.forward([5], kv, 1).logits

    assert torch.equal(after, target.forward([*text, 5], target.new_cache(60), 1).logits)


def test_a_tree_needs_room_and_something_to_hang_below(tmp_path: Path) -> None:
    target = load(make_folder(tmp_path / "model", "qwen2"), "int8", tmp_path).target
    with pytest.raises(ValueError, match="cannot go behind"):
        target.forward([1, 2, 3], target.new_cache(2), 1, (), (-1, 0))
    with pytest.raises(ValueError, match="cannot go behind"):
        target.forward([1, 2], target.new_cache(9), 1, (), (-1, 0))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_features_are_the_hidden_states_of_transformers(dtype: str, tmp_path: Path) -> None:
    import transformers

    folder = make_folder(tmp_path / "model", "qwen2")
    ids = random_ids(40, VOCAB_SIZE)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    target = load(folder, dtype, tmp_path).target
    layers = (0, 1, len(states) - 2, NORMED)

    features = target.forward(ids, target.new_cache(64), 0, layers).features

    assert features is not None
    expected = torch.cat([states[index][0] for index in layers], -1)
    if dtype == "float32":
        assert (features - expected).abs().max() < 1e-3
    else:
        assert torch.nn.functional.cosine_similarity(features, expected, dim=-1).min() > 0.98
