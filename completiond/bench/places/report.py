"""How outcomes are shown: figures for each language, and each suggestion in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from completiond.bench.places.outcome import Outcome

__all__ = ["outcome_json", "outcome_panel", "places_json", "places_table"]

CONTEXT_LINES = 4


def places_json(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Figures for each language, and last for all."""
    languages = dict.fromkeys(one.place.language for one in outcomes)
    rows = [_figures(name, [one for one in outcomes if one.place.language == name]) for name in languages]
    return [*rows, _figures("all", outcomes)]


def places_table(outcomes: Sequence[Outcome], title: str) -> Table:
    """The figures of ``places_json``."""
    table = Table(title=title)
    for column in ("language", "places", "answered", "good", "faulty"):
        table.add_column(column, justify="left" if column == "language" else "right", no_wrap=True)
    table.add_column("defects")
    for row in places_json(outcomes):
        numbers = (str(row[key]) for key in ("places", "answered", "good", "faulty"))
        defects = ", ".join(f"{kind} {count}" for kind, count in row["defects"].items())
        table.add_row(row["language"], *numbers, defects, end_section=row["language"] == outcomes[-1].place.language)
    table.caption = "good: what was wanted, and nothing that is not. faulty: has one of the defects, good or not"
    return table


def outcome_json(one: Outcome) -> dict[str, Any]:
    """One suggestion and what is said of it."""
    return {
        "place": one.place.name,
        "kind": one.place.kind,
        "text": one.text,
        "stop_reason": one.stop_reason,
        "good": one.good,
        "defects": list(one.defects),
    }


def outcome_panel(one: Outcome) -> Panel:
    """A suggestion between the lines around it, which are dimmed."""
    before = "".join(one.place.prefix.splitlines(keepends=True)[-CONTEXT_LINES:])
    after = "".join(one.place.suffix.splitlines(keepends=True)[:CONTEXT_LINES])
    parts = ((before, "dim"), (one.text or "¦", "bold cyan"), (after.rstrip(), "dim"))
    body = Text.assemble(*((text.replace("\r\n", "\n"), style) for text, style in parts), tab_size=4)
    verdict = "good" if one.good else "not good" if one.text else "nothing"
    title = " · ".join((one.place.name, one.place.kind, verdict, *one.defects))
    return Panel(body, title=title, title_align="left", border_style="red" if one.defects else "none")


def _figures(name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "language": name,
        "places": len(outcomes),
        "answered": sum(bool(one.text) for one in outcomes),
        "good": sum(one.good for one in outcomes),
        "faulty": sum(bool(one.defects) for one in outcomes),
        "defects": dict(Counter(kind for one in outcomes for kind in one.defects).most_common()),
    }
