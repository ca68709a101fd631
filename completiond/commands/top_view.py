"""What ``completiond top`` shows: the answer to ``completiond/status`` with the last requests, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from completiond.commands.recent_lines import ago
from completiond.commands.status_table import status_table

__all__ = ["top_view"]

_SHOWN_DEPTHS: Final = 8


def top_view(values: dict[str, Any], tokens_per_s: float | None) -> RenderableType:
    """``tokens_per_s``: written since the last look, for answers and ahead of them; None at the first."""
    figures = status_table(values)
    for name, text in _speed(values, tokens_per_s).items():
        if text:
            figures.add_row(f"[bold]{name}[/bold]", text)
    parts: list[RenderableType] = [figures]
    if (acceptance := _acceptance(values.get("acceptance", ()))).row_count:
        parts += ["", acceptance]
    if values.get("recent"):
        parts += ["", _recent(values["recent"])]
    return Group(*parts)


def _speed(values: dict[str, Any], tokens_per_s: float | None) -> dict[str, str]:
    latency, work = values.get("latency", {}), values.get("work", {})
    return {
        "now": f"{tokens_per_s:.1f} tokens/s" if tokens_per_s is not None else "",
        "since the start": f"{work['written_tokens']} tokens in {work['passes']} passes" if work else "",
        "last minute": f"{latency['answers']} answers, {latency['tokens']} tokens" if latency else "",
        "first token": _percentiles(latency.get("ttft_ms")),
        "next tokens": _percentiles(latency.get("token_ms")),
        "prompts": _cached(latency),
    }


def _percentiles(values: dict[str, float] | None) -> str:
    return "" if values is None else " · ".join(f"{name} {value:.1f} ms" for name, value in values.items())


def _cached(latency: dict[str, Any]) -> str:
    if not latency.get("prompt_tokens"):
        return ""
    share = latency["cached_tokens"] / latency["prompt_tokens"]
    return f"{latency['prompt_tokens']} tokens, {share:.0%} of them read before"


def _acceptance(entries: Iterable[dict[str, Any]]) -> Table:
    """Of the guesses that were checked at each place of a draft, the share that was right."""
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left", title_style="bold")
    table.add_column("guesses of")
    table.add_column("temperature", justify="right")
    for depth in range(1, _SHOWN_DEPTHS + 1):
        table.add_column(str(depth), justify="right")
    table.add_column("checked", justify="right")
    for entry in entries:
        if any(entry["tried"]):
            depths = [f"{right / tried:.0%}" if tried else "" for right, tried in _depths(entry)]
            depths += [""] * (_SHOWN_DEPTHS - len(depths))
            table.add_row(escape(entry["source"]), f"{entry['temperature']:g}", *depths, str(sum(entry["tried"])))
    return table


def _depths(entry: dict[str, Any]) -> Iterator[tuple[int, int]]:
    yield from zip(entry["accepted"][:_SHOWN_DEPTHS], entry["tried"][:_SHOWN_DEPTHS], strict=True)


def _recent(requests: Iterable[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("ago", "client", "place", "shown", "took", "reason"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", justify="right" if name == "took" else "left")
    for one in requests:
        table.add_row(
            ago(one["ago_s"]),
            escape(one["client"] or "command line or plugin"),
            escape(f"{one['document'] or 'no name'} {one['line']}:{one['column']}"),
            f"{one['characters']} characters" if one["characters"] else "nothing",
            f"{one['took_ms']:.0f} ms",
            escape(one["reason"]),
        )
    return table
