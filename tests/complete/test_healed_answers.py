"""Answers behind half a word: what is shown is what follows it, whatever was read, broken off and typed before."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from completiond.complete.completer import Completer
from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.complete.written import Written
from completiond.config import CacheConfig, Config
from completiond.engine.load import LoadedModel
from completiond.engine.sampling_params import SamplingParams
from tests.complete.test_same_as_fresh import CONFIG, Session, check_session
from tests.complete.words import HALVES, SPELLINGS, load_words

Suffix = Literal["exact", "shift"]
TEXT = "def f(value):\n    return value\n\n\n"
SUFFIX = "\n" + "".join(f"def other_{number}():\n    return {number}\n" for number in range(9))


@pytest.fixture(scope="module")
def fill(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_words(tmp_path_factory.mktemp("fill"))


@pytest.fixture(scope="module")
def prefix_only(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_words(tmp_path_factory.mktemp("prefix"), markers=())


def with_healing(heals: bool) -> Config:
    return CONFIG.model_copy(update={"completion": CONFIG.completion.model_copy(update={"healing": heals})})


def run(completer: Completer, request: CompletionRequest, written: Written | None = None) -> Completion:
    *items, completion = completer.run(request, time.perf_counter(), written)
    assert isinstance(completion, Completion)
    assert "".join(item.text for item in items if isinstance(item, Chunk)) == completion.text
    assert "".join(span.text for span in completion.spans) == completion.text
    return completion


def request(half: str, temperature: float = 0.0, seed: int = 0) -> CompletionRequest:
    return CompletionRequest(TEXT + half, SUFFIX, max_tokens=12, sampling=SamplingParams(temperature, seed=seed))


@pytest.mark.parametrize("kind", ["fill", "prefix_only"])
def test_the_tokens_spell_what_was_typed_and_the_text_goes_on_from_there(
    kind: str, fill: LoadedModel, prefix_only: LoadedModel
) -> None:
    completer = Completer(fill if kind == "fill" else prefix_only, CONFIG)
    shown = 0
    for seed, half in enumerate(HALVES * 4):
        wanted = request(half, temperature=0.8 * (seed >= len(HALVES)), seed=seed)
        taken = completer.prompt(wanted, 12, may_take_back=True).taken_back
        completion = run(completer, wanted)
        spelled = b"".join(SPELLINGS[index] for index in completion.token_ids)
        readable = (taken + completion.text).partition("\ufffd")[0]
        assert bool(taken) == (half != "def")
        assert not completion.text or spelled.startswith(readable.encode())
        shown += bool(completion.text)
    assert shown > 2 * len(HALVES), "half of them show something"


@pytest.mark.parametrize("kind", ["fill", "prefix_only"])
def test_what_heals_by_itself(kind: str, fill: LoadedModel, prefix_only: LoadedModel) -> None:
    model = fill if kind == "fill" else prefix_only
    wanted = request("x = va")
    taken = {
        heals: Completer(model, with_healing(heals)).prompt(wanted, 12, may_take_back=True).taken_back
        for heals in (True, False)
    }
    assert taken == {True: "va", False: ""}


@settings(max_examples=15, deadline=None)
@given(
    half=st.sampled_from(HALVES), temperature=st.sampled_from([0.0, 0.8]), seed=st.integers(0, 100),
    num_passes=st.integers(0, 6),
)  # fmt: skip
def test_an_answer_that_was_broken_off_goes_on_as_if_it_had_not_been(
    fill: LoadedModel, half: str, temperature: float, seed: int, num_passes: int
) -> None:
    completer, wanted, written = Completer(fill, CONFIG), request(half, temperature, seed), Written()
    items = completer.run(wanted, time.perf_counter(), written)
    assert isinstance(items, Generator)
    for number, _ in enumerate(items):
        if number == num_passes:
            items.close()
    run(completer, request("other"))

    resumed, whole = run(completer, wanted, written), run(Completer(fill, CONFIG), wanted)

    assert (resumed.text, resumed.token_ids, resumed.stop_reason) == (whole.text, whole.token_ids, whole.stop_reason)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9), temperature=st.sampled_from([0.0, 0.0, 0.8]))
def test_the_answer_is_that_of_a_process_that_has_just_begun(fill: LoadedModel, seed: int, temperature: float) -> None:
    check_session(Session(fill, temperature), seed)


def counts(model: LoadedModel, suffix: Suffix, heals: bool) -> tuple[list[int], list[int], int]:
    """Of the first pass for each key of a word: tokens computed, and of its prompt found or moved."""
    prompt = CONFIG.prompt.model_copy(update={"suffix_tokens": 160})  # enough for some to be moved
    config = with_healing(heals).model_copy(update={"cache": CacheConfig(suffix=suffix), "prompt": prompt})
    completer = Completer(model, config)
    run(completer, request("x = "))
    computed, moved, prompts = [], 0, []
    for half in ("v", "va", "val", "valu"):
        before = completer.work.computed_tokens
        completion = run(completer, replace(request("x = " + half), max_tokens=1, drafter="none"))
        computed.append(completer.work.computed_tokens - before)
        prompts.append(completion.prompt_tokens)
        moved += completion.moved_tokens
    return computed, prompts, moved


@pytest.mark.parametrize("suffix", ["exact", "shift"])
def test_a_key_costs_no_more_than_it_did(fill: LoadedModel, suffix: Suffix) -> None:
    healed, healed_prompts, _ = counts(fill, suffix, True)
    plain, prompts, moved = counts(fill, suffix, False)

    assert [ours - theirs for ours, theirs in zip(healed_prompts, prompts, strict=True)] == [-1] * 4
    assert all(ours <= theirs + 1 for ours, theirs in zip(healed, plain, strict=True)), (healed, plain)
    assert sum(healed) < sum(plain), "keys within a word leave the prompt as it is"
    assert (moved > 0) == (suffix == "shift")
