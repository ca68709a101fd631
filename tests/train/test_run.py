"""A whole run on a small model: from source code to a head that the engine loads, and its card."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from completiond.complete.completer import Completer
from completiond.config import Config
from completiond.engine.decoder import Decoder
from completiond.engine.linear import Weight, pack_weight
from completiond.errors import DiskFullError, UsageError
from completiond.exclude.exclusions import Exclusions
from completiond.spec.eagle_checkpoint import HeadTarget, load_eagle
from completiond.spec.medusa import MedusaDrafter
from completiond.spec.medusa_heads import load_medusa
from completiond.train.card import measure_head, write_card
from completiond.train.corpus import Corpus, find_corpus
from completiond.train.draft_vocab import DraftVocab
from completiond.train.medusa_net import MedusaNet
from completiond.train.medusa_save import save_medusa
from completiond.train.plan import HeadKind, TrainPlan
from completiond.train.run import TrainedHead, train_head
from tests.fake_model import babble, fake_model
from tests.train.conftest import open_small
from tests.train.small import HIDDEN, VOCAB, Clock, code, make_model, make_repositories, small_plan, write


@pytest.fixture(autouse=True)
def short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes whenever the clock is asked; answers that are measured are short."""
    clock = Clock()
    monkeypatch.setattr("completiond.train.trainer.time", SimpleNamespace(monotonic=clock, perf_counter=clock))
    monkeypatch.setattr("completiond.train.trainer.faster_type", lambda: None)
    monkeypatch.setattr("completiond.train.run.time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr("completiond.train.card.TOKENS", 8)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return find_corpus([make_repositories(tmp_path_factory.mktemp("code"))], Exclusions())


def run(
    plan: TrainPlan, completer: Completer, model: Path, corpus: Corpus, resume: bool = False
) -> tuple[TrainedHead, list[str]]:
    said: list[str] = []
    return train_head(plan, completer, model, corpus, resume, said.append), said


def stamps(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("*.safetensors")}


def load(plan: TrainPlan, target: Decoder) -> int:
    """How many tokens the head in the plan's folder can guess; it guesses once."""
    if plan.kind == "eagle":
        lm_head = target.weights.lm_head
        borrowed = target.weights.embedding, lm_head, target.kernels, target.device
        head = load_eagle(plan.folder, HeadTarget(HIDDEN, target.shape.num_layers, VOCAB, *borrowed))
        features = target.forward([1, 2, 3], target.new_cache(8), 0, head.shape.feature_layers).features
        assert features is not None
        state = head.step([4], head.fuse(features[-1:]), head.new_cache(8), 0, [0], None, 0)
        assert bool(head.logits(state).isfinite().all())
        return head.shape.draft_vocab_size

    def rows(token_ids: torch.Tensor | None) -> Weight:
        return pack_weight(target.kernels, target.weights.embedding[token_ids].float(), target.device)

    heads = load_medusa(plan.folder, HIDDEN, VOCAB, target.kernels, target.device, rows)
    assert heads.num_heads == 4
    assert bool(heads.logits(torch.ones(1, HIDDEN)).isfinite().all())
    return heads.draft_vocab_size


@pytest.mark.parametrize("kind", ["eagle", "medusa"])
def test_from_source_code_to_a_head(
    kind: HeadKind, small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path
) -> None:
    plan = small_plan(kind, tmp_path / "new" / "head")
    trained, said = run(plan, small_completer, small_model, corpus)
    assert load(plan, small_completer.target) == 128
    about = json.loads((plan.folder / "config.json").read_text())["completiond"]
    assert about.keys() == {"kind", "model_file", "model_bytes", "acceptances"}
    assert (about["kind"], about["model_file"]) == (kind, "small")
    assert about["acceptances"] == [round(share, 4) for share in trained.acceptances]
    assert len(trained.acceptances) == 4
    assert all(0.0 <= share <= 1.0 for share in trained.acceptances)
    assert trained.feature_tokens in (3 * 16 * 128, 4 * 16 * 128)
    assert trained.seen_tokens > 0
    assert trained.coverage > 0.99
    assert [report.batches > 0 for report in trained.reports] == [True]
    assert said[0] == "counting tokens"
    assert said[1] == "features of 2048 tokens in held-out"
    assert said[2] == "features of 2048 tokens in features"
    assert "accepted by position" in said[-1]
    assert not list(plan.folder.rglob("*.partial"))

    with pytest.raises(UsageError, match=r"holds a run already.*--resume"):
        run(plan, small_completer, small_model, corpus)

    before = stamps(plan.work / "features") | stamps(plan.work / "held-out")
    again, said = run(replace(plan, hours=0.006), small_completer, small_model, corpus, resume=True)
    assert "counting tokens" not in said
    assert any(line.startswith("going on after") for line in said)
    after = stamps(plan.work / "features") | stamps(plan.work / "held-out")
    assert before.items() <= after.items()
    assert again.seen_tokens > trained.seen_tokens
    assert again.reports[:-1] == trained.reports  # the card has the whole curve
    assert again.coverage == trained.coverage


def test_what_is_trained_on_and_measured_on_has_no_text_in_common(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path
) -> None:
    plan = small_plan("medusa", tmp_path)
    run(plan, small_completer, small_model, corpus)
    ids = {}
    for part in ("features", "held-out"):
        files = sorted((plan.work / part).glob("*.safetensors"))
        ids[part] = [tuple(row) for file in files for row in load_file(file)["ids"].tolist()]
        assert len(ids[part]) % 16 == 0
    assert not set(ids["features"]) & set(ids["held-out"])
    held_out = [small_completer.tokenizer.encode(text) for _, _, text in corpus.texts(corpus.held_out)]
    plain = [row for row in ids["held-out"] if max(row) < 256]
    assert plain
    texts = [bytes(text) for text in held_out]
    assert all(any(bytes(row) in text for text in texts) for row in plain)


def test_a_run_that_was_broken_off_in_its_features_goes_on(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan("medusa", tmp_path)
    target, passes = small_completer.target, [0]
    plain_forward = target.forward

    def forward(*arguments: Any) -> Any:
        passes[0] += 1
        if passes[0] == 16 + 16 + 5:
            raise KeyboardInterrupt
        return plain_forward(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(target, "forward", forward)
        with pytest.raises(KeyboardInterrupt):
            run(plan, small_completer, small_model, corpus)
    before = stamps(plan.work / "features") | stamps(plan.work / "held-out")
    assert before.keys() == {"000000.safetensors"}
    trained, said = run(plan, small_completer, small_model, corpus, resume=True)
    assert "features of 4096 tokens in features" in said
    assert not any("held-out" in line for line in said)
    assert trained.feature_tokens > 2048
    first, second = (load_file(plan.work / "features" / f"00000{number}.safetensors")["ids"] for number in (0, 1))
    assert not set(map(tuple, first.tolist())) & set(map(tuple, second.tolist())), "no sample was read twice"
    assert load(plan, target) == 128


def test_features_of_another_kind_of_head_are_not_taken(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path
) -> None:
    run(small_plan("medusa", tmp_path), small_completer, small_model, corpus)
    with pytest.raises(UsageError, match="features of another run"):
        run(small_plan("eagle", tmp_path), small_completer, small_model, corpus, resume=True)


def test_a_run_goes_on_with_the_same_repositories_only(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path
) -> None:
    plan = small_plan("medusa", tmp_path / "head")
    run(plan, small_completer, small_model, corpus)
    others = [
        Corpus(corpus.training[:1], corpus.held_out),
        Corpus((*corpus.held_out, *corpus.training[1:]), corpus.training[:1]),
        find_corpus([make_repositories(tmp_path / "code", ("ant", "bee", "cat", "dog"))], Exclusions()),
    ]
    for other in others:
        with pytest.raises(UsageError, match=r"was begun with other repositories.*same --data"):
            run(plan, small_completer, small_model, other, resume=True)
    moved = find_corpus([make_repositories(tmp_path / "moved")], Exclusions())
    run(plan, small_completer, small_model, moved, resume=True)


def test_a_run_goes_on_from_a_head(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = small_plan("eagle", tmp_path / "first")
    run(first, small_completer, small_model, corpus)
    plan = replace(
        small_plan("eagle", tmp_path / "second"), start=first.folder, draft_vocab_size=7, intermediate_size=5
    )
    monkeypatch.setattr("completiond.train.run.GOING_ON_RATE", 0.0)  # so that it stays what it was
    run(plan, small_completer, small_model, corpus)
    before, after = (load_file(one.folder / "model.safetensors") for one in (first, plan))
    assert before.keys() == after.keys()
    assert torch.equal(before["d2t"], after["d2t"])
    name = "midlayer.mlp.down_proj.weight"
    assert torch.equal(before[name], after[name])
    run(replace(plan, start=None), small_completer, small_model, corpus, resume=True)
    with pytest.raises(UsageError, match=r"was begun from .*first.*Leave out --from"):
        run(replace(plan, start=tmp_path), small_completer, small_model, corpus, resume=True)
    with pytest.raises(UsageError, match=r"was not begun from another head.*Leave out --from"):
        run(replace(first, start=plan.folder), small_completer, small_model, corpus, resume=True)


def test_too_little_code_is_said(small_completer: Completer, small_model: Path, tmp_path: Path) -> None:
    write(tmp_path / "code", {"a/x.py": code(1), "b/y.py": code(2)})
    little = find_corpus([tmp_path / "code"], Exclusions())
    with pytest.raises(UsageError, match=r"too little for one shard of 16 samples of 128 tokens.*Give more"):
        run(small_plan("medusa", tmp_path / "head"), small_completer, small_model, little)
    assert not small_plan("medusa", tmp_path / "head").work.exists(), "the same folder will do for more code"


def test_no_room_is_said_before_anything_is_written(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("completiond.train.plan.free_bytes", lambda folder: 1000)
    plan = small_plan("eagle", tmp_path / "head")
    with pytest.raises(DiskFullError, match=r"1\.0 kB are free"):
        run(plan, small_completer, small_model, corpus)
    assert not plan.folder.exists()


def test_a_model_that_the_fast_decoder_does_not_run_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    model, _ = fake_model(babble(272))
    with pytest.raises(UsageError, match="fast decoder"):
        run(small_plan("eagle", tmp_path / "head"), Completer(model, Config()), tmp_path, corpus)


def test_the_card(small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path) -> None:
    plan = small_plan("eagle", tmp_path)
    trained, said = run(plan, small_completer, small_model, corpus)
    card = write_card(trained, plan, small_completer, small_model, corpus, said.append)
    assert card == tmp_path / "card.md"
    assert said[-1] == "measuring the head in the engine"
    text = card.read_text()
    assert text.startswith("# EAGLE-3 head for ")
    assert "Trained with `completiond train eagle` in 0.003 hours." in text
    size = (tmp_path / "model.safetensors").stat().st_size
    assert f" {size / 1e6:.1f} MB." in text
    curve, engine, data = (text.split(f"## {title}\n")[1] for title in ("Learning curve", "In the engine", "Data"))
    report = trained.reports[-1]
    shares = " ".join(f"{share:.3f}" for share in report.acceptances)
    assert f"| {report.tokens} | {report.loss:.3f} | {shares} |" in curve
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in engine.splitlines() if "| " in line][1:]
    assert [row[:3] for row in rows] == [
        [work, name, "6"] for work in ("fill", "continuation") for name in ("eagle", "ngram", "none")
    ]
    assert {row[6] for row in rows if row[1] == "none"} == {"1.00"}
    assert all(float(row[5]) > 0 for row in rows)
    held_out, training = (
        ", ".join(one.name for one in repositories) for repositories in (corpus.held_out, corpus.training)
    )
    assert f"Held out: {held_out}." in data
    assert f"Trained on: {training}." in data
    assert max(map(len, text.splitlines())) < 300


def test_every_drafter_gives_plain_decodings_answer(
    small_completer: Completer, small_model: Path, corpus: Corpus, tmp_path: Path
) -> None:
    plan = small_plan("medusa", tmp_path)
    run(plan, small_completer, small_model, corpus)
    spec = small_completer.config.spec.model_copy(update={"medusa_heads": str(tmp_path)})
    prompt = small_completer.config.prompt.model_copy(update={"prefix_tokens": 200, "suffix_tokens": 64})
    config = small_completer.config.model_copy(update={"spec": spec, "prompt": prompt})
    result = measure_head(Completer(small_completer.model, config, small_model), corpus, "medusa", num_places=3)
    for work in ("fill", "continuation"):
        assert {row["equal"] for row in result[work].values()} == {3}
        assert result[work]["medusa"]["drafted"] > 0
        assert result[work]["none"]["drafted"] == 0


def test_heads_are_measured_with_the_models_own_product(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model whose product with the vocabulary is not its embedding."""
    model = make_model(tmp_path / "untied", tied=False)
    completer = open_small(model, tmp_path / "prepared")
    rows = load_file(model / "model.safetensors")["lm_head.weight"]
    plan = small_plan("medusa", tmp_path / "head")
    kept = DraftVocab.most_frequent(Counter(), 40, (), VOCAB)
    save_medusa(MedusaNet(HIDDEN, 2, 1, rows[kept.token_ids]), kept, plan.folder)
    measured: list[Completer] = []

    def measure(own: Completer, *_: Any) -> dict[str, Any]:
        measured.append(own)
        return {}

    monkeypatch.setattr("completiond.train.card.measure_head", measure)
    trained = TrainedHead(plan.folder, 1.0, 1, 1, (), (0.5, 0.5))
    write_card(trained, plan, completer, model, corpus, lambda line: None)
    drafter = measured[0].drafters.get("medusa")
    assert isinstance(drafter, MedusaDrafter)
    state = torch.randn(1, HIDDEN, generator=torch.Generator().manual_seed(1))
    for logits in drafter.heads.logits(state):
        assert torch.nn.functional.cosine_similarity(logits, (state @ rows[kept.token_ids].T)[0], 0) > 0.99
