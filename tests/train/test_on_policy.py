"""Samples that the target goes on with: whose words they are, where they begin and end, and what is kept of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from completiond.complete.completer import Completer
from completiond.engine.target import NORMED
from completiond.train import on_policy
from completiond.train.features import SAMPLES_PER_SHARD, FeatureSettings, FeatureStore
from completiond.train.on_policy import OnPolicyWriter
from completiond.train.samples import Sample

LENGTH = 40
LAYERS = (1, 3, NORMED)


def samples_of(count: int, middle: int = 0, seed: int = 0) -> list[Sample]:
    numbers = random.Random(seed)
    return [Sample(tuple(numbers.randrange(256) for _ in range(LENGTH)), middle) for _ in range(count)]


@pytest.fixture
def greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_policy, "TEMPERATURES", (0.0,))


@pytest.mark.usefixtures("greedy")
def test_a_fill_is_read_to_its_hole_and_then_it_is_the_targets(small_completer: Completer) -> None:
    target = small_completer.target
    samples = [*samples_of(3, 25), *samples_of(2, 31, seed=1)]
    written = OnPolicyWriter(target, ()).write(samples, LAYERS, 0)
    assert written.ends.tolist() == [LENGTH] * 5
    for row, sample in enumerate(samples):
        ids = written.ids[row].tolist()
        assert ids[: sample.middle] == list(sample.token_ids[: sample.middle])
        fresh = target.forward(ids, target.new_cache(64), LENGTH, LAYERS)
        for place in range(sample.middle, LENGTH):
            # Computed in another order, two nearly equal logits may change places.
            assert fresh.logits[place - 1, ids[place]] > fresh.logits[place - 1].max() - 0.1
        torch.testing.assert_close(written.features[row].float(), fresh.features, atol=0.15, rtol=0.1)


@pytest.mark.usefixtures("greedy")
def test_plain_text_is_gone_on_with_in_its_second_half(small_completer: Completer) -> None:
    samples = samples_of(12)
    written = OnPolicyWriter(small_completer.target, ()).write(samples, LAYERS, 0)
    firsts = []
    for row, sample in enumerate(samples):
        same = [a == b for a, b in zip(written.ids[row].tolist(), sample.token_ids, strict=True)]
        firsts.append(same.index(False))
    assert min(firsts) >= LENGTH // 2
    assert max(firsts) - min(firsts) >= LENGTH // 5, "not all at one place"


def test_the_same_seed_writes_the_same(small_completer: Completer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_policy, "TEMPERATURES", (0.9,))
    writer, samples = OnPolicyWriter(small_completer.target, ()), samples_of(4, 20)
    first = writer.write(samples, LAYERS, 7).ids
    assert torch.equal(writer.write(samples, LAYERS, 7).ids, first)
    assert not torch.equal(writer.write(samples, LAYERS, 8).ids, first)
    monkeypatch.setattr(on_policy, "TEMPERATURES", (0.0,))
    assert not torch.equal(writer.write(samples, LAYERS, 7).ids, first), "a temperature draws"


@pytest.mark.usefixtures("greedy")
def test_what_ends_an_answer_ends_the_sample(small_completer: Completer) -> None:
    samples = samples_of(4, 20)
    endless = OnPolicyWriter(small_completer.target, ()).write(samples, LAYERS, 0)
    stop = int(endless.ids[2, 26])
    written = OnPolicyWriter(small_completer.target, {stop}).write(samples, LAYERS, 0)
    for row in range(4):
        answer = endless.ids[row, 20:].tolist()
        end = 20 + answer.index(stop) if stop in answer else LENGTH
        assert written.ends[row] == end
        assert torch.equal(written.ids[row, : end + 1], endless.ids[row, : end + 1])
        assert torch.equal(written.features[row, :end], endless.features[row, :end])
    assert 20 <= int(written.ends[2]) <= 26


def test_every_second_shard_is_the_targets(small_completer: Completer, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path, FeatureSettings("small", LAYERS[:2], LENGTH))
    samples = samples_of(3 * SAMPLES_PER_SHARD, 30)
    writer = OnPolicyWriter(small_completer.target, small_completer.tokenizer.stop_ids)
    assert list(store.grow(small_completer.target, iter(samples), writer)) == [1, 2, 3]
    for number, begin in enumerate(range(0, len(samples), SAMPLES_PER_SHARD)):
        shard, texts = store.load(number), [list(one.token_ids) for one in samples[begin : begin + SAMPLES_PER_SHARD]]
        assert (shard.ids.tolist() == texts) == (number != 1)
        assert shard.ids[:, :30].tolist() == [text[:30] for text in texts]
        assert shard.ends.shape == (SAMPLES_PER_SHARD,)
        assert shard.features.shape == (SAMPLES_PER_SHARD, LENGTH, 2 * small_completer.target.shape.hidden_size)


def test_an_interrupted_store_goes_on_with_the_same(small_completer: Completer, tmp_path: Path) -> None:
    target, samples = small_completer.target, samples_of(2 * SAMPLES_PER_SHARD, 30)
    settings = FeatureSettings("small", LAYERS[:2], LENGTH)
    writer = OnPolicyWriter(target, ())
    whole, broken = FeatureStore(tmp_path / "whole", settings), FeatureStore(tmp_path / "broken", settings)
    assert list(whole.grow(target, iter(samples), writer)) == [1, 2]
    assert next(broken.grow(target, iter(samples), writer)) == 1
    assert list(broken.grow(target, iter(samples[SAMPLES_PER_SHARD:]), writer)) == [2]
    assert torch.equal(whole.load(1).ids, broken.load(1).ids)
