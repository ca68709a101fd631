"""Which drafter a request gets, what it needs, and what is said when that is not there."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from completiond.cache.kv import KVCache
from completiond.complete.completer import Completer
from completiond.complete.heads import find_head
from completiond.complete.request import Completion, CompletionRequest
from completiond.config import Config, ModelConfig, SpecConfig
from completiond.engine.generate import generate
from completiond.engine.load import LoadedModel, load_model
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.errors import ModelUnsupportedError, UsageError
from completiond.models.resolve import resolve
from completiond.paths import Paths
from completiond.spec.best import BestDrafter
from completiond.spec.draft_model import DraftModelDrafter
from completiond.spec.drafter import Draft
from completiond.spec.drafter_names import DRAFTERS, DrafterChoice
from completiond.spec.eagle import EagleDrafter
from completiond.spec.eagle_shape import EagleShape
from completiond.spec.lookahead import LookaheadDrafter
from completiond.spec.medusa import MedusaDrafter
from completiond.spec.ngram import NGramDrafter
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import FixedPolicy, MeasuredPolicy
from completiond.train.draft_vocab import DraftVocab
from completiond.train.eagle_net import EagleNet
from completiond.train.eagle_save import save_head
from completiond.train.medusa_net import MedusaNet
from completiond.train.medusa_save import save_medusa
from tests.engine.random_models import make_folder
from tests.fake_model import fake_model, fake_tokenizer, says

TEXT = "def add(first, second):\n    return first + second\n\n\ndef sub(first, second):\n    return "


@pytest.fixture
def model(tmp_path: Path) -> LoadedModel:
    """A tiny decoder of random weights, with a byte-level tokenizer."""
    folder = make_folder(tmp_path / "model", "qwen2")
    settings = ModelConfig(device="cpu", dtype="int8")
    loaded = load_model(folder, settings, tmp_path / "prepared", lambda share, what: None)
    return replace(loaded, tokenizer=fake_tokenizer())


def make_eagle(target: Any, folder: Path, **about: object) -> Path:
    """A head of random weights for ``target``."""
    torch.manual_seed(0)
    shape = target.shape
    sizes = EagleShape(
        3, shape.hidden_size, 48, shape.num_heads, shape.num_kv_heads, shape.head_dim, shape.vocab_size,
        shape.vocab_size // 2, shape.hidden_size, (0, 1, shape.num_layers), 128, 1e-6, 1e4,
    )  # fmt: skip
    net = EagleNet(sizes, target.weights.embedding)
    vocab = DraftVocab(torch.arange(0, shape.vocab_size // 2 * 2, 2), 1.0)
    save_head(net, vocab, torch.ones(sizes.feature_width), folder)
    return sign(folder, "eagle", **about)


def make_medusa(target: Any, folder: Path, **about: object) -> Path:
    torch.manual_seed(0)
    vocab = DraftVocab(torch.arange(0, 64), 1.0)
    save_medusa(MedusaNet(target.shape.hidden_size, 3, 1, torch.randn(64, target.shape.hidden_size)), vocab, folder)
    return sign(folder, "medusa", **about)


def sign(folder: Path, kind: str, **about: object) -> Path:
    config = json.loads((folder / "config.json").read_text())
    config["completiond"] = {"kind": kind, **about}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def completer_with(model: LoadedModel, *, policy: bool = True, **spec: object) -> Completer:
    completer = Completer(model, Config(spec=SpecConfig.model_validate(spec)))
    if policy:
        completer.policy = MeasuredPolicy(PassCosts({1: 30.0, 8: 36.0, 32: 60.0}), refresh_costs=False)
    return completer


def complete(completer: Completer, drafter: DrafterChoice, temperature: float = 0.0) -> Completion:
    request = CompletionRequest(TEXT, "\n", drafter=drafter, max_tokens=24)
    request = replace(request, sampling=replace(request.sampling, temperature=temperature, seed=5))
    *_, completion = completer.run(request, 0.0)
    assert isinstance(completion, Completion)
    return completion


class CheckAll(FixedPolicy):
    """Random weights are sure of nothing, and what is not checked proves nothing."""

    def trim(self, draft: Draft) -> Draft:
        return draft


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_every_drafter_gives_the_same_answer(model: LoadedModel, temperature: float, tmp_path: Path) -> None:
    eagle, medusa = make_eagle(model.target, tmp_path / "eagle"), make_medusa(model.target, tmp_path / "medusa")
    completer = completer_with(model, policy=False, eagle_head=str(eagle), medusa_heads=str(medusa))
    completer.drafters.use_model = True

    prompt = completer.prompt(CompletionRequest(TEXT, "\n"), 40)
    sampler = Sampler(SamplingParams(temperature=temperature, seed=5))
    answers, drafted = {}, {}
    for name in (*DRAFTERS, *reversed(DRAFTERS)):  # each on what the others left in the cache
        drafter = completer.drafters.get(name)
        drafter.reset(prompt.prefix_ids, (prompt.suffix_ids,))
        kv, target = completer.kv, completer.target
        steps = list(generate(target, kv, prompt.token_ids, drafter, sampler, lambda token: None, 40, 15, CheckAll()))
        answers[name] = tuple(token_id for step in steps for token_id in step.token_ids)
        drafted[name] = sum(step.drafted for step in steps)

    assert len(answers["none"]) == 40
    assert set(answers.values()) == {answers["none"]}
    assert min(drafted[name] for name in ("eagle", "medusa", "lookahead")) > 0, "something was drafted"


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_so_it_does_to_texts_in_turn(model: LoadedModel, temperature: float, tmp_path: Path) -> None:
    """To three that begin alike, on two seats, each by any drafter; heads come when they are first asked for."""
    eagle, medusa = make_eagle(model.target, tmp_path / "eagle"), make_medusa(model.target, tmp_path / "medusa")
    completer = completer_with(model, policy=False, eagle_head=str(eagle), medusa_heads=str(medusa))
    assert isinstance(completer.kv, KVCache)
    assert completer.kv.seats is not None
    sampling = SamplingParams(temperature=temperature, seed=5)
    numbers, texts = random.Random(1), {name: TEXT + name for name in "abc"}
    for number in range(30):
        name, drafter = numbers.choice("abc"), DRAFTERS[number % len(DRAFTERS)]
        texts[name] += numbers.choice(("x = ", "\n", "(", "value"))
        request = CompletionRequest(texts[name], "\n", document_id=name, max_tokens=12, sampling=sampling)
        *_, ours = completer.run(replace(request, drafter=drafter), 0.0)
        *_, plain = completer_with(model, policy=False).run(replace(request, drafter="none"), 0.0)
        assert isinstance(ours, Completion)
        assert isinstance(plain, Completion)
        assert ours.token_ids == plain.token_ids, (number, drafter)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ngram", NGramDrafter), ("draft", DraftModelDrafter), ("lookahead", LookaheadDrafter),
        ("eagle", EagleDrafter), ("medusa", MedusaDrafter),
    ],
)  # fmt: skip
def test_a_drafter_is_chosen_by_request_or_by_setting(
    name: DrafterChoice, kind: type, model: LoadedModel, tmp_path: Path
) -> None:
    heads: dict[str, Any] = {
        "eagle_head": str(make_eagle(model.target, tmp_path / "eagle")),
        "medusa_heads": str(make_medusa(model.target, tmp_path / "medusa")),
    }
    asked, configured = completer_with(model, **heads), completer_with(model, drafter=name, **heads)
    asked.policy = configured.policy = None  # with one, it decides whether a model drafter is asked
    assert isinstance(asked.drafters.get(name), kind)
    assert isinstance(configured.drafters.get("auto"), kind)
    if name != "ngram":
        assert asked.drafters.get(name) is asked.drafters.get(name), "it goes on where the last answer left it"


@pytest.mark.parametrize(
    ("name", "word"), [("eagle", "completiond train eagle"), ("medusa", "completiond train medusa")]
)
def test_without_a_head_it_is_said_how_to_get_one(name: DrafterChoice, word: str, model: LoadedModel) -> None:
    completer = completer_with(model)
    with pytest.raises(UsageError) as caught:
        complete(completer, name)
    assert word in str(caught.value)
    assert not completer.drafters.can(name)


@pytest.mark.parametrize(
    ("choice", "settings", "why"),
    [
        ("auto", {"eagle_head": "nowhere"}, "spec.eagle_head is nowhere, which is no folder"),
        ("auto", {"eagle_head": "."}, "holds no drafting head"),
        ("eagle", {}, "There is no EAGLE head"),
        ("medusa", {"medusa_heads": "nowhere"}, "spec.medusa_heads is nowhere"),
        ("draft", {"draft_model": "/nowhere.gguf"}, "spec.draft_model is /nowhere.gguf"),
    ],
)
def test_one_that_cannot_be_had_at_the_start_is_told_and_costs_no_answer(
    choice: DrafterChoice,
    settings: dict[str, Any],
    why: str,
    model: LoadedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    completer = completer_with(model, drafter=choice, **settings)
    completer.drafters.prepare()
    assert list(completer.refused_drafters) == [choice]
    assert why in str(completer.refused_drafters[choice])
    plain = complete(completer_with(model, drafter="none"), "auto")
    assert complete(completer, "auto").token_ids == plain.token_ids
    assert isinstance(completer.drafters.configured(choice), NGramDrafter)
    assert isinstance(completer.drafters.configured("lookahead"), LookaheadDrafter), "another one can be chosen"


def test_settings_that_ask_for_what_cannot_be_had_leave_the_last_good_drafter(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafters = completer_with(model, drafter="lookahead", draft_model="/nowhere.gguf").drafters
    assert isinstance(drafters.configured("medusa"), LookaheadDrafter), "the one of the start"
    assert isinstance(drafters.configured("auto"), NGramDrafter)
    tries: list[str] = []

    def look(name: str, paths: Paths) -> Path:
        tries.append(name)
        return resolve(name, paths)

    monkeypatch.setattr("completiond.complete.drafters.resolve", look)
    for _ in range(3):
        assert isinstance(drafters.configured("draft"), NGramDrafter)
    assert tries == ["/nowhere.gguf"], "it is not tried for each answer"
    assert list(drafters.refused) == ["medusa", "draft"]
    assert "/nowhere.gguf" in str(drafters.refused["draft"])
    with pytest.raises(UsageError, match="no Medusa heads"):
        drafters.get("medusa")  # who asks for it by name is told


def test_a_head_for_another_model_is_an_error(model: LoadedModel, tmp_path: Path) -> None:
    folder = make_eagle(model.target, tmp_path / "eagle")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "target_hidden_size": 999}))
    with pytest.raises(ModelUnsupportedError, match=r"fc\.weight|not a head for this model"):
        completer_with(model, eagle_head=str(folder)).drafters.get("eagle")


@pytest.mark.parametrize(
    ("acceptances", "is_used"),
    [([0.8, 0.8, 0.8], True), ([0.01, 0.0, 0.0], False), ([0.8] * 40, True)],
    ids=["pays", "does not", "trained for longer drafts than are checked"],
)
def test_auto_keeps_a_head_only_if_it_pays(
    acceptances: list[float], is_used: bool, model: LoadedModel, tmp_path: Path
) -> None:
    folder = make_eagle(model.target, tmp_path / "eagle", acceptances=acceptances)
    completer = completer_with(model, eagle_head=str(folder))
    completer.drafters.prepare()
    assert completer.drafters.use_model is is_used
    assert isinstance(completer.drafters.get("auto"), BestDrafter if is_used else NGramDrafter)
    assert "eagle" not in completer.drafters.loaded or is_used


def test_auto_without_a_head_copies(model: LoadedModel) -> None:
    completer = completer_with(model)
    completer.drafters.prepare()
    assert isinstance(completer.drafters.get("auto"), NGramDrafter)


def test_a_model_that_runs_through_transformers_has_no_heads(tmp_path: Path) -> None:
    completer = Completer(fake_model(says([1, 2, 3]))[0], Config(spec=SpecConfig(eagle_head=str(tmp_path))))
    with pytest.raises(UsageError, match="runs through transformers"):
        completer.drafters.get("eagle")
    assert completer.drafters.can("lookahead")


def test_a_shipped_head_belongs_to_one_file(tmp_path: Path) -> None:
    heads, file = tmp_path / "heads", tmp_path / "model.gguf"
    file.write_bytes(b"x" * 77)
    (heads / "one").mkdir(parents=True)
    (heads / "one" / "config.json").write_text(json.dumps({"completiond": {"kind": "eagle", "model_bytes": 77}}))
    assert find_head("eagle", "", file, heads) == heads / "one"
    assert find_head("medusa", "", file, heads) is None
    file.write_bytes(b"x" * 78)
    assert find_head("eagle", "", file, heads) is None
    assert find_head("eagle", "", None, heads) is None
