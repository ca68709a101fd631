"""Half a word is taken back and written again: exactly, by every drafter, and over every cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.complete.completer import Completer
from completiond.complete.healing import Healer, Healing
from completiond.complete.vocabulary import Vocabulary, allowed_naive
from completiond.config import Config, SpecConfig
from completiond.engine.constrained import ConstrainedSampler
from completiond.engine.generate import generate
from completiond.engine.load import LoadedModel
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft, Drafter, NoDrafter, TextDrafter, Verified
from completiond.spec.drafter_names import DRAFTERS
from completiond.spec.tree import chain_parents
from tests.complete.test_drafters import CheckAll, make_eagle, make_medusa
from tests.complete.vocabularies import piece_tokenizer
from tests.complete.words import HALVES, SPELLINGS, TOKENIZER, VOCAB_SIZE, VOCABULARY, load_words


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_words(tmp_path_factory.mktemp("healing"))


def take_back(prefix: str) -> tuple[str, str]:
    kept, taken = Healer(VOCABULARY).take_back(prefix, TOKENIZER.encode(prefix))
    return TOKENIZER.decode(kept), taken


@pytest.mark.parametrize(
    ("prefix", "taken"),
    [
        ("x = va", "va"), ("x = v", "v"), ("x va", "va"), ("x = value", ""), ("x value", ""), ("return", ""),
        ("retre", "re"), ("x.de", "de"), ("def", ""), ("x = ", ""), ("x(", ""), ("", ""), ("v", "v"), ("_é", "é"),
        ("_ü", "ü"), ("_ó", ""), ("va\n", ""), ("x", ""), ("🙂", ""),
    ],
)  # fmt: skip
def test_what_is_taken_back(prefix: str, taken: str) -> None:
    assert take_back(prefix) == (prefix.removesuffix(taken), taken)


@given(st.text(st.sampled_from("reva dlufé_ü\n("), max_size=12))
def test_what_is_taken_back_is_the_end_of_the_text_and_a_token_goes_on_from_it(prefix: str) -> None:
    kept, taken = take_back(prefix)

    assert kept + taken == prefix
    if taken:
        assert taken.isalnum()
        assert any(spelled.startswith(taken.encode()) and spelled != taken.encode() for spelled in SPELLINGS.values())


def test_a_blank_that_is_not_there_is_not_taken_back() -> None:
    tokenizer = piece_tokenizer(["<s>"])
    healer = Healer(Vocabulary({15: b" a", 16: b"ab", 2: b"a", 3: b"b", 40: b" ab"}))

    assert healer.take_back("a", tokenizer.encode("a")) == ([15], "")
    assert healer.take_back("x a", tokenizer.encode("x a")) == ([1, 6], " a")


def test_a_tokenizer_that_changes_the_text_is_left_alone() -> None:
    assert Healer(VOCABULARY).take_back("VA", TOKENIZER.encode("va")) == (TOKENIZER.encode("va"), "")


def test_a_token_that_may_not_be_written_is_not_taken_back() -> None:
    without = Vocabulary({index: spelled for index, spelled in SPELLINGS.items() if spelled != b"va"})

    assert Healer(without).take_back("x = va", TOKENIZER.encode("x = va")) == (TOKENIZER.encode("x = va"), "")


def plain(model: LoadedModel, prompt_ids: Sequence[int], taken: str, params: SamplingParams, count: int) -> list[int]:
    """The oracle: a token at a time, of a fresh reading, among all that a look at every token allows."""
    ids, rest, sampler = list(prompt_ids), taken.encode(), Sampler(params)
    for _ in range(count):
        logits = model.target.forward(ids, model.target.new_cache(len(ids)), 1).logits[0]
        if rest:
            allowed = allowed_naive(SPELLINGS, rest)
            token_id = allowed[sampler.sample(logits[allowed], len(ids))]
            rest = rest[len(SPELLINGS[token_id]) :]
        else:
            token_id = sampler.sample(logits, len(ids))
        ids.append(token_id)
    return ids[len(prompt_ids) :]


class Knowing(TextDrafter):
    """Drafts the answer, as one branch of a tree, beside what the constraint forbids."""

    def __init__(self, answer: Sequence[int], is_tree: bool) -> None:
        self.answer, self.is_tree = list(answer), is_tree

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None: ...

    def propose(self, budget: int) -> Draft:
        right = self.answer[: max(0, budget - 2)]
        if not self.is_tree or not right:
            return Draft(tuple(right), (0.9,) * len(right), "knowing")
        wrong = [index for index in (0, 1, 2) if index != right[0]][:2]
        parents = (-1, -1, *(node + 2 if node >= 0 else -1 for node in chain_parents(len(right))))
        return Draft((*wrong, *right), (0.1, 0.1, *(0.9,) * len(right)), "knowing", parents=parents)

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        del self.answer[: len(token_ids)]


def run(
    model: LoadedModel, kv: Any, drafter: Drafter, prefix: str, params: SamplingParams, healing: type[Healing] = Healing
) -> tuple[list[int], int, int]:
    """Tokens, passes and accepted guesses of 12 tokens behind ``prefix``, of which half a word was taken back."""
    kept, taken = Healer(VOCABULARY).take_back(prefix, TOKENIZER.encode(prefix))
    drafter.reset(kept)
    sampler = ConstrainedSampler(params, healing(VOCABULARY, taken, len(kept)))
    steps = list(generate(model.target, kv, kept, drafter, sampler, lambda token: None, 12, 15, CheckAll()))
    ids = [token_id for step in steps for token_id in step.token_ids]
    return ids, len(steps), sum(step.accepted for step in steps)


PARAMS = [SamplingParams(), SamplingParams(0.8, seed=5), SamplingParams(1.5, 8, 0.9, seed=2)]


@pytest.mark.parametrize("params", PARAMS, ids=lambda params: f"temperature {params.temperature}")
def test_every_drafter_writes_what_plain_decoding_under_the_same_constraint_does(
    model: LoadedModel, params: SamplingParams, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("heads")
    eagle, medusa = make_eagle(model.target, folder / "eagle"), make_medusa(model.target, folder / "medusa")
    completer = Completer(model, Config(spec=SpecConfig(eagle_head=str(eagle), medusa_heads=str(medusa))))
    completer.drafters.use_model = True
    text = "def f(value):\n    return value\n\nü = def\nét = "
    for half in HALVES:
        kept, taken = Healer(VOCABULARY).take_back(text + half, TOKENIZER.encode(text + half))
        expected = plain(model, kept, taken, params, 12)
        written = b"".join(SPELLINGS.get(index, b"") for index in expected)
        assert written.startswith(taken.encode())
        for name in DRAFTERS:  # each on what the others left in the cache
            drafter = completer.drafters.get(name)
            assert run(model, completer.kv, drafter, text + half, params)[0] == expected, (half, name)
        for is_tree in (False, True):
            ids, passes, accepted = run(model, completer.kv, Knowing(expected, is_tree), text + half, params)
            assert ids == expected
            assert accepted + passes == 12
            assert passes <= 3, "drafts are accepted where the constraint holds too"


class Forgetful(Healing):
    """A mutant: anything goes at the second place."""

    def __init__(self, vocabulary: Vocabulary, text: str, start: int) -> None:
        super().__init__(vocabulary, text, start)
        self.second = start + 1

    def allowed(self, position: int) -> Tensor | None:
        return None if position == self.second else super().allowed(position)


class Lazy(Healing):
    """A mutant: what is written is not taken off what is to be written."""

    def chose(self, position: int, token_id: int) -> None:
        self._rest[position + 1] = self._rest.get(position, b"")


@pytest.mark.parametrize("mutant", [Forgetful, Lazy])
def test_a_constraint_that_is_wrong_at_one_place_is_noticed(model: LoadedModel, mutant: type[Healing]) -> None:
    kv = model.target.new_cache(200)
    wrong = 0
    for seed in range(12):
        params = SamplingParams(3.0, seed=seed)
        kept, taken = TOKENIZER.encode("x = "), "retval"
        sampler = ConstrainedSampler(params, mutant(VOCABULARY, taken, len(kept)))
        steps = generate(model.target, kv, kept, NoDrafter(), sampler, lambda token: None, 12, 0)
        ids = [token_id for step in steps for token_id in step.token_ids]
        wrong += ids != plain(model, kept, taken, params, 12)
    assert wrong > 6


@settings(deadline=None, max_examples=40)
@given(text=st.text(st.sampled_from("retvalue déü"), min_size=1, max_size=8), seed=st.integers(0, 10**6))
def test_any_text_can_be_written_whatever_the_model_wants(text: str, seed: int) -> None:
    healing = Healing(VOCABULARY, text, start=5)
    sampler, written = ConstrainedSampler(SamplingParams(2.0, seed=seed), healing), b""
    for position in range(5, 5 + 3 * len(text.encode())):
        logits = 4 * torch.randn(VOCAB_SIZE, generator=torch.Generator().manual_seed(seed + position))
        token_id = sampler.sample(logits, position)
        written += SPELLINGS.get(token_id, b"")

    assert written.startswith(text.encode())


def test_what_stands_there_already_is_not_asked_for_again() -> None:
    start, (r, e) = 7, TOKENIZER.encode("r") + TOKENIZER.encode("e")

    none, one, all_ = (Healing(VOCABULARY, "ret", start, known) for known in ((), (r,), (r, *TOKENIZER.encode("et"))))

    assert none.allowed(start + 1) is None, "before the first is chosen, nothing is known of the second"
    allowed = one.allowed(start + 1)
    assert allowed is not None
    assert [SPELLINGS[index] for index in allowed.tolist()] == [b"e"]
    assert all_.allowed(start + 3) is None
    assert e in allowed
