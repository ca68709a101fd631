"""What the target saw, kept on disk: shards, what an interrupted run leaves, and settings that do not fit."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from completiond.complete.completer import Completer
from completiond.engine.target import NORMED
from completiond.errors import UsageError
from completiond.train.features import SAMPLES_PER_SHARD, FeatureSettings, FeatureStore
from completiond.train.samples import Sample
from tests.train.small import HIDDEN, RuleTarget, rule_samples

SETTINGS = FeatureSettings("rule", (1, 2, 3), 12)


def grow(store: FeatureStore, target: RuleTarget, samples: Sequence[Sample]) -> Iterator[int]:
    return store.grow(target, iter(samples))


@pytest.mark.parametrize("layers", [(2, 3, 5), ()])
def test_they_are_those_of_a_fresh_pass_in_bfloat16(
    small_completer: Completer, tmp_path: Path, layers: tuple[int, ...]
) -> None:
    target, numbers = small_completer.target, random.Random(0)
    samples = [Sample(tuple(numbers.randrange(256) for _ in range(40)), number) for number in range(SAMPLES_PER_SHARD)]
    store = FeatureStore(tmp_path, FeatureSettings("small", layers, 40))
    assert list(store.grow(target, iter(samples))) == [1]
    shard = store.load(0)
    assert shard.ids.tolist() == [list(sample.token_ids) for sample in samples]
    assert shard.middles.tolist() == [sample.middle for sample in samples]
    assert (shard.ids.dtype, shard.middles.dtype) == (torch.int32, torch.int32)
    assert (shard.features.dtype, shard.last.dtype) == (torch.bfloat16, torch.bfloat16)
    assert shard.features.shape == (SAMPLES_PER_SHARD, 40, len(layers) * HIDDEN)
    assert shard.last.shape == (SAMPLES_PER_SHARD, 40, HIDDEN)

    def fresh(sample: Sample, feature_layers: Sequence[int]) -> Tensor:
        result = target.forward(sample.token_ids, target.new_cache(64), 1, feature_layers)
        features: Tensor = result.features.to(torch.bfloat16)
        return features

    for number in (0, 7, SAMPLES_PER_SHARD - 1):
        assert torch.equal(shard.last[number], fresh(samples[number], [NORMED]))
        if layers:
            assert torch.equal(shard.features[number], fresh(samples[number], layers))


def test_the_models_own_choice_follows_from_the_last_state(small_completer: Completer, tmp_path: Path) -> None:
    target = small_completer.target
    sample = Sample(tuple(b"def f(x):\n    return x + 1\n"), 0)
    store = FeatureStore(tmp_path, FeatureSettings("small", (), len(sample.token_ids)))
    list(store.grow(target, iter([sample] * SAMPLES_PER_SHARD)))
    logits = target.forward(sample.token_ids, target.new_cache(64), len(sample.token_ids)).logits
    rows = target.kernels.rows(store.load(0).last[0].float())
    kept = target.kernels.linear(rows, target.weights.lm_head)
    assert torch.nn.functional.cosine_similarity(kept, logits, -1).min() > 0.999


def test_shard_after_shard_and_only_whole_ones(tmp_path: Path) -> None:
    store, target = FeatureStore(tmp_path, SETTINGS), RuleTarget()
    assert (store.num_shards, store.shard_bytes) == (0, 0)
    samples = rule_samples(2 * SAMPLES_PER_SHARD + 3, 12)
    assert list(grow(store, target, samples)) == [1, 2]
    assert store.num_shards == 2
    assert store.shard_bytes > SAMPLES_PER_SHARD * 12 * 4 * 32 * 2
    assert store.load(1).ids.tolist() == [list(sample.token_ids) for sample in samples[16:32]]


def test_who_asks_for_no_more_shards_gets_no_more(tmp_path: Path) -> None:
    store, target = FeatureStore(tmp_path, SETTINGS), RuleTarget()
    assert next(grow(store, target, rule_samples(99, 12))) == 1
    assert (store.num_shards, target.num_passes) == (1, SAMPLES_PER_SHARD)


def test_an_interrupted_store_goes_on(tmp_path: Path) -> None:
    target = RuleTarget()
    target.interrupt_at = SAMPLES_PER_SHARD + 5
    with pytest.raises(KeyboardInterrupt):
        list(grow(FeatureStore(tmp_path, SETTINGS), target, rule_samples(40, 12)))
    first = FeatureStore(tmp_path, SETTINGS).load(0)
    (tmp_path / "000001.safetensors.partial").write_bytes(b"half a sha")

    store = FeatureStore(tmp_path, SETTINGS)
    assert store.num_shards == 1
    target.interrupt_at = None
    assert list(grow(store, target, rule_samples(16, 12, first=16))) == [2]
    assert torch.equal(store.load(0).features, first.features)
    assert store.load(1).ids[:, 0].tolist() == [sample.token_ids[0] for sample in rule_samples(16, 12, first=16)]
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    "other",
    [
        FeatureSettings("other", (1, 2, 3), 12),
        FeatureSettings("rule", (1, 2), 12),
        FeatureSettings("rule", (1, 2, 3), 13),
    ],
)
def test_a_store_of_other_settings_is_refused(tmp_path: Path, other: FeatureSettings) -> None:
    FeatureStore(tmp_path, SETTINGS)
    with pytest.raises(UsageError, match="holds features of another run"):
        FeatureStore(tmp_path, other)
    assert FeatureStore(tmp_path, SETTINGS).num_shards == 0


def test_settings_that_were_half_written_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "settings.json.partial").write_text('{"model": "ru')
    assert FeatureStore(tmp_path, SETTINGS).num_shards == 0
    with pytest.raises(UsageError):
        FeatureStore(tmp_path, FeatureSettings("other", (), 12))
