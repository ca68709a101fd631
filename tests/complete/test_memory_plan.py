"""What is given up when memory is short, in which order, and when a model is refused."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from completiond.complete import memory_plan, open_completer
from completiond.complete.memory_need import MemoryNeed
from completiond.complete.memory_plan import MemoryPlan, check_draft_model, check_loading, plan_memory
from completiond.config import CacheConfig, CompletionConfig, Config, ModelConfig, SpecConfig
from completiond.engine.model_size import ModelSize
from completiond.engine.shape import DecoderShape
from completiond.errors import MemoryFullError, ModelError
from completiond.paths import Paths
from tests.train.small import make_model

MB = 1 << 20
CPU = torch.device("cpu")
SHAPE = DecoderShape(
    model_type="qwen2", num_layers=24, hidden_size=896, intermediate_size=4864, num_heads=14, num_kv_heads=2,
    head_dim=64, vocab_size=151936, max_positions=32768, rms_eps=1e-6, rope_theta=1e6, qkv_bias=True, qk_norm=False,
    tied_embeddings=True,
)  # fmt: skip
SIZE = ModelSize.of_decoder(SHAPE, "int8", CPU)
HEAD_BYTES = 38_000_000


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What lies in the folder of a head that was trained here: the features of the training are not loaded."""
    folder = tmp_path_factory.mktemp("head")
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(HEAD_BYTES)
    (folder / "work").mkdir()
    with (folder / "work" / "features.safetensors").open("wb") as file:
        file.truncate(10**10)
    return folder


def make_config(head: Path | None, drafter: str = "auto", tokens: int = 4096, memory_mb: int = 256) -> Config:
    return Config(
        model=ModelConfig(name="a-model", context_tokens=tokens),
        cache=CacheConfig(memory_mb=memory_mb),
        spec=SpecConfig.model_validate(
            {"drafter": drafter, "eagle_head": str(head or ""), "medusa_heads": str(head or "")}
        ),
    )


def need(config: Config, size: ModelSize = SIZE) -> MemoryNeed:
    return MemoryNeed.of(config, size, Path("model.gguf"), PATHS)


def plan(config: Config, available: int | None, size: ModelSize = SIZE) -> MemoryPlan:
    return plan_memory(config, size, Path("model.gguf"), PATHS, available)


PATHS = Paths(Path("cache"), Path("config"), Path("run"), Path("state"))


def test_what_fits_is_left_as_it_is(head: Path) -> None:
    config = make_config(head)
    whole = need(config).needed_bytes
    assert plan(config, whole) == MemoryPlan(config, need(config), whole)
    assert plan(config, None) == MemoryPlan(config, need(config), None), "the system does not say"
    assert plan(config, whole - 1).given_up


def test_what_is_needed_is_known_by_part(head: Path) -> None:
    found = need(make_config(head))
    assert found.weights == SIZE.weights
    assert found.cache == 2 * 24 * 2 * 64 * 4 * 4096
    assert found.other_texts == 256 * MB
    assert 2 * HEAD_BYTES < found.drafter < 3 * HEAD_BYTES + SIZE.cache(4096), "not what it was trained on"
    assert need(make_config(None)).drafter == 0
    assert need(make_config(head, "ngram")).drafter == 0
    assert re.match(r"1\.\d GB: \d+\.\d MB weights, 100\.7 MB cache, .* work, .* drafter, .* other texts$", str(found))


def test_they_are_given_up_in_order(head: Path) -> None:
    """With ever less memory: first the other texts, bit by bit, then the head, then context, bit by bit."""
    config, seen = make_config(head), list[tuple[int, str, int]]()
    available = need(config).needed_bytes
    while True:
        try:
            fitted = plan(config, available).config
        except MemoryFullError:
            break
        seen.append((fitted.cache.memory_mb, fitted.spec.drafter, fitted.model.context_tokens))
        available -= 2 * MB

    whole = [state for state in seen if state[1:] == ("auto", 4096)]
    without_head = [state for state in seen if state[1:] == ("ngram", 4096)]
    shorter = [state for state in seen if state[1] == "ngram" and state[2] < 4096]
    assert seen == whole + without_head + shorter, "one after the other"
    assert [state[0] for state in whole] == list(range(256, -1, -2))
    assert without_head[0][0] > 100, "what the head would have had is left to other texts"
    assert without_head[-1][0] <= 1
    assert all(before[2] >= after[2] for before, after in pairwise(shorter))
    assert (shorter[-1][0] <= 6, shorter[-1][2]) == (True, 512)
    assert all(state[2] % 128 == 0 for state in shorter)


def test_what_is_given_up_is_said(head: Path) -> None:
    config = make_config(head)
    least = replace(need(config), other_texts=0, drafter=0)
    assert plan(config, need(config).needed_bytes - 100 * MB).given_up == ("cache.memory_mb is 156 instead of 256",)
    assert plan(config, least.needed_bytes - 50 * MB).given_up == (
        "cache.memory_mb is 1 instead of 256",
        "the EAGLE head is not loaded, drafts are copies only",
        "model.context_tokens is 1920 instead of 4096",
    )


def test_without_a_head_none_is_given_up() -> None:
    config = make_config(None)
    fitted = plan(config, need(config).needed_bytes - 300 * MB)
    assert fitted.config.spec.drafter == "auto"
    assert not any("EAGLE" in what for what in fitted.given_up)


@pytest.mark.parametrize(("max_tokens", "floor"), [(64, 512), (1024, 1152)])
def test_no_less_context_is_left_than_the_longest_answer_needs(max_tokens: int, floor: int) -> None:
    config = make_config(None).model_copy(update={"completion": CompletionConfig(max_tokens=max_tokens)})
    least = replace(need(config), other_texts=0, cache=SIZE.cache(floor)).needed_bytes
    assert plan(config, least).config.model.context_tokens == floor
    with pytest.raises(MemoryFullError):
        plan(config, least - 1)


def test_less_context_than_that_is_kept_if_it_was_asked_for() -> None:
    config = make_config(None, tokens=256)
    least = replace(need(config), other_texts=0).needed_bytes
    assert plan(config, least).config.model.context_tokens == 256
    with pytest.raises(MemoryFullError):
        plan(config, least - 1)


@pytest.mark.parametrize("drafter", ["eagle", "medusa", "draft"])
def test_a_drafter_that_was_named_is_kept_or_refused(head: Path, drafter: str) -> None:
    config = make_config(head, drafter)
    shortest = config.model_copy(update={"model": config.model.model_copy(update={"context_tokens": 512})})
    least = replace(need(shortest), other_texts=0)

    fitted = plan(config, least.needed_bytes)
    assert (fitted.config.spec.drafter, fitted.config.model.context_tokens) == (drafter, 512)
    with pytest.raises(MemoryFullError, match=f"spec.drafter is {drafter}") as caught:
        plan(config, least.needed_bytes - 1)
    assert "drafter" in caught.value.message
    assert "auto" in caught.value.advice
    with pytest.raises(MemoryFullError, match="takes at least"):
        plan(config, least.needed_bytes - least.drafter - 1)


def test_weights_that_do_not_fit_are_refused_with_figures() -> None:
    with pytest.raises(ModelError) as caught:
        plan(make_config(None), 300 * MB)
    assert isinstance(caught.value, MemoryFullError)
    assert "a-model takes at least" in caught.value.message
    assert "weights" in caught.value.message
    assert "314.6 MB are available" in caught.value.message
    assert "smaller model" in caught.value.advice
    assert "int8" not in caught.value.advice
    with pytest.raises(ModelError) as caught:
        plan(make_config(None), 300 * MB, ModelSize.of_decoder(SHAPE, "float32", CPU))
    assert '"int8"' in caught.value.advice


def test_what_converting_takes_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    size = ModelSize.of_decoder(SHAPE, "int8", CPU, preparing_per_weight=12)
    assert size.preparing > 2 * size.weights
    monkeypatch.setattr(memory_plan, "available_bytes", lambda: size.preparing)
    check_loading("a-model", size)
    monkeypatch.setattr(memory_plan, "available_bytes", lambda: size.preparing - 1)
    with pytest.raises(MemoryFullError, match="Converting the weights of a-model takes 2"):
        check_loading("a-model", size)
    check_loading("a-model", SIZE)


def test_a_draft_model_is_refused_that_does_not_fit_beside_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = SIZE.weights + SIZE.work + SIZE.cache(2048)
    monkeypatch.setattr(memory_plan, "available_on", lambda device, mapped_bytes: needed)
    check_draft_model("small", SIZE, 2048)
    with pytest.raises(MemoryFullError, match="The draft model small takes"):
        check_draft_model("small", SIZE, 2049)


SIZES = st.builds(
    ModelSize, st.just(CPU), st.sampled_from(("int8", "float32")), weights=st.integers(0, 5 * 10**8),
    preparing=st.just(0), work=st.integers(0, 10**8), cache_per_token=st.sampled_from((0, 24, 24576, 524288)),
    per_number=st.just(4),
    hidden_size=st.sampled_from((0, 896)), max_positions=st.sampled_from((512, 2048, 131072)),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(
    size=SIZES, share=st.sampled_from((0.2, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0, 1.1)), tokens=st.integers(128, 16384),
    memory_mb=st.integers(0, 2048),
    drafter=st.sampled_from(("auto", "ngram", "none", "eagle", "medusa", "draft")), with_head=st.booleans(),
    max_tokens=st.integers(1, 4096),
)  # fmt: skip
def test_what_is_planned_fits_or_is_refused(
    size: ModelSize, share: float, tokens: int, memory_mb: int, drafter: str, with_head: bool, max_tokens: int,
    head: Path,
) -> None:  # fmt: skip
    config = make_config(head if with_head else None, drafter, tokens, memory_mb)
    config = config.model_copy(update={"completion": CompletionConfig(max_tokens=max_tokens)})
    asked = need(config, size)
    available = int(share * asked.needed_bytes)
    try:
        planned = plan(config, available, size)
    except MemoryFullError:
        event("refused")
        assert asked.needed_bytes > available, "what fits is never refused"
        return

    fitted = planned.config
    event("as asked" if fitted == config else "with less")
    assert planned.need == need(fitted, size)
    assert planned.need.needed_bytes <= available
    assert bool(planned.given_up) == (fitted != config), "nothing is given up in silence"
    assert (fitted == config) == (asked.needed_bytes <= available), "nor without need"
    assert fitted.cache.memory_mb <= memory_mb
    assert fitted.spec.drafter in (drafter, "ngram" if drafter == "auto" else drafter)
    floor = min(tokens, size.max_positions, max(512, max_tokens + 128))
    assert floor <= fitted.model.context_tokens <= tokens
    assert Config.model_validate(fitted.model_dump()) == fitted, "these are settings"


def test_a_real_model_is_opened_with_what_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_model(tmp_path / "model", max_positions=16384)
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    config = Config(model=ModelConfig(name=str(folder), device="cpu", context_tokens=16384, threads=1))
    whole = open_completer.open_completer(config, paths)
    assert whole.memory is not None
    assert whole.memory.given_up == ()
    assert caplog.records == []

    short = whole.memory.need.needed_bytes - whole.memory.need.other_texts - 10 * MB
    monkeypatch.setattr(open_completer, "available_on", lambda device, mapped_bytes: short)
    with caplog.at_level(logging.WARNING, "completiond"):
        completer = open_completer.open_completer(config, paths)
    assert completer.memory is not None
    assert len(completer.memory.given_up) == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"Memory is short: {what}" for what in completer.memory.given_up
    ]
    assert 512 < completer.kv.capacity_tokens < 16384
    assert completer.kv.capacity_tokens == completer.memory.config.model.context_tokens
    size_bytes = completer.kv.size_bytes  # type: ignore[attr-defined]
    assert size_bytes == completer.memory.need.cache
