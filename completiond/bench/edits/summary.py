"""How many edits of each class there are, and how long."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from completiond.bench.edits.event import EDIT_KINDS, EditEvent, EditKind

__all__ = ["EditSummary", "KindSummary", "summarise"]


@dataclass(frozen=True, slots=True)
class KindSummary:
    """Events of one class: how many, and the median and ninth decile of the characters to type."""

    kind: EditKind
    count: int
    median_chars: int
    p90_chars: int


@dataclass(frozen=True, slots=True)
class EditSummary:
    """All classes, in the order of ``EDIT_KINDS``, and the events of each project."""

    kinds: tuple[KindSummary, ...]
    num_by_project: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For the line of JSON."""
        return {
            "events": sum(self.num_by_project.values()),
            "kinds": {
                item.kind: {"count": item.count, "median_chars": item.median_chars, "p90_chars": item.p90_chars}
                for item in self.kinds
            },
            "projects": self.num_by_project,
        }

    def table(self) -> Table:
        """For people."""
        view = Table(title="edits between releases", caption=_listed(self.num_by_project))
        for name in ("class", "events", "median chars", "90% chars"):
            view.add_column(name, justify="left" if name == "class" else "right")
        for item in self.kinds:
            view.add_row(item.kind, str(item.count), str(item.median_chars), str(item.p90_chars))
        return view


def summarise(events: Iterable[EditEvent]) -> EditSummary:
    """Count ``events``; none of them is kept."""
    sizes_chars: dict[EditKind, list[int]] = defaultdict(list)
    projects: Counter[str] = Counter()
    for event in events:
        sizes_chars[event.kind].append(len(event.expected))
        projects[event.project] += 1
    kinds = []
    for kind in EDIT_KINDS:
        sizes = sorted(sizes_chars[kind])
        middle, high = (sizes[len(sizes) // 2], sizes[len(sizes) * 9 // 10]) if sizes else (0, 0)
        kinds.append(KindSummary(kind, len(sizes), middle, high))
    return EditSummary(tuple(kinds), dict(sorted(projects.items())))


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
