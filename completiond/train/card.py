"""What became of a training run, measured with the real engine on held-out code, and written down beside the head."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from completiond.bench.drafters import DrafterRun, drafters_json, run_drafters
from completiond.complete.completer import Completer
from completiond.config import PromptConfig
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter_names import DrafterChoice
from completiond.train.corpus import Corpus
from completiond.train.plan import TrainPlan
from completiond.train.run import TrainedHead

__all__ = ["measure_head", "write_card"]

NUM_PLACES = 16
TOKENS = 64


def measure_head(
    completer: Completer, corpus: Corpus, kind: DrafterChoice, num_places: int = NUM_PLACES, temperature: float = 0.0
) -> dict[str, Any]:
    """``num_places`` fills and as many continuations in held-out files: the head, copies and plain decoding."""
    names: tuple[DrafterChoice, ...] = (kind, "ngram", "none")
    return drafters_json(list(_runs(completer, corpus, names, num_places, temperature)), names)


def _runs(
    completer: Completer, corpus: Corpus, names: tuple[DrafterChoice, ...], num_places: int, temperature: float
) -> Iterator[DrafterRun]:
    sampler, at_place = Sampler(SamplingParams(temperature=temperature)), run_drafters(names)
    randomness = random.Random(0)
    for number, (_, _, text) in enumerate(corpus.texts(corpus.held_out)):
        if number == num_places:
            return
        line = text.find("\n", randomness.randrange(len(text) // 4, len(text) * 3 // 4)) + 1
        end = text.find("\n", line)
        at = randomness.randrange(line, max(line, end) + 1)
        if completer.fim is not None:
            yield at_place("fill", text[:at], text[max(at, end) :], None, completer, sampler, TOKENS)
        yield at_place("continuation", text[:at], "", None, completer, sampler, TOKENS, False)


def write_card(
    trained: TrainedHead,
    plan: TrainPlan,
    completer: Completer,
    model_file: Path,
    corpus: Corpus,
    say: Callable[[str], None],
) -> Path:
    """Measure, and write ``card.md`` into the head's folder; returns its path. ``model_file``: what ``completer``'s
    model was loaded from.
    """
    say("measuring the head in the engine")
    field = "eagle_head" if plan.kind == "eagle" else "medusa_heads"
    spec = completer.config.spec.model_copy(update={field: str(plan.folder)})
    room = completer.kv.capacity_tokens - TOKENS - 8  # for a prompt, as in Completer.prompt
    suffix_tokens = min(completer.config.prompt.suffix_tokens, room // 4)
    prefix_tokens = min(completer.config.prompt.prefix_tokens, room - suffix_tokens)
    prompt = PromptConfig(prefix_tokens=prefix_tokens, suffix_tokens=suffix_tokens)
    cache = completer.config.cache.model_copy(update={"suffix": "exact"})
    config = completer.config.model_copy(update={"spec": spec, "prompt": prompt, "cache": cache})
    own = Completer(completer.model, config, model_file)
    own.policy = completer.policy
    result = measure_head(own, corpus, plan.kind)
    file = plan.folder / "card.md"
    file.write_text(_card(trained, plan, completer.config.model.name, corpus, result), encoding="utf-8")
    return file


def _card(
    trained: TrainedHead, plan: TrainPlan, model: str, corpus: Corpus, result: Mapping[str, Mapping[str, Any]]
) -> str:
    size = sum(file.stat().st_size for file in plan.folder.glob("*.safetensors"))
    lines = [
        f"# {'EAGLE-3 head' if plan.kind == 'eagle' else 'Medusa heads'} for {model}",
        "",
        f"Trained with `completiond train {plan.kind}` in {plan.hours:g} hours. {size / 1e6:.1f} MB.",
        f"{trained.feature_tokens} tokens of features, {trained.seen_tokens} tokens seen in training.",
        f"A draft vocabulary of {plan.draft_vocab_size} tokens covers {trained.coverage:.1%} of the training text.",
        "",
        "## Learning curve",
        "",
        "Acceptance by position on held-out repositories, where the text is what the model would have written.",
        "",
        "| minutes | tokens | loss | accepted |",
        "|---|---|---|---|",
        *(
            f"| {report.seconds / 60:.0f} | {report.tokens} | {report.loss:.3f} |"
            f" {' '.join(f'{share:.3f}' for share in report.acceptances)} |"
            for report in trained.reports
        ),
        "",
        "## In the engine",
        "",
        f"Held-out repositories, temperature 0, {TOKENS} tokens each; time against plain decoding in the same run.",
        "",
        "| work | drafter | answers | tokens/pass | accepted by position | ms/token | ratio |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {work} | {name} | {row['answers']} | {row['tokens_per_pass']:.2f} |"
            f" {' '.join(f'{share:.2f}' for share in row['acceptance'])} | {row['ms_per_token']:.1f} |"
            f" {row['ratio']:.2f} |"
            for work, rows in result.items()
            for name, row in rows.items()
        ),
        "",
        "## Data",
        "",
        f"Held out: {', '.join(repository.name for repository in corpus.held_out)}.",
        "",
        f"Trained on: {', '.join(repository.name for repository in corpus.training)}.",
        "",
    ]
    return "\n".join(lines)
