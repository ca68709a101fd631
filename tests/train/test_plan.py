"""Whether a machine has room for a run, said before hours are spent."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from completiond.engine.shape import DecoderShape
from completiond.errors import DiskFullError, UsageError
from completiond.train.plan import HeadKind, TrainPlan, check_room

SHAPE = DecoderShape(
    model_type="qwen2", num_layers=24, hidden_size=896, intermediate_size=4864, num_heads=14, num_kv_heads=2,
    head_dim=64, vocab_size=151936, max_positions=32768, rms_eps=1e-6, rope_theta=1e6, qkv_bias=True, qk_norm=False,
    tied_embeddings=True,
)  # fmt: skip
TB = 10**12


@pytest.fixture
def plan(tmp_path: Path) -> TrainPlan:
    return TrainPlan("eagle", tmp_path / "head", hours=2.0)


def has(monkeypatch: pytest.MonkeyPatch, disk: int = TB, memory: int | None = TB) -> None:
    """The machine has this many bytes free."""
    monkeypatch.setattr("completiond.train.plan.free_bytes", lambda folder: disk)
    monkeypatch.setattr("completiond.train.plan.available_bytes", lambda: memory)


def test_a_large_machine_has_room(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan) -> None:
    has(monkeypatch)
    check_room(plan, SHAPE)
    has(monkeypatch, memory=None)
    check_room(plan, SHAPE)
    assert not plan.folder.exists(), "asking writes nothing"


def refusal(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan, free: int) -> tuple[int, str]:
    """Tokens and size that are wanted when ``free`` bytes of disk are free."""
    has(monkeypatch, disk=free)
    with pytest.raises(DiskFullError) as caught:
        check_room(plan, SHAPE)
    found = re.fullmatch(
        r"Features of (\d+) tokens take up to ([\d.]+ \w+), and ([\d.]+ \w+) are free\.", caught.value.message
    )
    assert found
    assert "--out" in caught.value.advice
    assert "--max-tokens" in caught.value.advice
    return int(found[1]), f"{found[2]} of {found[3]}"


def test_a_small_disk_is_told_how_much_is_missing(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan) -> None:
    # Three hidden states and the last one, in bfloat16, and an id.
    assert refusal(monkeypatch, plan, 5 * 10**9) == (4_000_000, f"{4 * (2 * 4 * 896 + 4) / 1000:.1f} GB of 5.0 GB")


def test_what_is_needed_grows_with_time_and_tokens(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan) -> None:
    assert refusal(monkeypatch, replace(plan, hours=0.1), 0) == (720_000, "5.2 GB of 0 bytes")
    assert refusal(monkeypatch, replace(plan, max_tokens=100_000), 0)[0] == 100_000
    assert refusal(monkeypatch, replace(plan, kind="medusa", hours=0.1), 0)[1] == "1.3 GB of 0 bytes"


def test_just_enough_is_enough(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan) -> None:
    enough = 4_000_000 * (2 * 4 * 896 + 4)
    has(monkeypatch, disk=enough)
    check_room(plan, SHAPE)
    refusal(monkeypatch, plan, enough - 1)


def test_a_resumed_run_needs_no_room_for_what_it_has(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan) -> None:
    plan = replace(plan, max_tokens=1000)
    enough = 1000 * (2 * 4 * 896 + 4)
    refusal(monkeypatch, plan, enough - 5_000_000)
    (plan.work / "features").mkdir(parents=True)
    (plan.work / "features" / "000000.safetensors").write_bytes(bytes(5_000_000))
    has(monkeypatch, disk=enough - 5_000_000)
    check_room(plan, SHAPE)


@pytest.mark.parametrize("kind", ["eagle", "medusa"])
def test_little_memory_is_told_how_much_is_missing(
    monkeypatch: pytest.MonkeyPatch, plan: TrainPlan, kind: HeadKind
) -> None:
    has(monkeypatch, memory=300_000_000)
    with pytest.raises(UsageError) as caught:
        check_room(replace(plan, kind=kind), SHAPE)
    found = re.fullmatch(r"Training takes about ([\d.]+) GB of memory, and 300\.0 MB are free\.", caught.value.message)
    assert found
    assert 0.9 < float(found[1]) < 1.5
    assert "--draft-vocab" in caught.value.advice
    has(monkeypatch, memory=1_500_000_000)
    check_room(replace(plan, kind=kind), SHAPE)


def test_a_smaller_vocabulary_takes_less(monkeypatch: pytest.MonkeyPatch, plan: TrainPlan) -> None:
    has(monkeypatch, memory=500_000_000)
    with pytest.raises(UsageError):
        check_room(plan, SHAPE)
    check_room(replace(plan, draft_vocab_size=1024), SHAPE)


def test_a_run_that_goes_on_from_a_head_has_larger_batches_also_when_it_is_resumed(plan: TrainPlan) -> None:
    going_on = replace(plan, start=plan.folder / "other")
    assert going_on.samples_per_batch > plan.samples_per_batch
    plan.work.mkdir(parents=True)
    for begun_from, samples in (("", plan.samples_per_batch), ("other", going_on.samples_per_batch)):
        (plan.work / "start").write_text(begun_from)
        assert plan.samples_per_batch == samples
