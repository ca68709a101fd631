"""On a slow machine less is read at first, and the rest in a quiet moment."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.complete.completer import Completer
from completiond.complete.context_budget import LEVELS, ReadingTime, fit_prompt
from completiond.complete.prompt import Prompt, PromptBudget
from completiond.complete.request import Completion, CompletionRequest
from completiond.complete.written import Written
from completiond.config import CompletionConfig, Config, ModelConfig, PromptConfig
from tests.fake_model import FIM_QWEN, PADDED_VOCAB_SIZE, FakeTarget, babble, bytes_of, fake_model

MOST = PromptBudget(800, 160)


def build(budget: PromptBudget) -> Prompt:
    ids = tuple(range(budget.prefix_tokens + budget.suffix_tokens))
    return Prompt(ids, ids[: budget.prefix_tokens], ids[budget.prefix_tokens :])


@pytest.mark.parametrize(
    ("max_read_ms", "share"), [(9600, 1.0), (9599, 0.5), (4800, 0.5), (2400, 0.25), (2399, 0.125), (1, 0.125)]
)
def test_as_much_is_read_as_can_be_read_in_time_but_never_nothing(max_read_ms: float, share: float) -> None:
    prompt = fit_prompt(build, MOST, lambda prompt: len(prompt.token_ids), ReadingTime(10.0), max_read_ms)
    assert prompt.context_share == share
    assert (len(prompt.prefix_ids), len(prompt.suffix_ids)) == (800 * share, 160 * share)


@pytest.mark.parametrize(
    ("max_read_ms", "share", "context"), [(14600, 1.0, 500), (14599, 960 / 1460, 0), (9599, 480 / 1460, 0)]
)
def test_other_files_are_given_up_before_the_text_around_the_cursor(
    max_read_ms: float, share: float, context: int
) -> None:
    def with_context(budget: PromptBudget) -> Prompt:
        prompt = build(budget)
        return replace(prompt, token_ids=(*range(budget.context_tokens), *prompt.token_ids))

    most = replace(MOST, context_tokens=500)
    prompt = fit_prompt(with_context, most, lambda prompt: len(prompt.token_ids), ReadingTime(10.0), max_read_ms)
    assert prompt.context_share == pytest.approx(share)
    assert len(prompt.token_ids) - len(prompt.prefix_ids) - len(prompt.suffix_ids) == context


def test_who_does_not_stay_has_all_read_at_once() -> None:
    completer, _ = completer_for()
    assert run(completer, replace(REQUEST, may_read_less=False)).context_share == 1.0


def test_what_the_cache_holds_takes_no_time() -> None:
    prompt = fit_prompt(build, MOST, lambda prompt: 1, ReadingTime(1000.0), 1000.0)
    assert prompt.context_share == 1.0


@given(st.floats(0.01, 1000.0), st.floats(1.0, 1e6), st.integers(0, 960))
def test_it_is_the_largest_that_fits(ms_per_token: float, max_read_ms: float, held: int) -> None:
    reading = ReadingTime(ms_per_token)

    def num_unread(prompt: Prompt) -> int:
        return max(1, len(prompt.token_ids) - held)

    chosen = fit_prompt(build, MOST, num_unread, reading, max_read_ms).context_share
    for level in LEVELS:
        budget = PromptBudget(int(MOST.prefix_tokens * level), int(MOST.suffix_tokens * level))
        fits = reading.ms(num_unread(build(budget))) <= max_read_ms
        assert not (fits and level > chosen)
        if level == chosen:
            assert fits or level == LEVELS[-1]


def test_the_reading_time_follows_the_machine_and_not_single_tokens() -> None:
    reading = ReadingTime(10.0)
    reading.observe(1, 500.0)
    assert reading.ms(100) == 1000.0
    for _ in range(50):
        reading.observe(256, 256 * 2.0)
    assert reading.ms(100) == pytest.approx(200.0, rel=0.01)


@pytest.mark.parametrize("ms_per_token", [0.0, -1.0, float("nan")])
def test_no_time_is_a_mistake(ms_per_token: float) -> None:
    with pytest.raises(ValueError, match="per token"):
        ReadingTime(ms_per_token)


# In the completer

CONFIG = Config(
    model=ModelConfig(name="fake", context_tokens=1024),
    prompt=PromptConfig(prefix_tokens=400, suffix_tokens=200, max_read_ms=1500),
    completion=CompletionConfig(max_tokens=20),
)
REQUEST = CompletionRequest(
    "".join(f"a{n} = {n}\n" for n in range(90)), "\nx = 1" * 90, drafter="none", may_read_less=True
)


class Steady(ReadingTime):
    """A machine as slow as was said, though the test's model is fast."""

    def observe(self, num_tokens: int, pass_ms: float) -> None:
        pass


def completer_for(config: Config = CONFIG, ms_per_token: float | None = 10.0) -> tuple[Completer, FakeTarget]:
    model, target = fake_model(babble(PADDED_VOCAB_SIZE, 7, favoured=bytes_of("abcxyz")), FIM_QWEN)
    completer = Completer(model, config)
    completer.reading = None if ms_per_token is None else Steady(ms_per_token)
    return completer, target


def run(completer: Completer, request: CompletionRequest = REQUEST, written: Written | None = None) -> Completion:
    *_, completion = completer.run(request, time.perf_counter(), written)
    assert isinstance(completion, Completion)
    return completion


def test_a_slow_machine_reads_less_and_all_once_it_had_time() -> None:
    completer, target = completer_for()
    cold = run(completer)
    assert cold.context_share == 0.25
    assert cold.prompt_tokens <= 150 + 8

    num_passes = target.num_passes
    assert list(completer.read(REQUEST))
    assert max(target.pass_sizes[num_passes:]) <= 64, "in pieces: who asks meanwhile does not wait for long"
    warm = run(completer)
    assert warm.context_share == 1.0
    assert warm.prompt_tokens - warm.cached_tokens == 1

    whole = run(completer_for(ms_per_token=None)[0])
    assert (warm.text, warm.token_ids, warm.prompt_tokens) == (whole.text, whole.token_ids, whole.prompt_tokens)


def test_reading_that_was_broken_off_is_no_harm_and_is_gone_on_with() -> None:
    completer, target = completer_for()
    pieces = completer.read(REQUEST)
    assert isinstance(pieces, Generator)
    next(pieces)
    pieces.close()
    num_passes = target.num_passes
    all_of_it = sum(1 for _ in completer.read(REQUEST))
    assert sum(target.pass_sizes[num_passes:]) == run(completer).prompt_tokens - 1 - 64
    assert all_of_it > 1


@pytest.mark.parametrize("max_read_ms", [0, 600000])
def test_it_can_be_turned_off(max_read_ms: int) -> None:
    prompt = CONFIG.prompt.model_copy(update={"max_read_ms": max_read_ms})
    completer, _ = completer_for(CONFIG.model_copy(update={"prompt": prompt}))
    assert run(completer).context_share == 1.0


def test_an_answer_that_is_gone_on_with_keeps_its_prompt() -> None:
    """Though all could be read by now: what was written follows from what was read then."""
    one_go, _ = completer_for()
    expected = run(one_go)
    completer, _ = completer_for()
    written = Written()
    begun = completer.run(REQUEST, time.perf_counter(), written)
    assert isinstance(begun, Generator)
    while len(written.token_ids) < 2:
        next(begun)
    begun.close()
    list(completer.read(REQUEST))
    gone_on = run(completer, written=written)
    assert gone_on.context_share == 0.25
    assert (gone_on.token_ids, gone_on.prompt_tokens) == (expected.token_ids, expected.prompt_tokens)


def test_nothing_is_read_in_a_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    completer, target = completer_for()
    monkeypatch.setattr(completer.guard, "why", lambda client_id, path: "gitignore")
    assert list(completer.read(replace(REQUEST, path="/p/x.py"))) == []
    assert target.num_passes == 0


def test_another_text_is_read_in_part_again() -> None:
    completer, _ = completer_for()
    list(completer.read(REQUEST))
    assert run(completer, replace(REQUEST, prefix="import os\n" * 40)).context_share < 1.0


def test_the_machines_speed_is_followed() -> None:
    completer, _ = completer_for()
    completer.reading = ReadingTime(10.0)
    list(completer.read(REQUEST))
    assert completer.reading.ms_per_token < 9.0, "the test's model reads at once"
