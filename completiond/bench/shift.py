"""What moving the text behind the cursor saves per key, and whether answers are worse for it (cache/shift.py).

At lines of HumanEval's solutions, which have little text behind them, and of real files a few keys are typed, each
asked for, and the last answer is compared with that of an empty cache.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from rich.table import Table

from completiond.bench.human_eval import Hole
from completiond.bench.prompts import code_places
from completiond.cache.kv import KVCache
from completiond.cache.shift import SuffixShift
from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.errors import UsageError

__all__ = ["ShiftRun", "holes_in_files", "measure_shift", "shift_json", "shift_table"]

KINDS: Final = ("word boundary", "inside a word")
NUM_KEYS: Final = 3
_WORDS: Final = {KINDS[0]: re.compile(r"(?<=[^\w\s])\w|(?<=\s)\w"), KINDS[1]: re.compile(r"(?<=\w\w)\w(?=\w)")}


@dataclass(frozen=True, slots=True)
class ShiftRun:
    """One line. ``moved_ms`` and ``exact_ms``: from each key to its first token; ``moved_tokens``: of the last prompt;
    ``wanted``: what the solution's author wrote behind the cursor.
    """

    kind: str
    moved_text: str
    exact_text: str
    wanted: str
    moved_tokens: int
    moved_ms: tuple[float, ...]
    exact_ms: tuple[float, ...]


def holes_in_files(count: int) -> list[Hole]:
    """Lines of the standard library, with a long text behind them."""
    places = code_places(count)
    lines = [place.prefix.rfind("\n") + 1 for place in places]
    texts = [place.prefix + place.suffix for place in places]
    ends = [text.index("\n", line) for text, line in zip(texts, lines, strict=True)]
    return [
        Hole(f"{place.path} {line}", text[:line], text[line:end], text[end:])
        for place, text, line, end in zip(places, texts, lines, ends, strict=True)
    ]


def measure_shift(holes: Sequence[Hole], completer: Completer, max_tokens: int, source: str = "") -> Iterator[ShiftRun]:
    """One run for each kind of place that a line has. Raises UsageError for a model whose keys cannot be moved.

    ``source``: where the holes are from, the beginning of a run's kind.
    """
    if not isinstance(completer.kv, KVCache) or completer.kv.rope_theta is None or completer.fim is None:
        raise UsageError("This model's keys cannot be moved.", "Choose one with fill-in-the-middle tokens.")
    for hole in holes:
        for kind in KINDS:
            places = [match.start() for match in _WORDS[kind].finditer(hole.expected) if match.start() >= NUM_KEYS]
            if places:
                place = random.Random(f"{hole.name} {kind}").choice(places)
                yield _measure(source + kind, hole, place, completer, max_tokens)


def _measure(kind: str, hole: Hole, place: int, completer: Completer, max_tokens: int) -> ShiftRun:
    assert isinstance(completer.kv, KVCache)
    keys = range(place - NUM_KEYS + 1, place + 1)
    completer.kv.forget()
    completer.shift = SuffixShift(completer.kv)
    _ask(hole, keys.start - 1, completer, 1)
    moved = [_ask(hole, key, completer, max_tokens if key == place else 1) for key in keys]
    completer.shift = None
    completer.kv.forget()
    _ask(hole, keys.start - 1, completer, 1)
    exact = [_ask(hole, key, completer, max_tokens if key == place else 1) for key in keys]
    return ShiftRun(
        kind, moved[-1].text, exact[-1].text, hole.expected[place:], moved[-1].moved_tokens,
        tuple(one.ttft_ms for one in moved), tuple(one.ttft_ms for one in exact),
    )  # fmt: skip


def _ask(hole: Hole, num_typed: int, completer: Completer, max_tokens: int) -> Completion:
    request = CompletionRequest(
        hole.prefix + hole.expected[:num_typed], hole.suffix, drafter="none", max_tokens=max_tokens
    )
    *_, completion = completer.run(request, time.perf_counter())
    assert isinstance(completion, Completion)
    return completion


def shift_table(runs: Sequence[ShiftRun]) -> Table:
    """A row for each kind of place."""
    table = Table(
        title="Three keys typed: what is behind the cursor moved, or read again", box=None, padding=(0, 1, 0, 0),
        pad_edge=False,
    )  # fmt: skip
    for column in ("cursor", "places", "same", "moved", "exact", "moved ms", "exact ms", "ratio"):
        table.add_column(column, justify="left" if column == "cursor" else "right", no_wrap=True)
    for row in shift_json(runs):
        table.add_row(
            row["kind"], str(row["places"]), f"{row['same']}", f"{row['moved_right']:.3f}", f"{row['exact_right']:.3f}",
            f"{row['moved_ms']:.0f}", f"{row['exact_ms']:.0f}", f"{row['moved_ms'] / row['exact_ms']:.2f}",
        )  # fmt: skip
    table.caption = (
        "moved, exact: share of first lines that are the author's. ms: from a key to its first token, median"
    )
    return table


def shift_json(runs: Sequence[ShiftRun]) -> list[dict[str, Any]]:
    """The table's figures."""
    rows = []
    for kind in dict.fromkeys(run.kind for run in runs):
        some = [run for run in runs if run.kind == kind]
        rows.append(
            {
                "kind": kind,
                "places": len(some),
                "same": sum(run.moved_text == run.exact_text for run in some),
                "moved_right": sum(_is_right(run.moved_text, run.wanted) for run in some) / len(some),
                "exact_right": sum(_is_right(run.exact_text, run.wanted) for run in some) / len(some),
                "moved_ms": median(one for run in some for one in run.moved_ms),
                "exact_ms": median(one for run in some for one in run.exact_ms),
                "moved_tokens": median(run.moved_tokens for run in some),
            }
        )
    return rows


def _is_right(text: str, wanted: str) -> bool:
    return text.split("\n", 1)[0].strip() == wanted.strip()
