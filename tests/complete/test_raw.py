"""Prompts that a program puts together itself: read as they are, and gone on with as plain decoding would."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from completiond.complete.completer import Completer
from completiond.complete.limits import Limits
from completiond.complete.raw import raw_prompt
from completiond.complete.request import Chunk, Completion, CompletionRequest, OtherText
from completiond.config import CompletionConfig, Config, ExcludeConfig, ModelConfig
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import UsageError
from completiond.spec.drafter_names import DrafterChoice
from tests.complete.words import load_words
from tests.fake_model import EOS, MIDDLE, Script, bytes_of, fake_model, says

CONFIG = Config(model=ModelConfig(name="fake", context_tokens=512), completion=CompletionConfig(max_tokens=60))
FIM = "<|fim_prefix|>def f():\n<|fim_suffix|>\nprint()\n<|fim_middle|>"


def completer_for(script: Script | str, config: Config = CONFIG) -> Completer:
    model, _ = fake_model(says(bytes_of(script)) if isinstance(script, str) else script)
    return Completer(model, config)


def run(completer: Completer, request: CompletionRequest) -> Completion:
    *items, completion = completer.run(request, time.perf_counter())
    assert isinstance(completion, Completion)
    assert "".join(item.text for item in items if isinstance(item, Chunk)) == completion.text
    return completion


def raw(prompt: str, limits: Limits = Limits(), drafter: DrafterChoice = "auto") -> CompletionRequest:  # noqa: B008
    return CompletionRequest(prompt, "", is_raw=True, is_exact=True, limits=limits, drafter=drafter)


def test_control_tokens_are_what_they_spell_and_text_is_text() -> None:
    completer = completer_for("x")

    prompt = raw_prompt(raw(FIM), completer.tokenizer, completer.fim, 512)

    assert prompt.token_ids == (257, *bytes_of("def f():\n"), 258, *bytes_of("\nprint()\n"), MIDDLE)
    assert prompt.prefix_ids == tuple(bytes_of("def f():\n")), "what the answer continues"
    assert prompt.suffix_ids == tuple(bytes_of("\nprint()\n"))
    assert raw_prompt(raw("a<b"), completer.tokenizer, completer.fim, 512).token_ids == tuple(bytes_of("a<b"))


def test_a_prompt_in_tokens_is_read_as_it_is() -> None:
    completer = completer_for("abc")
    ids = (*bytes_of("x"), MIDDLE)
    request = CompletionRequest("", "", is_raw=True, prompt_ids=ids, limits=Limits(max_tokens=2))

    assert raw_prompt(request, completer.tokenizer, completer.fim, 512).token_ids == ids
    assert run(completer, request).text == "ab"
    with pytest.raises(UsageError, match="99999"):
        run(completer, CompletionRequest("", "", is_raw=True, prompt_ids=(99999,)))


def test_no_rule_of_ours_ends_or_shapes_it() -> None:
    text = "  \n\n\n    a\nb\nb\nb\nb\n\tprint()\n\n  "

    found = run(completer_for(text), raw(FIM))

    assert (found.text, found.stop_reason) == (text, "eos")
    assert "".join(token.text for token in found.tokens) == text
    assert all(token.logprob <= 0 for token in found.tokens)


@pytest.mark.parametrize(
    ("limits", "text", "reason"),
    [
        (Limits(max_tokens=3), "one", "length"),
        (Limits(stop=("tw",)), "one\n    ", "stop"),
        (Limits(min_indent=4), "one\n    two\n", "indent"),
        (Limits(), "one\n    two\nthree", "eos"),
    ],
)
def test_what_the_request_sets_ends_it(limits: Limits, text: str, reason: str) -> None:
    found = run(completer_for("one\n    two\nthree"), raw(FIM, limits))

    assert (found.text, found.stop_reason) == (text, reason)
    assert found.stop_word == ("tw" if reason == "stop" else "")


def test_a_prompt_alone_is_read_and_is_found_again() -> None:
    completer = completer_for("abc")

    read = run(completer, raw(FIM, Limits(max_tokens=0)))
    found = run(completer, raw(FIM))

    assert (read.text, read.token_ids, read.stop_reason) == ("", (), "length")
    assert found.text == "abc"
    assert found.cached_tokens == found.prompt_tokens - 1


def test_a_prompt_that_leaves_no_room_is_refused_and_a_long_answer_is_cut() -> None:
    completer = completer_for("x" * 600)

    for num_chars in (600, 5_000_000):
        with pytest.raises(UsageError, match=r"model\.context_tokens"):
            run(completer, raw("y" * num_chars))
    found = run(completer, raw("y" * 500 + "<|fim_middle|>", Limits(max_tokens=10_000)))
    assert (len(found.token_ids), found.stop_reason) == (512 - 501, "length")


def test_a_limit_narrows_a_fill_and_never_widens_it() -> None:
    fill = CompletionRequest("def f():\n    ", "\n", limits=Limits(max_tokens=500))
    config = CONFIG.model_copy(update={"completion": CompletionConfig(max_tokens=4)})

    assert run(completer_for("one two", config), fill).text == "one"
    assert run(completer_for("one two"), CompletionRequest("x = ", "\n", limits=Limits(stop=(" two",)))).text == "one"
    assert run(completer_for("one two"), CompletionRequest("x = ", "\n", limits=Limits(max_tokens=2))).text == "on"


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("drafter", ["auto", "ngram", "draft", "lookahead"])
def test_no_drafter_changes_it(drafter: DrafterChoice, temperature: float, tmp_path: Path) -> None:
    completer = Completer(load_words(tmp_path), CONFIG)
    text = "<|fim_prefix|>value = def value\nvalue = def value\n<|fim_suffix|>\nret<|fim_middle|>"
    request = CompletionRequest(
        text, "", is_raw=True, is_exact=True, drafter=drafter, sampling=SamplingParams(temperature, seed=5),
        limits=Limits(max_tokens=48, stop=("\nx",)), others=(OtherText("b.py", "value = def value\n" * 3),),
    )  # fmt: skip
    plain = CompletionRequest(
        text, "", is_raw=True, is_exact=True, drafter="none", sampling=request.sampling, limits=request.limits
    )

    assert run(completer, request).token_ids == run(completer, plain).token_ids
    assert run(completer, request).text == run(completer, plain).text


def accepted(other: OtherText, config: Config = CONFIG) -> int:
    """How much of an answer was drafted from a text that the request brings."""
    answer = "password = 'aB3dE6gH9jK2mN5p'"
    completer = completer_for(says(bytes_of(answer)), config)
    return run(completer, CompletionRequest("# x\n", "\n", drafter="ngram", others=(other,))).accepted


def test_texts_that_come_along_are_drafted_from_but_no_secrets_and_no_excluded_files() -> None:
    completer = completer_for("total = first + second")
    other = OtherText("b.py", "x = 1\ntotal = first + second\n")
    found = run(completer, CompletionRequest("# x\n", "\n", drafter="ngram", others=(other,)))
    assert found.accepted > 10

    secret = "password = 'aB3dE6gH9jK2mN5p'\n"
    assert accepted(OtherText("b.py", secret)) <= 2
    excluding = CONFIG.model_copy(update={"exclude": ExcludeConfig(globs=("*.sql",))})
    plain = completer_for("total = first + second", excluding)
    kept_out = OtherText("/p/b.sql", other.text)
    assert run(plain, CompletionRequest("# x\n", "\n", drafter="ngram", others=(kept_out,))).accepted <= 2
    assert EOS not in found.token_ids
