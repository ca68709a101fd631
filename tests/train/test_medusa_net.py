"""Medusa heads as they begin, and as they come back from their file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor

from completiond.engine.linear import FloatKernels, Weight
from completiond.spec.medusa_heads import load_medusa
from completiond.train.draft_vocab import DraftVocab
from completiond.train.medusa_net import MedusaNet
from completiond.train.medusa_save import save_medusa
from completiond.train.unrolled import Inputs

HIDDEN, VOCAB, HEADS = 16, 40, 3
GENERATOR = torch.Generator().manual_seed(4)
LM_HEAD = torch.randn(VOCAB, HIDDEN, generator=GENERATOR)
KEPT = DraftVocab.most_frequent(Counter({5: 3, 17: 2, 2: 2, 39: 1}), 10, (38,), VOCAB)


def inputs(length: int = 9) -> Inputs:
    last = torch.randn(2, length, HIDDEN, generator=GENERATOR)
    return Inputs(torch.zeros(2, length, dtype=torch.int64), torch.zeros(2, length, 0), last, torch.full((2,), length))


def net_of(num_layers: int) -> MedusaNet:
    return MedusaNet(HIDDEN, HEADS, num_layers, LM_HEAD[KEPT.token_ids])


@pytest.mark.parametrize("num_layers", [1, 2])
def test_it_begins_as_the_targets_own_guess(num_layers: int) -> None:
    given = inputs()
    steps = list(net_of(num_layers).unroll(given, HEADS))
    assert [one.step for one in steps] == [0, 1, 2]
    for one in steps:
        assert torch.allclose(one.logits, given.last[:, : 9 - HEADS] @ LM_HEAD[KEPT.token_ids].T, atol=1e-5)


def test_fewer_steps_are_the_first_heads_at_more_places() -> None:
    net, given = net_of(1), inputs()
    torch.nn.init.normal_(net.heads[0][0].linear.weight)  # type: ignore[index]
    (one,) = net.unroll(given, 1)
    assert one.logits.shape == (2, 8, 10)
    first = next(iter(net.unroll(given, HEADS)))
    assert torch.allclose(one.logits[:, : 9 - HEADS], first.logits, atol=1e-5)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_saved_heads_load_and_guess_the_same(tmp_path: Path, num_layers: int) -> None:
    net, given = net_of(num_layers), inputs()
    for name, parameter in net.named_parameters():
        if name.startswith("heads."):
            torch.nn.init.normal_(parameter, std=0.3, generator=GENERATOR)
    save_medusa(net, KEPT, tmp_path / "new" / "heads")
    asked: list[Tensor | None] = []

    def rows(token_ids: Tensor | None) -> Weight:
        asked.append(token_ids)
        return Weight(LM_HEAD[token_ids])

    kernels = FloatKernels(torch.float32)
    heads = load_medusa(tmp_path / "new" / "heads", HIDDEN, VOCAB, kernels, torch.device("cpu"), rows)
    (ids,) = asked
    assert ids is not None
    assert ids.tolist() == KEPT.token_ids.tolist()
    assert (heads.num_heads, heads.draft_vocab_size) == (HEADS, 10)
    assert heads.target_ids(torch.arange(10)).tolist() == KEPT.token_ids.tolist()
    steps = list(net.unroll(given, HEADS))
    for place in range(9 - HEADS):
        loaded = heads.logits(given.last[0, place : place + 1])
        trained = torch.stack([one.logits[0, place] for one in steps])
        assert torch.allclose(loaded, trained, atol=0.15, rtol=0.02), "as near as bfloat16 is"
        assert not torch.allclose(trained[0], trained[1], atol=1.0), "each head says something of its own"


def test_the_file_has_no_vocabulary_product(tmp_path: Path) -> None:
    save_medusa(net_of(1), KEPT, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"medusa_lm_head.safetensors", "config.json"}
    assert (tmp_path / "medusa_lm_head.safetensors").stat().st_size < 4096
    config = json.loads((tmp_path / "config.json").read_text())
    assert config == {"medusa_num_heads": 3, "medusa_num_layers": 1, "hidden_size": HIDDEN, "shared_lm_head": True}
