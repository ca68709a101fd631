"""Every drafter on the same answers of the real model: tokens per pass, acceptance, and time against plain decoding.

Three kinds of work: replayed edits, where answers are mostly copies; single lines of HumanEval's solutions, where
little can be copied; and functions of the standard library gone on with, left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table

from completiond.bench.edits.events import generate_events
from completiond.bench.edits.run import run_model
from completiond.bench.human_eval import read_holes, run_holes
from completiond.bench.model_run import decode
from completiond.bench.prompts import code_places
from completiond.complete.completer import Completer
from completiond.complete.prompt import PromptBudget, build_prompt
from completiond.engine.generate import Step
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.paths import Paths
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter_names import DrafterChoice
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy

__all__ = ["DrafterRun", "all_work", "drafters_json", "drafters_table", "flat_costs", "run_drafters"]

ORDER: tuple[DrafterChoice, ...] = ("eagle", "auto", "medusa", "draft", "lookahead", "ngram", "none")
"""Heads first: they follow the prompt as it is read, and the others then find it read."""
CONTINUATION = "continued"


@dataclass(frozen=True, slots=True)
class DrafterRun:
    """One answer by each drafter. ``equal``: whose token ids are those of plain decoding."""

    kind: str
    steps: Mapping[str, tuple[Step, ...]]
    equal: frozenset[str]


def run_drafters(names: Sequence[DrafterChoice]) -> Callable[..., DrafterRun]:
    """What ``run_model`` and ``run_holes`` do at each place: decode with each of ``names``, on the same prompt."""

    def at_place(
        kind: str, prefix: str, suffix: str, text: DraftText | None, completer: Completer, sampler: Sampler,
        max_tokens: int, fim: bool = True,
    ) -> DrafterRun:  # fmt: skip
        settings = completer.config.prompt
        budget = PromptBudget(settings.prefix_tokens, settings.suffix_tokens)
        prompt = build_prompt(prefix, suffix, completer.tokenizer, completer.fim if fim else None, budget)
        completer.kv.forget()
        steps: dict[str, tuple[Step, ...]] = {
            name: decode(completer, prompt, completer.drafters.get(name, text), sampler, max_tokens)
            for name in sorted(names, key=ORDER.index)
        }
        ids = {name: [token_id for step in found for token_id in step.token_ids] for name, found in steps.items()}
        plain = ids.get("none")
        return DrafterRun(kind, steps, frozenset(name for name in names if ids[name] == plain))

    return at_place


def all_work(
    completer: Completer,
    names: Sequence[DrafterChoice],
    limit: int,
    max_tokens: int,
    temperature: float,
    paths: Paths,
    on_step: Callable[[str], None],
) -> Iterator[DrafterRun]:
    """``limit`` answers of each kind of work. Raises what reading releases and HumanEval does."""
    decode_with = run_drafters(names)
    events = list(generate_events(paths, limit=limit, on_step=on_step))
    holes = read_holes(limit, paths, on_step)
    for run in run_model(events, completer, max_tokens, temperature, decode_with):
        yield replace(run, kind="edits")
    for run in run_holes(holes, completer, max_tokens, temperature, decode_with):
        yield replace(run, kind="fills")
    yield from _continuations(limit, completer, max_tokens, temperature, names)


def _continuations(
    count: int, completer: Completer, max_tokens: int, temperature: float, names: Sequence[DrafterChoice]
) -> Iterator[DrafterRun]:
    """Places of the standard library, continued without the text behind them."""
    sampler = Sampler(SamplingParams(temperature=temperature, seed=0))
    for place in code_places(count):
        key = ("drafters", place.path)
        completer.dictionary.open(key, place.prefix.split("\n"))
        text = completer.dictionary.draft_text(key, place.prefix.count("\n"))
        yield run_drafters(names)(CONTINUATION, place.prefix, "", text, completer, sampler, max_tokens, fim=False)
        completer.dictionary.close(key)


@contextmanager
def flat_costs(completer: Completer) -> Iterator[float]:
    """Decide as on a device whose passes take the same time whatever their size; yields that time, in ms."""
    measured = completer.policy
    assert measured is not None, "the machine was measured"
    single_ms = measured.costs.pass_ms(1)
    completer.policy = MeasuredPolicy(
        PassCosts({1: single_ms, measured.costs.max_tokens: single_ms}), refresh_costs=False
    )
    try:
        yield single_ms
    finally:
        completer.policy = measured


def drafters_json(runs: Iterable[DrafterRun], names: Sequence[str], flat_ms: float | None = None) -> dict[str, Any]:
    """By kind of work and drafter. With ``flat_ms`` each pass counts as taking that, besides its draft."""
    runs = list(runs)
    return {
        kind: {name: _row([run for run in runs if run.kind == kind], name, flat_ms) for name in names}
        for kind in dict.fromkeys(run.kind for run in runs)
    }


def _row(runs: Sequence[DrafterRun], name: str, flat_ms: float | None) -> dict[str, Any]:
    answers = [run.steps[name] for run in runs]
    later = [step for answer in answers for step in answer[1:]]  # the first pass also reads the prompt
    plain = [step for run in runs for step in run.steps["none"][1:]]
    tokens = sum(len(step.token_ids) for step in later)
    ms_per_token = _time_ms(later, flat_ms) / max(1, tokens)
    plain_ms = _time_ms(plain, flat_ms) / max(1, sum(len(step.token_ids) for step in plain))
    return {
        "answers": len(runs),
        "equal": sum(name in run.equal for run in runs),
        "tokens_per_pass": round(tokens / max(1, len(later)), 3),
        "acceptance": _by_position(later),
        "drafted": sum(step.drafted for step in later),
        "draft_ms_per_pass": round(sum(step.draft_ms for step in later) / max(1, len(later)), 2),
        "ms_per_token": round(ms_per_token, 2),
        "ratio": round(ms_per_token / plain_ms, 3) if plain_ms else 0.0,
    }


def _time_ms(steps: Sequence[Step], flat_ms: float | None) -> float:
    return sum(step.pass_ms if flat_ms is None else flat_ms + step.draft_ms for step in steps)


def _by_position(steps: Sequence[Step], num_positions: int = 5) -> list[float]:
    """Share of the guesses at each position that were right when those before were; of chains."""
    shares = []
    for position in range(num_positions):
        tried = [step for step in steps if step.drafted > position and step.accepted >= position]
        shares.append(round(sum(step.accepted > position for step in tried) / len(tried), 3) if tried else 0.0)
    return shares


def drafters_table(result: Mapping[str, Mapping[str, Mapping[str, Any]]], title: str) -> Table:
    """The figures for people."""
    view = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    view.caption = "tokens per pass; right guesses at positions 1, 2, 3; ms a pass; time over that of none"
    for column in ("work", "drafter", "equal", "per pass", "accepted", "draft ms", "ms/token", "ratio"):
        view.add_column(column, justify="left" if column in ("work", "drafter") else "right", no_wrap=True)
    for kind, rows in result.items():
        for name, row in rows.items():
            view.add_row(
                kind, name, f"{row['equal']}/{row['answers']}", f"{row['tokens_per_pass']:.2f}",
                " ".join(f"{share:.2f}" for share in row["acceptance"][:3]), f"{row['draft_ms_per_pass']:.1f}",
                f"{row['ms_per_token']:.1f}", f"{row['ratio']:.2f}",
            )  # fmt: skip
        view.add_row()
    return view
