"""How a completion looks in a terminal: its tokens coloured by who guessed them, and one line of figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.table import Table
from rich.text import Text

from completiond.complete.request import Span

__all__ = ["decisions_table", "figures_line", "in_context", "legend", "styled"]

_STYLES = {"model": "bold cyan", "ngram": "bold green"}
_OTHER_STYLE = "bold magenta"
_NAMES = {"model": "model", "ngram": "dictionary"}
CONTEXT_LINES = 6


def styled(spans: Iterable[Span]) -> Text:
    """The answer, each piece in the colour of its origin."""
    text = Text()
    for span in spans:
        text.append(span.text, _STYLES.get(span.source, _OTHER_STYLE))
    return text


def in_context(prefix: str, spans: Iterable[Span], suffix: str) -> Text:
    """The answer between the lines around it, which are dimmed."""
    before = "".join(prefix.splitlines(keepends=True)[-CONTEXT_LINES:])
    after = "".join(suffix.splitlines(keepends=True)[: CONTEXT_LINES // 2])
    return Text.assemble((before, "dim"), styled(spans), (after.rstrip("\n"), "dim"))


def legend(sources: Iterable[str] = ("model", "ngram")) -> Text:
    """What the colours mean."""
    parts: list[Any] = []
    for source in sources:
        parts += [("■ ", _STYLES.get(source, _OTHER_STYLE)), f"{_NAMES.get(source, source)}  "]
    return Text.assemble(*parts)


def decisions_table(decisions: Iterable[dict[str, Any]]) -> Table:
    """Pass by pass: where the draft was from, how much agreed before it, what was checked, expected and accepted."""
    view = Table(title="drafts, pass by pass")
    for name in ("from", "match", "proposed", "checked", "expected", "accepted", "ms"):
        view.add_column(name, justify="left" if name == "from" else "right")
    for one in decisions:
        origin = f"{one['source']}: {one['origin']}" if one["origin"] else one["source"]
        numbers = (one["match"], one["proposed"], one["checked"])
        expected = f"{one['expected']:.1f}"
        view.add_row(origin, *map(str, numbers), expected, str(one["accepted"]), f"{one['pass_ms']:.0f}")
    return view


def figures_line(completion: dict[str, Any]) -> str:
    """TTFT, ms/token, tokens/pass and the drafters' counts of a completion in its JSON form."""
    tokens, passes = len(completion["token_ids"]), completion["passes"]
    parts = [
        f"{tokens} tokens in {passes} passes",
        f"TTFT {completion['ttft_ms']:.0f} ms",
        f"{completion['ms_per_token']:.1f} ms/token",
        f"{(passes + completion['accepted']) / passes if passes else 0.0:.2f} tokens/pass",
    ]
    parts += [
        f"{_NAMES.get(name, name)} {stats['accepted']}/{stats['drafted']}"
        for name, stats in completion["by_drafter"].items()
    ]
    return " · ".join([*parts, f"prompt {completion['prompt_tokens']}, cached {completion['cached_tokens']}"])
