"""What the settings of ``[completion]`` make of a suggestion, with a model that says what it is told to; ``§`` is the
cursor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from completiond.complete.completer import Completer
from completiond.complete.request import Chunk, Completion, CompletionRequest
from completiond.config import CompletionConfig, Config, ModelConfig
from tests.fake_model import EOS, MIDDLE, PADDED_VOCAB_SIZE, bytes_of, fake_model


def completer(answer: str, confidence: float = 1.0) -> Completer:
    """``confidence``: the probability of each of the answer's tokens, but for rounding; EOS has the rest."""
    ids = bytes_of(answer)

    def script(seen: Sequence[int]) -> Tensor:
        done = list(reversed(seen)).index(MIDDLE)
        logits = torch.full((PADDED_VOCAB_SIZE,), -50.0)
        logits[EOS] = math.log(1.0 - confidence) if confidence < 1.0 else -50.0
        logits[ids[done] if done < len(ids) else EOS] = math.log(confidence)
        return logits

    model, _ = fake_model(script)
    return Completer(model, Config(model=ModelConfig(name="fake", context_tokens=1024)))


def answer(completer: Completer, text: str, path: str = "", **settings: Any) -> Completion:
    prefix, suffix = text.split("§")
    config = completer.config.model_copy(update={"completion": CompletionConfig(**settings)})
    request = CompletionRequest(prefix, suffix, path=path, client_id="me", settings=config)
    *parts, completion = completer.run(request, 0.0)
    assert isinstance(completion, Completion)
    assert "".join(part.text for part in parts if isinstance(part, Chunk)) == completion.text
    return completion


@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        ("def f():\n    §\n", "a = 1\n    b = 2\n", "a = 1"),
        ("def f():§\n", "\n    a = 1\n    b = 2\n", "\n    a = 1"),
        ("x = §\n", "[\n    1,\n]\n", "["),
        ("f(§)\n", "a, b)\n", "a, b"),
    ],
)
def test_an_answer_has_one_line_where_no_more_are_wanted(text: str, written: str, expected: str) -> None:
    assert answer(completer(written), text, multiline=False).text == expected


def test_an_answer_may_have_more_lines_by_itself() -> None:
    assert answer(completer("a = 1\n    b = 2\n"), "def f():\n    §\n").text == "a = 1\n    b = 2"


def test_comments_and_strings_are_left_alone_where_that_is_wanted() -> None:
    model = completer("word")

    for text, setting in (("x = 1  # a §\n", "in_comments"), ("x = 'a §'\n", "in_strings")):
        assert answer(model, text, "a.py").text == "word"
        off = answer(model, text, "a.py", **{setting: False})
        assert (off.text, off.passes, off.stop_reason) == ("", 0, f"off: completion.{setting}")
        other = {"in_comments", "in_strings"} - {setting}
        assert answer(model, text, "a.py", **{other.pop(): False}).text == "word"
    assert answer(model, "x = §\n", "a.py", in_comments=False, in_strings=False).text == "word"


@pytest.mark.parametrize("name", ["python", "Python"])
def test_a_language_without_suggestions_may_be_written_large(name: str) -> None:
    off = answer(completer("1"), "x = §\n", "a.py", disabled_languages=(name,))

    assert (off.text, off.stop_reason) == ("", "off: completion.disabled_languages")


def test_an_answer_is_shown_only_if_the_model_is_as_sure_of_it_as_it_should_be() -> None:
    for text, written in (("def f():\n    §\n", "alpha = 1\n    beta = 2\n"), ("f(§)\n", "alpha"), ("x = §\n", "1")):
        sure = answer(completer(written, 0.8), text, min_confidence=75)
        unsure = answer(completer(written, 0.7), text, min_confidence=75)

        assert sure.text == written.rstrip("\n")
        assert (unsure.text, unsure.token_ids, unsure.stop_reason) == ("", (), "confidence")


def test_an_answer_that_is_not_shown_takes_no_pass_behind_its_first_line() -> None:
    unsure = answer(completer("a = 1\n    beta = 2\n", 0.7), "def f():\n    §\n", min_confidence=75)

    assert unsure.passes <= len("a = 1\n")


TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def test_what_a_model_reads_in_the_place_of_secrets_is_not_suggested() -> None:
    hidden = answer(completer("*" * len(TOKEN)), f"a = '{TOKEN}'\nf('§')\n")
    assert (hidden.text, hidden.token_ids, hidden.stop_reason) == ("", (), "secret")
    assert answer(completer('f("********")\n'), f"a = '{TOKEN}'\ny = §\n").text == 'f("'


def test_rows_of_asterisks_are_suggested_where_no_secret_was_hidden() -> None:
    assert answer(completer("/********/\n"), "int a;\n§\n", "a.c").text == "/********/"
