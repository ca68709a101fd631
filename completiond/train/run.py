"""A training run from source code to a head in a folder: vocabulary, features, training, card. Each part is kept."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from completiond.complete.completer import Completer
from completiond.engine.decoder import Decoder
from completiond.engine.shape import DecoderShape
from completiond.engine.source import WeightSource, open_source
from completiond.errors import UsageError
from completiond.train.allocator import keep_freed_memory
from completiond.train.corpus import Corpus
from completiond.train.draft_vocab import DraftVocab, count_tokens
from completiond.train.eagle_from import StartHead, read_start, start_from_head
from completiond.train.eagle_net import EagleNet
from completiond.train.eagle_save import save_head
from completiond.train.eagle_start import head_shape, start_from_target
from completiond.train.features import SAMPLES_PER_SHARD, FeatureSettings, FeatureStore
from completiond.train.files import write_whole
from completiond.train.medusa_net import MedusaNet
from completiond.train.medusa_save import save_medusa
from completiond.train.on_policy import OnPolicyWriter
from completiond.train.plan import FEATURE_SHARE, TrainPlan, check_room
from completiond.train.samples import make_samples
from completiond.train.trainer import HeadTrainer, Report, TrainSettings, feature_scale

__all__ = ["TrainedHead", "train_head"]

COUNTED_CHARS = 40_000_000
"""The vocabulary is counted on more text than is trained on: it is cheap, and what it misses cannot be guessed."""
EAGLE_STEPS = 4
"""As many guesses as are usually checked on a CPU; a step that training never made guesses badly (docs/log.md)."""
GOING_ON_RATE = 2e-3
"""Of Muon, for a head that has learnt already; TrainSettings has that of one which has not."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TrainedHead:
    """What a run made, for its card. ``acceptances``: on held-out repositories, by step."""

    folder: Path
    coverage: float
    feature_tokens: int
    seen_tokens: int
    reports: tuple[Report, ...]
    acceptances: tuple[float, ...]


def train_head(
    plan: TrainPlan, completer: Completer, model_file: Path, corpus: Corpus, resume: bool, say: Say
) -> TrainedHead:
    """Train a head for ``completer``'s model. ``say`` is told what is going on, a line at a time.

    Raises UsageError when ``plan.folder`` holds another run, or one that was not asked to be resumed, or one of other
    repositories; and what ``check_room`` raises.
    """
    target = completer.target
    if not isinstance(target, Decoder):
        raise UsageError("Heads are trained for models that the fast decoder runs.", "Choose another model.")
    if plan.work.exists() and not resume:
        raise UsageError(f"{plan.folder} holds a run already.", "Go on with it by --resume, or give another --out.")
    check_room(plan, target.shape)
    keep_freed_memory()
    _check_corpus(plan, corpus)
    start = _start(plan, target.shape)
    vocab = _vocabulary(plan, completer, corpus, start, say)
    store, held_out = _features(plan, completer, corpus, say)
    source = open_source(model_file)
    net, scale = _network(plan, target, source, vocab, store, start)
    # Medusa's heads do not read each other: there is no step that the others depend on.
    settings = TrainSettings(
        hours=plan.hours * (1.0 - FEATURE_SHARE),
        num_steps=_num_steps(plan),
        unroll_every=3 if plan.kind == "eagle" else 1,
        samples_per_batch=plan.samples_per_batch,
    )
    if start is not None:
        settings = replace(settings, matrix_rate=GOING_ON_RATE)
    trainer = HeadTrainer(net, vocab, target.vocab_size, scale, store, held_out, _chooser(target), settings)
    checkpoint = plan.work / "checkpoint.pt"
    if checkpoint.exists():
        trainer.resume(checkpoint)
        say(f"going on after {trainer.seconds / 60:.0f} minutes of training")
    curve = plan.work / "curve.json"
    reports = [report for report in _read_curve(curve) if report.seconds <= trainer.seconds]

    def on_report(report: Report) -> None:
        reports.append(report)
        write_whole(curve, json.dumps([asdict(one) for one in reports]))
        left = settings.hours * 60 - report.seconds / 60
        shares = " ".join(f"{share:.2f}" for share in report.acceptances)
        say(
            f"{report.seconds / 60:.0f} min, {report.tokens} tokens, loss {report.loss:.2f}, accepted by position"
            f" {shares}, about {max(0.0, left):.0f} min left"
        )

    trainer.run(checkpoint, on_report)
    acceptances = tuple(trainer.measure())
    if isinstance(net, EagleNet):
        save_head(net, vocab, scale, plan.folder)
    else:
        save_medusa(net, vocab, plan.folder)
    _sign(plan, model_file, acceptances)
    feature_tokens = store.num_shards * SAMPLES_PER_SHARD * plan.num_tokens
    return TrainedHead(plan.folder, vocab.coverage, feature_tokens, trainer.tokens, tuple(reports), acceptances)


def _read_curve(file: Path) -> list[Report]:
    """The reports of the runs that a resumed one goes on from."""
    if not file.exists():
        return []
    return [
        Report(**{**one, "acceptances": tuple(one["acceptances"])})
        for one in json.loads(file.read_text(encoding="utf-8"))
    ]


def _num_steps(plan: TrainPlan) -> int:
    return EAGLE_STEPS if plan.kind == "eagle" else plan.num_heads


def _check_corpus(plan: TrainPlan, corpus: Corpus) -> None:
    """With others than the run was begun with, one that is held out now could have been learnt from."""
    file = plan.work / "corpus.json"
    names = [[one.name for one in repositories] for repositories in (corpus.training, corpus.held_out)]
    if not file.exists():
        plan.work.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(names))
    elif json.loads(file.read_text(encoding="utf-8")) != names:
        raise UsageError(f"{plan.folder} was begun with other repositories.", "Give the same --data, or another --out.")


def _start(plan: TrainPlan, target: DecoderShape) -> StartHead | None:
    """The head that the run was begun from, whether or not it is named again."""
    file = plan.work / "start"
    if not file.exists():
        write_whole(file, str(plan.start or ""))
    begun_from = file.read_text(encoding="utf-8")
    if plan.start is not None and str(plan.start) != begun_from:
        said = f"was begun from {begun_from}" if begun_from else "was not begun from another head"
        raise UsageError(f"{plan.folder} {said}.", "Leave out --from, or give another --out.")
    return read_start(Path(begun_from), target) if begun_from else None


def _vocabulary(plan: TrainPlan, completer: Completer, corpus: Corpus, start: StartHead | None, say: Say) -> DraftVocab:
    file = plan.work / "vocabulary.json"
    if not file.exists():
        say("counting tokens")
        num_chars = 0
        counts: Counter[int] = Counter()
        for _, _, text in corpus.texts(corpus.training):
            counts += count_tokens([completer.tokenizer.encode(text)])
            num_chars += len(text)
            if num_chars > COUNTED_CHARS:
                break
        vocab_size = completer.target.vocab_size
        always = [token_id for token_id in completer.tokenizer.control_ids if token_id < vocab_size]
        vocab = (
            DraftVocab.most_frequent(counts, plan.draft_vocab_size, always, vocab_size)
            if start is None
            else DraftVocab.of(start.token_ids.tolist(), counts)
        )
        write_whole(file, json.dumps({"ids": vocab.token_ids.tolist(), "coverage": vocab.coverage}))
    stored = json.loads(file.read_text())
    return DraftVocab(torch.tensor(stored["ids"]), stored["coverage"])


def _features(plan: TrainPlan, completer: Completer, corpus: Corpus, say: Say) -> tuple[FeatureStore, FeatureStore]:
    """Read samples until their share of the time is spent; what an earlier run read counts."""
    target: Decoder = completer.target
    layers = head_shape(target.shape, 1, 1, 1).feature_layers if plan.kind == "eagle" else ()
    settings = FeatureSettings(completer.config.model.name, layers, plan.num_tokens)
    writer = OnPolicyWriter(target, completer.tokenizer.stop_ids)
    held_out = FeatureStore(plan.work / "held-out", settings)
    store = FeatureStore(plan.work / "features", settings)
    parts = (
        (held_out, corpus.held_out, plan.num_held_out_shards, float("inf")),
        (
            store,
            corpus.training,
            plan.max_tokens // (SAMPLES_PER_SHARD * plan.num_tokens),
            plan.hours * 3600 * FEATURE_SHARE,
        ),
    )
    for one, repositories, limit, budget_s in parts:
        clock = one.folder / "seconds"
        spent_s = float(clock.read_text()) if clock.exists() else 0.0
        if one.num_shards >= limit or spent_s >= budget_s:
            continue
        samples = make_samples(corpus, repositories, completer.tokenizer, completer.fim, plan.num_tokens)
        samples = itertools.islice(samples, one.num_shards * SAMPLES_PER_SHARD, None)
        started = time.monotonic()
        for number in one.grow(target, samples, writer):
            now_s = spent_s + time.monotonic() - started
            write_whole(clock, str(now_s))
            say(f"features of {number * SAMPLES_PER_SHARD * plan.num_tokens} tokens in {one.folder.name}")
            if number >= limit or now_s >= budget_s:
                break
        if one.num_shards == 0:
            if store.num_shards == 0:
                shutil.rmtree(plan.work)  # nothing was learnt, and the same --out will do for more code
            raise UsageError(
                f"The code is too little for one shard of {SAMPLES_PER_SHARD} samples of {plan.num_tokens} tokens.",
                "Give more, or larger, repositories.",
            )
    return store, held_out


def _network(
    plan: TrainPlan, target: Decoder, source: WeightSource, vocab: DraftVocab, store: FeatureStore,
    start: StartHead | None,
) -> tuple[Any, Tensor]:  # fmt: skip
    """The network as training begins, and what features are divided by."""
    torch.manual_seed(0)
    stored = source.tensor("lm_head.weight")
    stored = source.tensor("model.embed_tokens.weight") if stored is None else stored
    assert stored is not None, "a model has an embedding"
    rows = stored[vocab.token_ids].float()
    if plan.kind == "medusa":
        return MedusaNet(target.shape.hidden_size, plan.num_heads, 1, rows), torch.ones(())
    intermediate_size = plan.intermediate_size if start is None else start.shape.intermediate_size
    shape = head_shape(target.shape, intermediate_size, vocab.token_ids.numel(), plan.num_tokens)
    net = EagleNet(shape, target.weights.embedding.cpu())
    scale = feature_scale(store.load(0))
    if start is None:
        start_from_target(net, source, target.shape.num_layers, rows, scale[-target.shape.hidden_size :])
    else:
        start_from_head(net, start, scale)
    return net, scale


def _chooser(target: Decoder) -> Callable[[Tensor], Tensor]:
    def choose(states: Tensor) -> Tensor:
        rows = target.kernels.rows(states.to(target.device, target.kernels.dtype))
        return target.kernels.linear(rows, target.weights.lm_head).argmax(-1).cpu()

    return choose


def _sign(plan: TrainPlan, model_file: Path, acceptances: tuple[float, ...]) -> None:
    """Say in the head's configuration what it is for, and how good it is where it was measured."""
    file = plan.folder / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["completiond"] = {
        "kind": plan.kind,
        "model_file": model_file.name,
        "model_bytes": model_file.stat().st_size if model_file.is_file() else 0,
        "acceptances": [round(share, 4) for share in acceptances],
    }
    write_whole(file, json.dumps(config, indent=1) + "\n")
