"""Other answers at the same place: they differ, begin with the likeliest tokens, and no drafter changes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from completiond.complete.alternatives import alternatives
from completiond.complete.avoiding import Avoiding
from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.config import Config, ModelConfig
from completiond.spec.drafter_names import DrafterChoice
from tests.complete.words import HALVES, load_words
from tests.fake_model import EOS, MIDDLE, PADDED_VOCAB_SIZE, bytes_of, fake_model

CONFIG = Config(model=ModelConfig(name="fake", context_tokens=1024))


def choosing(*texts: str) -> Completer:
    """A model that likes the first of ``texts`` best, the next less, and goes on with what it began."""
    ids = [bytes_of(text) for text in texts]

    def script(seen: Sequence[int]) -> Tensor:
        written = list(seen[len(seen) - list(reversed(seen)).index(MIDDLE) :])
        logits = torch.zeros(PADDED_VOCAB_SIZE)
        for rank, one in enumerate(ids):
            if one[: len(written)] == written:
                next_id = one[len(written)] if len(written) < len(one) else EOS
                logits[next_id] = max(float(logits[next_id]), 50.0 - rank)
        return logits

    model, _ = fake_model(script)
    return Completer(model, CONFIG)


def ask(completer: Completer, count: int, drafter: DrafterChoice = "auto") -> list[str]:
    async def complete(request: CompletionRequest) -> Completion:
        *_, completion = completer.run(request, 0.0)
        assert isinstance(completion, Completion)
        return completion

    async def all_of_them() -> list[str]:
        request = CompletionRequest("x = ", "\n", client_id="me", drafter=drafter)
        first = await complete(request)
        return [first.text, *(one.text for one in await alternatives(complete, request, first, count))]

    return asyncio.run(all_of_them())


def test_the_next_likeliest_beginnings_are_gone_on_with() -> None:
    completer = choosing("alpha", "beta", "gamma", "delta")

    assert ask(completer, 2) == ["alpha", "beta", "gamma"]
    assert ask(completer, 0) == ["alpha"]


def test_what_is_there_already_is_no_alternative() -> None:
    assert ask(choosing("alpha", " alpha", "beta"), 1) == ["alpha", "beta"]


def test_there_may_be_fewer_than_were_asked_for() -> None:
    assert ask(choosing("alpha", "beta"), 5)[:2] == ["alpha", "beta"]
    assert len(set(ask(choosing("alpha", "beta"), 5))) == len(ask(choosing("alpha", "beta"), 5))


def test_alternatives_share_what_was_read_of_the_prompt() -> None:
    completer = choosing("alpha", "beta")
    request = CompletionRequest("y = 1\n" * 50 + "x = ", "\n", client_id="me")
    list(completer.run(request, 0.0))

    *_, other = completer.run(
        CompletionRequest(request.prefix, "\n", client_id="me", avoided_ids=(bytes_of("a")[0],)), 0.0
    )

    assert isinstance(other, Completion)
    assert other.text == "beta"
    assert other.prompt_tokens - other.cached_tokens == 1


@pytest.mark.parametrize("drafter", ["ngram", "lookahead", "draft"])
def test_no_drafter_changes_an_alternative(drafter: DrafterChoice, tmp_path_factory: pytest.TempPathFactory) -> None:
    model = load_words(tmp_path_factory.mktemp("model"))
    for half in HALVES:
        prefix = f"def f(value):\n    return value\n\n\n{half}"
        texts = []
        for kind in ("none", drafter):
            completer = Completer(model, CONFIG.model_copy(update={"model": ModelConfig(name="x", context_tokens=256)}))
            *_, first = completer.run(CompletionRequest(prefix, "\n", drafter="none", max_tokens=12), 0.0)
            assert isinstance(first, Completion)
            wanted = CompletionRequest(prefix, "\n", drafter=kind, max_tokens=12, avoided_ids=first.token_ids[:1])
            *_, other = completer.run(wanted, 0.0)
            assert isinstance(other, Completion)
            texts.append((other.text, other.token_ids))
        assert texts[0] == texts[1]


def test_where_all_tokens_are_avoided_all_may_be_chosen() -> None:
    assert Avoiding(range(4), 7, 4, None).allowed(7) is None
    only = Avoiding([1, 3], 7, 4, None)
    assert only.allowed(6) is None
    allowed = only.allowed(7)
    assert allowed is not None
    assert allowed.tolist() == [0, 2]
