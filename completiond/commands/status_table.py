"""What ``completiond status`` prints for people: the daemon's answer to ``completiond/status`` as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.markup import escape
from rich.table import Table

__all__ = ["status_table"]


def status_table(values: dict[str, Any]) -> Table:
    """One row for each thing the daemon told; an older one tells fewer."""
    phase = values["phase"]
    if phase == "loading":
        phase = f"loading, {100 * values['progress']:.0f} %"
    rows = {
        "state": f"{phase} ({values['detail']})" if values["detail"] not in ("", values["phase"]) else phase,
        "model": values["model"],
        "runs on": " ".join(part for part in (values["device"], values["dtype"]) if part),
        "fill in the middle": values["fim"],
        "given up": "; ".join(values.get("given_up", ())),
        "process": f"{values['pid']}, up {_duration(values['uptime_s'])}, {values['rss_mb']:.0f} MB",
        "version": values["version"],
        "socket": values["socket"],
        "http": values.get("http"),
        "settings": "; ".join(values.get("problems", ())),
        "clients": str(values["clients"]),
        "requests": ", ".join(f"{count} {name}" for name, count in values["counters"].items()).replace(
            " requests", "", 1
        ),
        "taken": _taken(values.get("accepts")),
        "dictionary": _dictionary(values.get("dictionary")),
        "acceptance": _acceptance(values.get("acceptance", ())),
    }
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, text in rows.items():
        if text:
            table.add_row(f"[bold]{name}[/bold]", escape(text))
    return table


def _taken(accepts: dict[str, int] | None) -> str:
    """What clients said they took; not all of them say so."""
    if accepts is None or not accepts["answers"]:
        return ""
    return f"{accepts['answers']} answers, {accepts['whole']} of them whole, {accepts['characters']} characters"


def _dictionary(state: dict[str, int] | None) -> str:
    if state is None:
        return ""
    text = f"{state['documents']} documents, {state['tokens']} tokens, {state['bytes'] / 1e6:.1f} MB"
    return f"{text}; {state['excluded_documents']} more excluded" if state["excluded_documents"] else text


def _acceptance(entries: Iterable[dict[str, Any]]) -> str:
    """Of all guesses that were checked, at any depth and temperature, the share that was right, drafter by drafter."""
    tried: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    for entry in entries:
        tried[entry["source"]] += sum(entry["tried"])
        accepted[entry["source"]] += sum(entry["accepted"])
    return ", ".join(
        f"{source} {100 * accepted[source] / count:.0f} % of {count} checked guesses"
        for source, count in tried.items()
        if count
    )


def _duration(seconds: float) -> str:
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"
