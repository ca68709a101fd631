"""Measure the dictionary of open documents: one key in a long file, one look-up, memory over many edits."""

from __future__ import annotations

import random
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from rich.table import Table

from completiond.complete.dictionary import Dictionary
from completiond.complete.request import LineEdit
from completiond.complete.tokens import TextTokenizer
from completiond.spec.token_index import MAX_MATCH

__all__ = ["DictionaryFigures", "Latency", "measure_dictionary", "table"]

CLIENT = "bench"
FILE_LINES = 5000
NUM_DOCUMENTS = 50
KEYS_AT_A_PLACE = 40
NUM_KEYS = 4000
NUM_LOOKUPS = 4000
WORDS = ("value", "index", "return self._", "for name in names:", "if not ", "result = ", "None", "()", "len(")


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds."""

    p50_ms: float
    p95_ms: float
    max_ms: float

    @classmethod
    def of(cls, times_ms: Sequence[float]) -> Latency:
        """Of single times, at least one."""
        ordered = sorted(times_ms)
        return cls(
            round(ordered[len(ordered) // 2], 4),
            round(ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)], 4),
            round(ordered[-1], 4),
        )


@dataclass(frozen=True, slots=True)
class DictionaryFigures:
    """``key``: a didChange in a file of 5,000 lines, with 40 keys typed at one place before the next. ``lookup``: the
    longest match of 64 tokens in 50 open documents. ``peak_mb`` and ``budget_mb``: the index over ``num_edits`` more
    edits. ``closed_tokens``: what is left when all documents are closed.
    """

    key: Latency
    lookup: Latency
    num_tokens: int
    num_edits: int
    peak_mb: float
    budget_mb: float
    closed_tokens: int
    closed_bytes: int

    def as_json(self) -> dict[str, Any]:
        """For the line of JSON."""
        return {"benchmark": "index", **asdict(self)}


def measure_dictionary(
    tokenizer: TextTokenizer, num_edits: int, on_step: Callable[[str], None] = lambda what: None
) -> DictionaryFigures:
    """Type into the standard library's own files. The same on every run of one Python version, but for the times."""
    budget_bytes = 64_000_000
    dictionary = Dictionary(tokenizer, budget_bytes)
    texts = _texts()
    on_step("opening documents")
    for number in range(NUM_DOCUMENTS - 1):
        dictionary.open((CLIENT, f"{number}"), list(islice(texts, 600)))
    long_file = (CLIENT, "long")
    lines = list(islice(texts, FILE_LINES))
    dictionary.open(long_file, lines)
    on_step("typing")
    typist = _Typist(lines)
    times_ms = []
    for _ in range(NUM_KEYS):
        edit = typist.key()
        started_ns = time.perf_counter_ns()
        dictionary.edit(long_file, [edit])
        times_ms.append((time.perf_counter_ns() - started_ns) / 1e6)
    key = Latency.of(times_ms)
    on_step("looking up")
    lookup, num_tokens = _lookups(dictionary, tokenizer, lines), dictionary.num_tokens
    peak_bytes = dictionary.size_bytes
    for number in range(num_edits):
        dictionary.edit(long_file, [typist.key()])
        if number % 100 == 0:
            peak_bytes = max(peak_bytes, dictionary.size_bytes)
            on_step(f"edit {number} of {num_edits}")
    dictionary.close_client(CLIENT)
    return DictionaryFigures(
        key, lookup, num_tokens, num_edits, round(peak_bytes / 1e6, 2), budget_bytes / 1e6, dictionary.num_tokens,
        dictionary.size_bytes,
    )  # fmt: skip


def _lookups(dictionary: Dictionary, tokenizer: TextTokenizer, lines: Sequence[str]) -> Latency:
    """Look up ends of lines of the long file, as a completion there would."""
    index = dictionary.draft_text((CLIENT, "long"), 0).index
    randomness = random.Random(1)
    times_ms = []
    for _ in range(NUM_LOOKUPS):
        end = randomness.randrange(20, len(lines))
        context_ids = tokenizer.encode("\n".join(lines[end - 20 : end]))
        context_ids = context_ids[: len(context_ids) - randomness.randrange(6)][-MAX_MATCH:]
        started_ns = time.perf_counter_ns()
        index.longest(context_ids)
        times_ms.append((time.perf_counter_ns() - started_ns) / 1e6)
    return Latency.of(times_ms)


class _Typist:
    """Types words at random places, 40 keys each; now and then deletes the line first, or opens a new one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self._randomness = random.Random(0)
        self._keys = self._type()

    def key(self) -> LineEdit:
        """The next key's edit."""
        return next(self._keys)

    def _type(self) -> Iterator[LineEdit]:
        while True:
            line = self._randomness.randrange(len(self._lines))
            how = self._randomness.random()
            if how < 0.2:
                yield self._set(line, 1, ("    ",))
            elif how < 0.3 and len(self._lines) < FILE_LINES + 100:
                yield self._set(line, 0, ("    ",))
            text = "".join(self._randomness.choice(WORDS) for _ in range(KEYS_AT_A_PLACE))[:KEYS_AT_A_PLACE]
            for character in text:
                yield self._set(line, 1, (self._lines[line] + character,))

    def _set(self, line: int, num_old: int, new: tuple[str, ...]) -> LineEdit:
        self._lines[line : line + num_old] = new
        return LineEdit(line, num_old, new)


def _texts() -> Iterator[str]:
    """Lines of the standard library, over and over."""
    folder = Path(sysconfig.get_path("stdlib"))
    files = sorted(folder.glob("*.py"))
    return cycle(line for file in files for line in file.read_text(encoding="utf-8", errors="replace").split("\n"))


def table(figures: DictionaryFigures) -> Table:
    """For people."""
    view = Table(title=f"dictionary of {NUM_DOCUMENTS} open documents, {figures.num_tokens} tokens")
    for name in ("", "p50 ms", "p95 ms", "max ms"):
        view.add_column(name, justify="left" if not name else "right")
    rows = (("key in a file of 5,000 lines", figures.key), ("look-up", figures.lookup))
    for name, one in rows:
        view.add_row(name, f"{one.p50_ms:.3f}", f"{one.p95_ms:.3f}", f"{one.max_ms:.3f}")
    view.caption = (
        f"at most {figures.peak_mb} of {figures.budget_mb:.0f} MB over {figures.num_edits} edits; "
        f"{figures.closed_tokens} tokens left after closing"
    )
    return view
