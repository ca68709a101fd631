"""The scores of many holes: by kind of hole and way of answering, and against what is wanted of them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final

from rich.table import Table

from completiond.bench.fim.hole import KINDS
from completiond.bench.fim.product import ORACLE, PRODUCT
from completiond.bench.fim.run import FimRun
from completiond.bench.fim.score import Score

__all__ = ["FimFigures", "fim_criterion", "fim_json", "fim_table"]

FimFigures = dict[str, dict[str, dict[str, Any]]]
"""By kind of hole, by name of the answer, by name of the figure."""

MAX_BELOW_ORACLE: Final = 0.02
MAX_OVERRUN: Final = 0.05
PEER_SINGLE: Final = 0.467
"""pass@1 of llama.cpp's ``/infill`` with the default model's weights on 60 single lines, cut at the first newline."""


def fim_json(runs: Sequence[FimRun]) -> FimFigures:
    """By kind of hole and name of the answer: shares of holes, 0.0 to 1.0, and means (None: not known).

    ``ms_per_token`` is the mean over the answers that took more than one pass.
    """
    figures: FimFigures = {}
    for kind in KINDS:
        if some := [run.scores for run in runs if run.kind == kind]:
            figures[kind] = {name: _row([scores[name] for scores in some]) for name in some[0]}
    return figures


def _row(scores: Sequence[Score]) -> dict[str, Any]:
    tokens = [score.tokens for score in scores if score.tokens is not None]
    times_ms = [score.ms_per_token for score in scores if score.ms_per_token is not None]
    return {
        "holes": len(scores),
        "pass_at_1": round(fmean(score.passed for score in scores), 4),
        "exact": round(fmean(score.exact for score in scores), 4),
        "similarity": round(fmean(score.similarity for score in scores), 4),
        "overrun": round(fmean(score.overran for score in scores), 4),
        "empty": round(fmean(score.empty for score in scores), 4),
        "tokens": round(fmean(tokens), 1) if tokens else None,
        "ms_per_token": round(fmean(times_ms), 2) if times_ms else None,
    }


def fim_criterion(figures: FimFigures) -> list[dict[str, Any]]:
    """What is wanted of the product's answers, what they have, and whether that will do; empty for another server's."""
    wanted = []
    for kind, rows in figures.items():
        if PRODUCT in rows:
            product, oracle = rows[PRODUCT], rows[ORACLE]
            below = round(oracle["pass_at_1"] - product["pass_at_1"], 4)
            overrun, passed = product["overrun"], product["pass_at_1"]
            wanted.append(
                _criterion(
                    kind, f"pass@1 within {MAX_BELOW_ORACLE} of the oracle cut", below, below <= MAX_BELOW_ORACLE
                )
            )
            wanted.append(_criterion(kind, f"overrun <= {MAX_OVERRUN}", overrun, overrun <= MAX_OVERRUN))
            if kind == "single":
                wanted.append(_criterion(kind, f"pass@1 above {PEER_SINGLE}", passed, passed > PEER_SINGLE))
    return wanted


def _criterion(kind: str, wanted: str, value: float, met: bool) -> dict[str, Any]:
    return {"kind": kind, "wanted": wanted, "value": value, "met": met}


def fim_table(figures: FimFigures, title: str) -> Table:
    """The figures for people, and the criterion below them."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("hole", "answer", "holes", "pass@1", "exact", "similar", "overrun", "empty", "tokens", "ms/token"):
        table.add_column(column, justify="left" if column in ("hole", "answer") else "right", no_wrap=True)
    for kind, rows in figures.items():
        for name, row in rows.items():
            shares = (f"{row[key]:.3f}" for key in ("pass_at_1", "exact", "similarity", "overrun", "empty"))
            means = ("-" if row[key] is None else f"{row[key]:.1f}" for key in ("tokens", "ms_per_token"))
            table.add_row(kind, name, str(row["holes"]), *shares, *means)
    lines = [
        f"{one['kind']}: {one['wanted']}: {'met' if one['met'] else 'NOT met'} ({one['value']:.3f})"
        for one in fim_criterion(figures)
    ]
    table.caption = "\n".join(lines)
    return table
