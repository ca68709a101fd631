"""The edit benchmark's results as tables and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from completiond.bench.edits.desk import ARMS
from completiond.bench.edits.event import EDIT_KINDS
from completiond.bench.edits.run import CPU, CPU_COSTS_MS, LOOK_UP, Tallies, Tally
from completiond.bench.model_run import ModelRun
from completiond.engine.generate import Step

__all__ = ["model_json", "model_table", "oracle_json", "oracle_table"]

ALL = "all"


def oracle_table(tallies: Tallies) -> Table:
    """Tokens per pass by class where a pass costs the same whatever it checks: of a plain look-up in the edited file
    and of each arm; and the last arm's share of plain decoding's time by the costs of two CPU cores.
    """
    view = Table(title="tokens per pass, if the model wrote what the person wrote")
    for name in ("class", "events", LOOK_UP, *ARMS[1:], "time on 2 cores"):
        view.add_column(name, justify="left" if name == "class" else "right")
    for kind in (*EDIT_KINDS, ALL):
        num_events = _pooled(tallies, ARMS[-1], kind).events
        if num_events:
            figures = (f"{_pooled(tallies, arm, kind).tokens_per_pass:.2f}" for arm in (LOOK_UP, *ARMS[1:]))
            view.add_row(kind, str(num_events), *figures, f"{_time_ratio(tallies, kind):.2f}")
    return view


def oracle_json(tallies: Tallies) -> dict[str, Any]:
    """The same for programs, with the last arm's drafts by origin and by position."""
    last = _pooled(tallies, ARMS[-1], ALL)
    return {
        "mode": "oracle",
        "tokens_per_pass": {
            kind: {arm: round(_pooled(tallies, arm, kind).tokens_per_pass, 3) for arm in (LOOK_UP, *ARMS)}
            for kind in (*EDIT_KINDS, ALL)
        },
        "time_ratio_2_cores": {kind: round(_time_ratio(tallies, kind), 3) for kind in (*EDIT_KINDS, ALL)},
        "events": {kind: _pooled(tallies, ARMS[-1], kind).events for kind in (*EDIT_KINDS, ALL)},
        "accepted_by_origin": {origin: [drafted, hits] for origin, (drafted, hits) in sorted(last.by_origin.items())},
        "accepted_by_position": [last.depths[depth] for depth in range(1, max(last.depths, default=0) + 1)],
        "wasted": round(1 - last.accepted / last.drafted, 3) if last.drafted else 0.0,
    }


def _time_ratio(tallies: Tallies, kind: str) -> float:
    return _pooled(tallies, CPU, kind).ms_per_token / CPU_COSTS_MS[1]


def _pooled(tallies: Tallies, arm: str, kind: str) -> Tally:
    """The tally of a class, or of all."""
    total = Tally()
    for (of_arm, of_kind), tally in tallies.items():
        if of_arm == arm and kind in (ALL, of_kind):
            total.events += tally.events
            total.tokens += tally.tokens
            total.passes += tally.passes
            total.decode_ms += tally.decode_ms
            total.drafted += tally.drafted
            total.accepted += tally.accepted
            total.depths += tally.depths
            for origin, (drafted, hits) in tally.by_origin.items():
                before = total.by_origin[origin]
                total.by_origin[origin] = (before[0] + drafted, before[1] + hits)
    return total


def model_table(runs: Sequence[ModelRun]) -> Table:
    """Milliseconds per token behind the first pass, plain and drafted, of the whole answer and of its visible part."""
    view = Table(title="the model's own answers: drafted against plain, same run")
    for name in ("class", "events", "equal", "plain ms", "drafted ms", "ratio", "tokens/pass", "visible ratio"):
        view.add_column(name, justify="left" if name == "class" else "right")
    for kind, row in model_json(runs)["classes"].items():
        view.add_row(
            kind, str(row["events"]), f"{row['equal']}/{row['events']}", f"{row['plain_ms_per_token']:.1f}",
            f"{row['drafted_ms_per_token']:.1f}", f"{row['ratio']:.2f}", f"{row['tokens_per_pass']:.2f}",
            f"{row['visible_ratio']:.2f}",
        )  # fmt: skip
    return view


def model_json(runs: Sequence[ModelRun]) -> dict[str, Any]:
    """Sums by class and over all."""
    kinds = list(dict.fromkeys(run.kind for run in runs))
    kinds.sort(key=lambda kind: EDIT_KINDS.index(kind) if kind in EDIT_KINDS else len(EDIT_KINDS))
    return {
        "mode": "model",
        "classes": {kind: _row([run for run in runs if kind in (ALL, run.kind)]) for kind in (*kinds, ALL) if runs},
    }


def _row(runs: Sequence[ModelRun]) -> dict[str, Any]:
    plain_ms = _ms_per_token(run.plain[1:] for run in runs)
    drafted_ms = _ms_per_token(run.drafted[1:] for run in runs)
    visible = [_until(run.drafted, run.visible_tokens)[1:] for run in runs]
    visible_plain = [_until(run.plain, run.visible_tokens)[1:] for run in runs]
    passes, tokens = sum(len(run.drafted) for run in runs), sum(len(s.token_ids) for run in runs for s in run.drafted)
    visible_plain_ms = sum(step.pass_ms for steps in visible_plain for step in steps)
    visible_ms = sum(step.pass_ms for steps in visible for step in steps)
    return {
        "events": len(runs),
        "equal": sum(run.equal for run in runs),
        "plain_ms_per_token": round(plain_ms, 2),
        "drafted_ms_per_token": round(drafted_ms, 2),
        "ratio": round(drafted_ms / plain_ms, 3) if plain_ms else 0.0,
        "tokens_per_pass": round(tokens / passes, 3) if passes else 0.0,
        "visible_ratio": round(visible_ms / visible_plain_ms, 3) if visible_plain_ms else 0.0,
    }


def _until(steps: Sequence[Step], num_tokens: int) -> list[Step]:
    """The passes that produced the first ``num_tokens``."""
    taken: list[Step] = []
    for step in steps:
        if num_tokens <= 0:
            break
        taken.append(step)
        num_tokens -= len(step.token_ids)
    return taken


def _ms_per_token(answers: Iterable[Sequence[Step]]) -> float:
    steps = [step for answer in answers for step in answer]
    tokens = sum(len(step.token_ids) for step in steps)
    return sum(step.pass_ms for step in steps) / tokens if tokens else 0.0
