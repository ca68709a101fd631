"""A head that training goes on from is the same head, whatever features are divided by."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import torch

from completiond.complete.completer import Completer
from completiond.engine.decoder import Decoder
from completiond.errors import ModelUnsupportedError, UsageError
from completiond.train.draft_vocab import DraftVocab
from completiond.train.eagle_from import read_start, start_from_head
from completiond.train.eagle_net import EagleNet
from completiond.train.eagle_save import save_head
from completiond.train.eagle_start import head_shape
from completiond.train.unrolled import Inputs
from tests.train.small import HIDDEN, VOCAB


@pytest.fixture
def target(small_completer: Completer) -> Decoder:
    assert isinstance(small_completer.target, Decoder)
    return small_completer.target


def make_net(target: Decoder, draft_vocab_size: int = 40) -> EagleNet:
    return EagleNet(head_shape(target.shape, 48, draft_vocab_size, 32), target.weights.embedding)


def make_head(target: Decoder, folder: Path) -> tuple[EagleNet, torch.Tensor]:
    """A head with random weights in ``folder``; its network, and what its features are divided by."""
    torch.manual_seed(3)
    net, scale = make_net(target), torch.rand(3 * HIDDEN) + 0.5
    save_head(net, DraftVocab.most_frequent(Counter(), 40, (), VOCAB), scale, folder)
    return net, scale


def guesses(net: EagleNet, features: torch.Tensor) -> list[torch.Tensor]:
    ids = torch.arange(16).view(1, 16)
    inputs = Inputs(ids, features, torch.zeros(1, 16, HIDDEN), torch.tensor([16]))
    with torch.no_grad():
        return [step.logits for step in net.unroll(inputs, 3)]


def test_it_guesses_as_it_did(target: Decoder, tmp_path: Path) -> None:
    net, scale = make_head(target, tmp_path)
    start = read_start(tmp_path, target.shape)
    assert start.token_ids.tolist() == DraftVocab.most_frequent(Counter(), 40, (), VOCAB).token_ids.tolist()
    other, other_scale = make_net(target), torch.rand(3 * HIDDEN) + 2.0
    start_from_head(other, start, other_scale)
    features = torch.randn(1, 16, 3 * HIDDEN)
    for mine, theirs in zip(guesses(net, features / scale), guesses(other, features / other_scale), strict=True):
        torch.testing.assert_close(mine, theirs, atol=0.05, rtol=0.05)  # a saved head is bfloat16


def change(folder: Path, key: str, value: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("rope_theta", 5.0, r"its rope_theta is 5\.0, not 10000\.0"),
        ("num_key_value_heads", 4, r"its num_kv_heads is 4, not 2"),
        ("norm_output", True, r"its norm_output is True, not False"),
        ("eagle_config", {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]}, r"its feature_layers is \(1, 2, 3\)"),
    ],
)
def test_one_that_training_does_not_make_is_refused(
    target: Decoder, tmp_path: Path, key: str, value: object, why: str
) -> None:
    make_head(target, tmp_path)
    change(tmp_path, key, value)
    with pytest.raises(UsageError, match=rf"no head that training can go on from: {why}.*--from"):
        read_start(tmp_path, target.shape)


def test_a_folder_without_one_is_refused(target: Decoder, tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupportedError, match="holds no drafting head"):
        read_start(tmp_path, target.shape)
