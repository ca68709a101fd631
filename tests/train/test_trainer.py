"""Training itself: that it learns, keeps to its time, and goes on where it was broken off."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from completiond.spec.eagle_shape import EagleShape
from completiond.train.draft_vocab import DraftVocab
from completiond.train.eagle_net import EagleNet
from completiond.train.features import FeatureSettings, FeatureStore, Shard
from completiond.train.loss import unrolled_loss
from completiond.train.medusa_net import MedusaNet
from completiond.train.trainer import HeadTrainer, Report, TrainSettings, faster_type, feature_scale
from tests.train.small import CYCLE, RULE_HIDDEN, RULE_VOCAB, Clock, RuleTarget, rule_samples

LENGTH = 24
TARGET = RuleTarget()
KEPT = DraftVocab.most_frequent(Counter(CYCLE), 16, (), RULE_VOCAB)
SHAPE = EagleShape(
    version=3, hidden_size=RULE_HIDDEN, intermediate_size=48, num_heads=2, num_kv_heads=1, head_dim=16,
    vocab_size=RULE_VOCAB, draft_vocab_size=16, target_hidden_size=RULE_HIDDEN, feature_layers=(1, 2, 3),
    max_positions=LENGTH, rms_eps=1e-6, rope_theta=10000.0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Batches are counted, not timed; and all arithmetic is in float32."""
    clock = Clock()
    monkeypatch.setattr("completiond.train.trainer.time", SimpleNamespace(monotonic=clock, perf_counter=clock))
    monkeypatch.setattr("completiond.train.trainer.faster_type", lambda: None)
    return clock


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[FeatureStore, FeatureStore]:
    """To learn from, two shards, and to measure on, one."""
    folder, settings = tmp_path_factory.mktemp("features"), FeatureSettings("rule", SHAPE.feature_layers, LENGTH)
    store, held_out = FeatureStore(folder / "features", settings), FeatureStore(folder / "held-out", settings)
    assert list(store.grow(TARGET, iter(rule_samples(32, LENGTH)))) == [1, 2]
    assert list(held_out.grow(TARGET, iter(rule_samples(16, LENGTH, first=5)))) == [1]
    return store, held_out


Stores = tuple[FeatureStore, FeatureStore]


def trainer_of(stores: Stores, seconds: float, seed: int = 1, medusa: bool = False, **settings: Any) -> HeadTrainer:
    """``seconds``: of the clock, which a batch takes one of and a shard of eight batches two more."""
    torch.manual_seed(seed)
    rows = TARGET.embedding[KEPT.token_ids]
    net: EagleNet | MedusaNet
    if medusa:
        net = MedusaNet(RULE_HIDDEN, 3, 1, rows)
    else:
        net = EagleNet(SHAPE, TARGET.embedding)
        net.lm_head.weight.data.copy_(rows)
    store, held_out = stores
    return HeadTrainer(
        net, KEPT, RULE_VOCAB, feature_scale(store.load(0)), store, held_out, TARGET.choose,
        TrainSettings(seconds / 3600, **{"samples_per_batch": 2, **settings}),
    )  # fmt: skip


def state_of(trainer: HeadTrainer, file: Path) -> dict[str, Any]:
    trainer.save(file)
    state: dict[str, Any] = torch.load(file, weights_only=True)
    return state


def flat(state: Any) -> list[Any]:
    """All numbers of a state, in order."""
    if isinstance(state, Tensor):
        return [state.tolist()]
    if isinstance(state, dict):
        return [(key, flat(value)) for key, value in state.items()]
    return [flat(value) for value in state] if isinstance(state, list | tuple) else [state]


def test_an_eagle_head_learns_a_rule(stores: Stores, tmp_path: Path) -> None:
    trainer = trainer_of(stores, 200, matrix_rate=2e-2, save_minutes=0.8)
    before, reports = trainer.measure(), list[Report]()
    trainer.run(tmp_path / "checkpoint.pt", reports.append)
    after = trainer.measure()
    assert before[0] < 0.4
    assert after[0] > before[0] + 0.4
    assert after[1] > before[1]
    assert list(reports[-1].acceptances) == after
    assert len(reports) > 2
    assert reports[-1].loss < reports[0].loss
    assert [report.seconds for report in reports] == sorted(report.seconds for report in reports)
    assert reports[-1].tokens == reports[-1].batches * 2 * LENGTH


def test_medusa_heads_learn_a_rule(stores: Stores, tmp_path: Path) -> None:
    trainer = trainer_of(stores, 200, medusa=True, matrix_rate=4e-2, save_minutes=0.8)
    before, reports = trainer.measure(), list[Report]()
    trainer.run(tmp_path / "checkpoint.pt", reports.append)
    assert before[0] < 0.1, "it begins as the guess of the next token, not of the one after"
    assert trainer.measure()[0] > before[0] + 0.3
    assert reports[-1].loss < reports[0].loss


def test_half_precision_learns_too(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("completiond.train.trainer.faster_type", lambda: torch.bfloat16)
    trainer = trainer_of(stores, 60, matrix_rate=2e-2, save_minutes=0.3)
    reports: list[Report] = []
    trainer.run(tmp_path / "checkpoint.pt", reports.append)
    assert math.isfinite(reports[-1].loss)
    assert reports[-1].loss < reports[0].loss
    assert {tensor.dtype for tensor in torch.load(tmp_path / "checkpoint.pt")["net"].values()} == {torch.float32}


def test_what_is_the_targets_is_not_trained(stores: Stores, tmp_path: Path) -> None:
    trainer = trainer_of(stores, 20)
    embedding = TARGET.embedding.clone()
    trainer.run(tmp_path / "checkpoint.pt", lambda report: None)
    assert torch.equal(TARGET.embedding, embedding)
    assert torch.equal(trainer.net.lm_head.weight, embedding[KEPT.token_ids])


@pytest.mark.parametrize("seconds", [5, 17])
def test_it_ends_when_its_time_is_over(stores: Stores, tmp_path: Path, clock: Clock, seconds: int) -> None:
    trainer, reports = trainer_of(stores, seconds), list[Report]()
    started = clock.seconds
    trainer.run(tmp_path / "checkpoint.pt", reports.append)
    assert seconds <= clock.seconds - started <= seconds + 5
    assert 0 < trainer.batches <= seconds
    assert len(reports) == 1
    assert reports[0].batches == trainer.batches
    batches = trainer.batches
    trainer.run(tmp_path / "checkpoint.pt", reports.append)
    assert (trainer.batches, len(reports)) == (batches, 1), "there is no time left"


def test_rates_warm_up_and_then_fall(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[tuple[float, float]] = []
    plain_step: Callable[..., Any] = torch.optim.Muon.step

    def step(self: torch.optim.Muon, closure: Any = None) -> Any:
        matrices, vectors = trainer._optimisers
        rates.append((matrices.param_groups[0]["lr"], vectors.param_groups[0]["lr"]))
        return plain_step(self, closure)

    monkeypatch.setattr(torch.optim.Muon, "step", step)
    trainer = trainer_of(stores, 100, warm_up_batches=10)
    trainer.run(tmp_path / "checkpoint.pt", lambda report: None)
    matrix_rates = [rate for rate, _ in rates]
    assert matrix_rates[0] == pytest.approx(4e-3 / 10, rel=0.05)
    assert matrix_rates[:10] == sorted(matrix_rates[:10])
    assert matrix_rates[10:] == sorted(matrix_rates[10:], reverse=True)
    assert max(matrix_rates) < 4e-3
    assert 0.02 * 4e-3 <= matrix_rates[-1] < 0.1 * 4e-3
    assert matrix_rates[len(matrix_rates) // 2] == pytest.approx(2e-3, rel=0.15), "half the way down at half the time"
    assert [vector for _, vector in rates] == pytest.approx([matrix / 4 for matrix in matrix_rates])


def test_a_saved_run_goes_on_in_the_same_state(stores: Stores, tmp_path: Path) -> None:
    first = trainer_of(stores, 25)
    first.run(tmp_path / "checkpoint.pt", lambda report: None)
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    second = trainer_of(stores, 25, seed=2)
    assert flat(state_of(second, tmp_path / "fresh.pt")) != flat(saved)
    second.resume(tmp_path / "checkpoint.pt")
    assert flat(state_of(second, tmp_path / "second.pt")) == flat(saved)
    assert (second.seconds, second.batches, second.tokens) == (first.seconds, first.batches, first.tokens)
    assert second.measure() == first.measure()
    assert not list(tmp_path.glob("*.partial"))


def test_a_resumed_run_learns_as_one_that_was_not_broken_off(stores: Stores, tmp_path: Path) -> None:
    class OneShard(FeatureStore):
        num_shards = 1

    store = OneShard(stores[0].folder, stores[0].settings)
    states = []
    first = trainer_of((store, stores[1]), 40)
    torch.manual_seed(3)
    first._learn(store.load(0), 99.0)
    first.save(tmp_path / "half.pt")
    for trainer in (first, trainer_of((store, stores[1]), 40, seed=2)):
        if trainer is not first:
            trainer.resume(tmp_path / "half.pt")
        torch.manual_seed(4)
        trainer._learn(store.load(0), 99.0)
        states.append(flat(state_of(trainer, tmp_path / "whole.pt")))
    assert states[0] == states[1]


def test_ctrl_c_keeps_what_was_learnt(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def interrupted(*arguments: Any) -> Tensor:
        calls.append(1)
        if len(calls) == 13:
            raise KeyboardInterrupt
        return unrolled_loss(*arguments)

    monkeypatch.setattr("completiond.train.trainer.unrolled_loss", interrupted)
    trainer = trainer_of(stores, 1000)
    with pytest.raises(KeyboardInterrupt):
        trainer.run(tmp_path / "checkpoint.pt", lambda report: None)
    again = trainer_of(stores, 1000, seed=2)
    again.resume(tmp_path / "checkpoint.pt")
    assert again.batches == 12
    assert 12 < again.seconds < 20
    assert again.measure() == trainer.measure()


def test_channels_are_divided_by_their_usual_size() -> None:
    features = torch.tensor([[[3.0, 0.0], [4.0, 0.0]], [[5.0, 0.0], [0.0, 0.0]]], dtype=torch.bfloat16)
    nothing = torch.zeros(2, 2, dtype=torch.int32)
    scale = feature_scale(Shard(nothing, nothing, nothing, features, features))
    assert scale.tolist() == pytest.approx([math.sqrt(50 / 4) + 1e-3, 1e-3])


@pytest.mark.parametrize(("half_s", "expected"), [(0.5, torch.bfloat16), (0.9, None), (3.0, None)])
def test_half_precision_is_used_where_it_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, half_s: float, expected: torch.dtype | None
) -> None:
    monkeypatch.undo()
    now = [0.0]

    def linear(a: Tensor, b: Tensor) -> None:
        now[0] += half_s if a.dtype is torch.bfloat16 else 1.0

    monkeypatch.setattr("completiond.train.trainer.linear", linear)
    monkeypatch.setattr("completiond.train.trainer.time", SimpleNamespace(perf_counter=lambda: now[0]))
    assert faster_type() is expected


def test_this_machine_has_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("completiond.train.trainer.time", time)
    assert faster_type() in (None, torch.bfloat16)


def test_most_batches_learn_the_first_step_only(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    def watched(net: Any, batch: Any, num_steps: int) -> Tensor:
        steps.append(num_steps)
        return unrolled_loss(net, batch, num_steps)

    monkeypatch.setattr("completiond.train.trainer.unrolled_loss", watched)
    reports: list[Any] = []
    trainer_of(stores, 60, unroll_every=3).run(stores[0].folder / "thin.pt", reports.append)
    assert len(steps) > 9
    assert steps == [3 if index % 3 == 0 else 1 for index in range(len(steps))]


def test_weights_decay_while_they_learn(stores: Stores) -> None:
    free, held_back = (trainer_of(stores, 60, weight_decay=decay) for decay in (0.0, 30.0))
    for trainer in (free, held_back):
        trainer.run(stores[0].folder / "decay.pt", lambda report: None)

    def size(trainer: HeadTrainer) -> float:
        assert isinstance(trainer.net, torch.nn.Module)
        return float(sum(p.detach().norm() for p in trainer.net.parameters() if p.requires_grad and p.ndim == 2))

    assert size(held_back) < 0.8 * size(free)
