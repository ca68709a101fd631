"""An allocation that fails while an answer is written: the request fails, and nothing else."""

from __future__ import annotations

import pytest
import torch

from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.config import Config, ModelConfig
from completiond.errors import MemoryFullError
from tests.fake_model import bytes_of, fake_model, says

REQUEST = CompletionRequest("x = 1\ny = ", "\n", drafter="none")


def allocate_all() -> None:
    """Raises what torch does, from torch."""
    torch.empty(1 << 58, dtype=torch.uint8)


def answer(completer: Completer) -> Completion:
    *_, completion = completer.run(REQUEST, 0.0)
    assert isinstance(completion, Completion)
    return completion


@pytest.mark.parametrize("pass_before", [0, 2])
def test_the_request_fails_and_the_next_is_answered(pass_before: int) -> None:
    model, target = fake_model(says(bytes_of("abcd")))
    completer = Completer(model, Config(model=ModelConfig(name="fake", context_tokens=512)))
    expected = answer(completer)
    passes = iter(range(100))
    target.before_pass = lambda: allocate_all() if next(passes) == pass_before else None

    with pytest.raises(MemoryFullError, match="while an answer was written") as caught:
        answer(completer)
    assert "smaller model" in caught.value.advice
    assert caught.value.__context__ is None, "what was caught holds the tensors of the pass"
    assert completer.kv.num_tokens == 0

    again = answer(completer)
    assert (again.text, again.cached_tokens) == (expected.text, 0)


def test_reading_in_a_quiet_moment_fails_in_the_same_way() -> None:
    model, target = fake_model(says(bytes_of("abcd")))
    completer = Completer(model, Config(model=ModelConfig(name="fake", context_tokens=512)))
    target.before_pass = allocate_all

    with pytest.raises(MemoryFullError):
        list(completer.read(REQUEST))
    assert completer.kv.num_tokens == 0


def test_other_errors_stay_what_they_are() -> None:
    model, target = fake_model(says(bytes_of("abcd")))
    completer = Completer(model, Config(model=ModelConfig(name="fake", context_tokens=512)))

    def divide() -> None:
        raise ZeroDivisionError

    target.before_pass = divide
    with pytest.raises(ZeroDivisionError):
        answer(completer)
