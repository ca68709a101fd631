"""Some layers of a decoder as a model of its own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from completiond.config import ModelConfig
from completiond.engine.decoder import Decoder
from completiond.engine.layer_skip import LayerSkip, default_layers
from completiond.engine.load import load_model
from completiond.errors import UsageError
from tests.engine.random_models import VOCAB_SIZE, make_folder

IDS = [random.Random(1).randrange(VOCAB_SIZE) for _ in range(60)]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def load(folder: Path, dtype: str) -> Decoder:
    """Three layers with random weights."""
    settings = ModelConfig(device="cpu", dtype=dtype)
    target = load_model(make_folder(folder / "qwen3", "qwen3"), settings, folder / "prepared", lambda *_: None).target
    assert isinstance(target, Decoder)
    return target


@pytest.fixture(scope="module", params=["float32", "int8"])
def decoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load(tmp_path_factory.mktemp("model"), request.param)


def logits(model: Decoder) -> torch.Tensor:
    return model.forward(IDS, model.new_cache(64), len(IDS)).logits


def test_all_layers_are_the_decoder(decoder: Decoder) -> None:
    assert torch.equal(logits(LayerSkip(decoder, [0, 1, 2])), logits(decoder))


@pytest.mark.parametrize("layers", [[0], [1], [0, 2], [1, 2]])
def test_only_the_named_layers_run_and_no_weights_are_copied(decoder: Decoder, layers: list[int]) -> None:
    skipping = LayerSkip(decoder, layers)

    assert skipping.layers == tuple(layers)
    assert [id(layer) for layer in skipping.weights.layers] == [id(decoder.weights.layers[index]) for index in layers]
    assert skipping.weights.embedding is decoder.weights.embedding
    assert skipping.weights.lm_head is decoder.weights.lm_head
    assert skipping.new_cache(64).keys.shape[0] == len(layers)
    assert (logits(skipping) - logits(decoder)).abs().max() > 0.01


@pytest.mark.parametrize("layers", [[0], [2], [0, 2]])
def test_float32_logits_equal_the_reference_without_the_other_layers(layers: list[int], tmp_path: Path) -> None:
    decoder = load(tmp_path, "float32")
    automodel: Any = transformers.AutoModelForCausalLM
    reference = automodel.from_pretrained(tmp_path / "qwen3", dtype=torch.float32).eval()
    reference.model.layers = torch.nn.ModuleList(reference.model.layers[index] for index in layers)
    reference.config.num_hidden_layers = len(layers)

    with torch.inference_mode():
        expected = reference(torch.tensor([IDS]), use_cache=False).logits[0]

    assert (logits(LayerSkip(decoder, layers)) - expected).abs().max() < 1e-3


def test_the_decoder_is_left_as_it_is(decoder: Decoder) -> None:
    before = logits(decoder)
    kv = decoder.new_cache(64)
    decoder.forward(IDS[:30], kv, 0)

    logits(LayerSkip(decoder, [0, 2]))

    assert decoder.shape.num_layers == len(decoder.weights.layers) == 3
    rest = decoder.forward(IDS[30:], kv, 30).logits
    assert (rest - before[30:]).abs().max() < 1e-4


def test_it_is_as_exact_as_the_decoder(decoder: Decoder) -> None:
    skipping = LayerSkip(decoder, [0, 2])
    assert (skipping.exact, skipping.trees, skipping.vocab_size, skipping.max_positions, skipping.device) == (
        decoder.exact,
        decoder.trees,
        decoder.vocab_size,
        decoder.max_positions,
        decoder.device,
    )
    kv = skipping.new_cache(64)
    rows = [
        skipping.forward(IDS[start : start + 7], kv, len(IDS[start : start + 7])).logits for start in range(0, 60, 7)
    ]
    difference = (torch.cat(rows) - logits(skipping)).abs().max()
    assert difference == 0 if skipping.exact else difference < 1e-4


@pytest.mark.parametrize(
    ("layers", "complaint"),
    [
        ([], "No layer is left"),
        ([0, 3], "Layer 3 is not one of the model's 3"),
        ([-1, 1], "Layer -1 is not one"),
        ([0, 2, 1], "Layer 1 comes behind layer 2"),
        ([1, 1], "Layer 1 comes behind layer 1"),
    ],
)
def test_a_bad_list_is_refused(decoder: Decoder, layers: list[int], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        LayerSkip(decoder, layers)
    assert "from 0 to 2" in caught.value.advice


@pytest.mark.parametrize(
    ("num_layers", "share", "expected"),
    [
        (1, 0.5, (0,)),
        (2, 0.5, (0, 1)),
        (3, 0.5, (0, 1, 2)),
        (4, 0.1, (0, 1, 2, 3)),
        (12, 0.5, (0, 1, 4, 8, 10, 11)),
        (24, 0.01, (0, 1, 22, 23)),
        (8, 1.0, tuple(range(8))),
    ],
)
def test_default_layers(num_layers: int, share: float, expected: tuple[int, ...]) -> None:
    assert default_layers(num_layers, share) == expected


@pytest.mark.parametrize("share", [0.2, 0.5, 0.66, 1.0])
def test_default_layers_keep_both_ends_and_space_the_rest_evenly(share: float) -> None:
    for num_layers in range(5, 81):
        layers = default_layers(num_layers, share)
        assert len(layers) == max(4, round(share * num_layers))
        assert list(layers) == sorted(set(layers))
        assert {0, 1, num_layers - 2, num_layers - 1} <= set(layers) <= set(range(num_layers))
        gaps = [after - before for before, after in itertools.pairwise(layers[2:-2])]
        assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="share of layers"):
        default_layers(24, share)
