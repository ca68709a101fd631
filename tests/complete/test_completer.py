"""One completion from request to answer, on a model that says what the test wants it to say."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.completer import Completer
from completiond.complete.request import Chunk, Completion, CompletionRequest, DrafterStats, Span
from completiond.complete.written import Written
from completiond.config import CompletionConfig, Config, ModelConfig, PromptConfig, SpecConfig
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import UsageError
from completiond.spec.drafter_names import DrafterChoice
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy
from tests.fake_model import (
    EOS,
    FIM_QWEN,
    MIDDLE,
    PADDED_VOCAB_SIZE,
    FakeTarget,
    Script,
    babble,
    bytes_of,
    fake_model,
    says,
)

CONFIG = Config(
    model=ModelConfig(name="fake", context_tokens=512),
    prompt=PromptConfig(prefix_tokens=200, suffix_tokens=100),
    completion=CompletionConfig(max_tokens=60),
)
LIKELY = [*bytes_of('\n\n  :{}()"=,abcxyz'), EOS]


def completer_for(
    script: Script | str, config: Config = CONFIG, markers: tuple[str, ...] = FIM_QWEN
) -> tuple[Completer, FakeTarget]:
    model, target = fake_model(says(bytes_of(script)) if isinstance(script, str) else script, markers)
    return Completer(model, config), target


def run(completer: Completer, request: CompletionRequest) -> tuple[list[Chunk], Completion]:
    *items, completion = completer.run(request, arrived=time.perf_counter())
    assert isinstance(completion, Completion)
    chunks = [item for item in items if isinstance(item, Chunk)]
    assert "".join(chunk.text for chunk in chunks) == completion.text
    assert "".join(span.text for span in completion.spans) == completion.text
    assert [item for item in items if item is not None] == chunks
    return chunks, completion


def complete(answer: str, prefix: str, suffix: str = "\n", drafter: DrafterChoice = "none") -> Completion:
    return run(completer_for(answer)[0], CompletionRequest(prefix, suffix, drafter=drafter))[1]


BODY = "def f():\n    "


@pytest.mark.parametrize(
    ("prefix", "suffix", "answer", "text", "reason"),
    [
        (BODY, "\n", "return 1", "return 1", "eos"),
        (BODY, "\n", "a = 1\n    " + "b" * 80, "a = 1", "length"),
        (BODY, "\n\n\nx = 1\n", "return 1\n\n\nx = 2\n", "return 1", "block"),
        (BODY, "\n    return total\n", "total = 1\n    return total\n", "total = 1", "suffix"),
        ("foo(", ")\n", "a, b)\n", "a, b", "suffix"),
        ("x = ", ";\n", "f()\n", "f()", "line"),
        (BODY, "\n", "x = 1\n" + "    x = 1\n" * 5, "x = 1", "repeat"),
        (BODY, "\n", "", "", "empty"),
        (BODY, "\n", "\n\n   ", "", "empty"),
        (BODY, "\n    return total\n", "return total\n", "", "empty"),
    ],
)
def test_an_answer_and_why_it_ended(prefix: str, suffix: str, answer: str, text: str, reason: str) -> None:
    completion = complete(answer, prefix, suffix)

    assert (completion.text, completion.stop_reason) == (text, reason)
    assert list(completion.token_ids) == bytes_of(text)


def test_plain_decoding_in_figures() -> None:
    _, completion = run(completer_for("ab")[0], CompletionRequest("xyz", "uv", drafter="none"))

    assert completion.prompt_tokens == 3 + len("xyzuv")
    assert completion.cached_tokens == 0
    assert completion.passes == 3  # a, b, end
    assert (completion.drafted, completion.accepted, completion.by_drafter) == (0, 0, {})
    assert completion.spans == (Span("ab", "model"),)
    assert (completion.model, completion.device) == ("fake", "cpu")
    assert completion.ttft_ms > 0.0
    assert completion.ms_per_token > 0.0


def test_one_pass_has_no_time_per_token() -> None:
    completion = complete("", "xyz")

    assert completion.passes == 1
    assert completion.ms_per_token == 0.0
    assert completion.ttft_ms > 0.0


LINE = "    total += values[index]\n"


def test_repeating_text_is_drafted_and_accepted_in_fewer_passes() -> None:
    prefix = f"def f():\n{LINE}    pass\n    "
    answer = LINE.strip() + "\n    other"

    plain = complete(answer, prefix, drafter="none")
    drafted = complete(answer, prefix, drafter="ngram")

    assert (drafted.text, drafted.token_ids, drafted.stop_reason) == (plain.text, plain.token_ids, plain.stop_reason)
    assert drafted.passes <= plain.passes // 2
    assert drafted.passes + drafted.accepted == plain.passes
    assert drafted.by_drafter == {"ngram": DrafterStats(drafted.drafted, drafted.accepted)}
    assert 0 < drafted.accepted <= drafted.drafted
    assert {span.source for span in drafted.spans} == {"model", "ngram"}
    assert sum(len(span.text) for span in drafted.spans if span.source == "ngram") <= drafted.accepted


def test_checked_guesses_are_counted_by_depth_and_temperature_for_as_long_as_the_model_is_loaded() -> None:
    prefix = f"def f():\n{LINE}    pass\n    "
    completer, _ = completer_for(LINE.strip() + "\n    other")
    before = completer.acceptance.counts

    drafted, accepted = 0, 0
    for temperature in (0.0, 0.0, 0.73):
        request = CompletionRequest(prefix, "\n", sampling=SamplingParams(temperature), drafter="ngram")
        completion = run(completer, request)[1]
        drafted, accepted = drafted + completion.drafted, accepted + completion.accepted
    run(completer, CompletionRequest(prefix, "\n", drafter="none"))

    assert before == ()
    greedy, warm = completer.acceptance.counts
    assert (greedy.source, greedy.temperature) == ("ngram", 0.0)
    assert (warm.source, warm.temperature) == ("ngram", 0.7)
    assert greedy.tried == tuple(2 * tried for tried in warm.tried)  # the model is as sure at each temperature
    assert greedy.accepted == tuple(2 * hits for hits in warm.accepted)
    # Of a draft, what lies behind its first wrong guess was checked in vain and is not counted.
    assert sum(greedy.accepted) + sum(warm.accepted) == accepted > 20
    assert accepted < sum(greedy.tried) + sum(warm.tried) <= drafted


def test_a_guess_that_the_policy_leaves_out_is_not_counted() -> None:
    completer, _ = completer_for(LINE.strip())
    # Each token of a pass costs as much as a pass of its own: nothing is worth checking.
    completer.policy = MeasuredPolicy(PassCosts({1: 10.0, 32: 320.0}), refresh_costs=False)
    request = CompletionRequest(f"def f():\n{LINE}    pass\n    ", "\n", drafter="ngram", explain=True)

    _, completion = run(completer, request)

    assert any(decision.proposed for decision in completion.decisions)
    assert completer.acceptance.counts == ()


def test_the_text_after_the_cursor_is_drafted_from() -> None:
    drafted = complete("total += values[index]\n    return", BODY, f"\n\n\ndef g():\n{LINE}", drafter="ngram")

    assert drafted.accepted > 10


PLACES = st.lists(
    st.sampled_from(["def f():\n", "    ", "return x", "\n", "\r\n", "foo(", ")", '"', "}", "é🙂", "<|fim_middle|>"]),
    max_size=10,
).map("".join)


@settings(deadline=None, max_examples=40)
@given(
    prefix=PLACES,
    suffix=PLACES,
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 0.8]),
    max_tokens=st.integers(1, 40),
)
def test_drafting_changes_nothing_but_the_figures(
    prefix: str, suffix: str, seed: int, temperature: float, max_tokens: int
) -> None:
    request = CompletionRequest(
        prefix, suffix, max_tokens=max_tokens, sampling=SamplingParams(temperature, seed=seed), drafter="none"
    )
    script = babble(PADDED_VOCAB_SIZE, seed, favoured=LIKELY)

    _, plain = run(completer_for(script)[0], request)
    _, drafted = run(completer_for(script)[0], replace(request, drafter="ngram"))

    assert (drafted.text, drafted.token_ids, drafted.stop_reason) == (plain.text, plain.token_ids, plain.stop_reason)
    assert drafted.passes <= plain.passes
    assert len(plain.token_ids) <= max_tokens
    assert drafted.prompt_tokens == plain.prompt_tokens


def test_a_second_request_reads_only_what_was_typed_since() -> None:
    completer, target = completer_for("ab")
    _, first = run(completer, CompletionRequest("x = va", "\nend"))
    target.pass_sizes.clear()

    _, second = run(completer, CompletionRequest("x = val", "\nend"))

    assert first.cached_tokens == 0
    assert second.cached_tokens == 1 + len("x = va")
    assert target.pass_sizes[0] == second.prompt_tokens - second.cached_tokens


def test_the_same_request_again_is_answered_from_the_cache() -> None:
    completer, target = completer_for("ab")
    _, first = run(completer, CompletionRequest("x = va", "\nend"))
    target.pass_sizes.clear()

    _, second = run(completer, CompletionRequest("x = va", "\nend"))

    assert second.text == first.text
    assert second.cached_tokens == second.prompt_tokens - 1
    assert target.pass_sizes[0] == 1


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [("def f():\r\n    ", "\r\nx = 1\r\n"), ("a", "\r\nb"), ("def f():\r\n    x = 1\r\n    ", "")],
    ids=["both sides", "after only", "before only"],
)
def test_a_document_with_crlf_gets_crlf_and_the_same_text(prefix: str, suffix: str) -> None:
    answer = "y = 1\n    z = 2"

    crlf_chunks, crlf = run(completer_for(answer)[0], CompletionRequest(prefix, suffix))
    lf_chunks, lf = run(
        completer_for(answer)[0], CompletionRequest(prefix.replace("\r\n", "\n"), suffix.replace("\r\n", "\n"))
    )

    assert crlf.text == lf.text.replace("\n", "\r\n")
    assert crlf.token_ids == lf.token_ids
    assert (crlf.stop_reason, crlf.prompt_tokens) == (lf.stop_reason, lf.prompt_tokens)
    assert [chunk.text for chunk in crlf_chunks] == [chunk.text.replace("\n", "\r\n") for chunk in lf_chunks]
    assert all("".join(span.text for span in chunk.spans) == chunk.text for chunk in crlf_chunks)


def test_the_line_end_nearest_before_the_cursor_counts() -> None:
    answer = "y = 1\n    z = 2"

    assert "\r" not in complete(answer, "a\r\ndef f():\n    ", "\r\n").text
    assert "\r\n" in complete(answer, "a\ndef f():\r\n    ", "\n").text


def test_an_answer_is_not_longer_than_asked_for() -> None:
    completer, _ = completer_for("a" * 200)

    assert len(run(completer, CompletionRequest("x", "\n", max_tokens=7))[1].token_ids) == 7
    assert len(run(completer, CompletionRequest("x", "\n"))[1].token_ids) == CONFIG.completion.max_tokens


def test_the_configured_drafter_is_used_unless_the_request_says_otherwise() -> None:
    config = CONFIG.model_copy(update={"spec": SpecConfig(drafter="none")})
    request = CompletionRequest(f"def f():\n{LINE}    pass\n    ", "\n")
    answer = LINE.strip()

    assert run(completer_for(answer)[0], request)[1].drafted > 0
    assert run(completer_for(answer, config)[0], request)[1].drafted == 0
    assert run(completer_for(answer, config)[0], replace(request, drafter="ngram"))[1].drafted > 0


def test_no_pass_checks_more_than_the_configured_draft() -> None:
    config = CONFIG.model_copy(update={"spec": SpecConfig(max_draft_tokens=2)})
    completer, target = completer_for(LINE.strip(), config)

    run(completer, CompletionRequest(f"def f():\n{LINE}    pass\n    ", "\n", drafter="ngram"))

    assert max(target.pass_sizes[1:]) == 3


def test_a_long_file_is_cut_to_the_budgets() -> None:
    completer, target = completer_for("ab")

    _, completion = run(completer, CompletionRequest("x = 1\n" * 10**5, "\ny = 2" * 10**5, drafter="none"))

    assert 3 + 100 + 50 < completion.prompt_tokens <= 3 + 200 + 100
    assert completion.text == "ab"
    assert sum(target.pass_sizes) <= completion.prompt_tokens + 3


def test_a_long_answer_leaves_less_room_for_the_prompt() -> None:
    completer, _ = completer_for("ab")

    _, completion = run(completer, CompletionRequest("x = 1\n" * 1000, "\ny = 2" * 1000, max_tokens=450))

    assert completion.prompt_tokens + 450 <= 512
    assert completion.text == "ab"


@pytest.mark.parametrize("max_tokens", [489, 5000])
def test_an_answer_that_leaves_no_room_for_a_prompt_is_refused(max_tokens: int) -> None:
    completer, target = completer_for("ab")

    with pytest.raises(UsageError, match="no room for a prompt"):
        run(completer, CompletionRequest("x", "\n", max_tokens=max_tokens))

    assert target.num_passes == 0
    assert run(completer, CompletionRequest("x", "\n"))[1].text == "ab"


@pytest.mark.parametrize(("prefix", "suffix"), [("", ""), ("\n  ", "\n\n")])
def test_nothing_is_made_up_in_an_empty_file(prefix: str, suffix: str) -> None:
    completion = complete("ab", prefix, suffix)

    assert (completion.text, completion.stop_reason) == ("", "blank")


def test_closing_the_iterator_stops_after_the_pass() -> None:
    completer, target = completer_for("a" * 50)
    items = completer.run(CompletionRequest("x", "\n", drafter="none"), arrived=time.perf_counter())

    for _ in range(3):
        next(items)
    items.close()  # type: ignore[attr-defined]

    assert target.num_passes == 3
    completer.kv.assert_consistent()  # type: ignore[attr-defined]
    assert run(completer, CompletionRequest("x", "\n", max_tokens=3))[1].text == "aaa"


def test_a_model_without_markers_continues_the_prefix_only() -> None:
    script = says(bytes_of("ab"), after=bytes_of("=")[0])
    completer, _ = completer_for(script, markers=())

    _, completion = run(completer, CompletionRequest("x =", "\nnever read"))

    assert completer.fim_name == "prefix-only"
    assert completion.text == "ab"
    assert completion.prompt_tokens == len("x =")


def test_a_model_with_markers_names_its_family() -> None:
    assert completer_for("")[0].fim_name == "qwen"


def test_markers_that_the_users_file_spells_change_nothing() -> None:
    completer, target = completer_for("ab")

    run(completer, CompletionRequest("<|fim_middle|>", "<|fim_prefix|>\n"))

    assert [index for index in completer.kv.token_ids if index >= EOS] == [EOS + 1, EOS + 2, MIDDLE]
    assert target.num_passes > 0


def test_a_cache_is_no_larger_than_the_models_positions() -> None:
    config = CONFIG.model_copy(update={"model": ModelConfig(name="fake", context_tokens=100_000)})

    assert completer_for("", config)[0].kv.capacity_tokens == completer_for("")[1].max_positions


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 50),
    drafter=st.sampled_from(["none", "ngram"]),
    temperature=st.sampled_from([0.0, 0.9]),
    lengths=st.lists(st.integers(1, 9), max_size=4),
    between=st.sampled_from(["", "def other(x):\n    "]),
    max_tokens=st.sampled_from([5, 40]),
)
def test_an_answer_broken_off_and_gone_on_with_is_the_answer(
    seed: int,
    drafter: DrafterChoice,
    temperature: float,
    lengths: list[int],
    between: str,
    max_tokens: int,
) -> None:
    script = babble(PADDED_VOCAB_SIZE, seed=seed, favoured=LIKELY)
    wanted = CompletionRequest(
        "a = abc\nb = ",
        "\nabc = xyz\n",
        max_tokens=max_tokens,
        sampling=SamplingParams(temperature=temperature, seed=seed),
        drafter=drafter,
    )
    whole = run(completer_for(script)[0], wanted)[1]

    completer, target = completer_for(script)
    written = Written()
    for num_items in lengths:
        items = completer.run(wanted, time.perf_counter(), written)
        for _ in range(num_items):
            if isinstance(next(items), Completion):
                return  # it was shorter than that
        assert isinstance(items, Generator)
        items.close()
        if between:
            run(completer, CompletionRequest(between, ""))
    num_passes, known = target.num_passes, len(written.token_ids)
    *chunks, completion = (item for item in completer.run(wanted, time.perf_counter(), written) if item is not None)
    assert isinstance(completion, Completion)
    assert (completion.text, completion.token_ids, completion.stop_reason) == (
        whole.text, whole.token_ids, whole.stop_reason
    )  # fmt: skip
    assert completion.spans == whole.spans
    if drafter == "none":  # only a pass that found the end may have been broken off before that was told
        assert whole.passes <= completion.passes <= whole.passes + len(lengths)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, Chunk)) == whole.text
    assert target.num_passes - num_passes <= whole.passes - known * (drafter == "none")
