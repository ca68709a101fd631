"""What other open files are worth: calls of what they define, answered with and without them in the prompt."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from completiond.bench.call_places import CallPlace, call_places, evenly
from completiond.bench.edits.catalogue import HISTORIES
from completiond.bench.edits.releases import read_release
from completiond.complete.completer import Completer
from completiond.complete.request import Completion, CompletionRequest
from completiond.engine.sampling_params import SamplingParams
from completiond.paths import Paths

__all__ = ["ContextRun", "context_json", "context_table", "measure_context", "read_places"]

MAX_TOKENS = 40
"""Longer than any line that is asked for."""


@dataclass(frozen=True, slots=True)
class ContextRun:
    """One answer. ``same_line``: it is what was written there; ``same_first``: its first argument, or the member, is.
    ``told_tokens`` are of other files. ``read_ms``: until the first token, with nothing read before.
    """

    kind: str
    context_tokens: int
    prompt_tokens: int
    told_tokens: int
    same_line: bool
    same_first: bool
    read_ms: float


def read_places(limit: int, paths: Paths) -> list[CallPlace]:
    """In the newest releases of the projects whose edits are replayed. Raises what ``read_release`` does."""
    releases = [history.releases[-1] for history in HISTORIES]
    return evenly([list(call_places(read_release(release, paths))) for release in releases], limit)


def measure_context(places: Sequence[CallPlace], completer: Completer, sizes: Sequence[int]) -> Iterator[ContextRun]:
    """Each place with each of ``sizes`` of ``prompt.context_tokens``, on an empty cache, as in an editor that has its
    files open.
    """
    config = completer.config
    line = config.completion.model_copy(update={"multiline": False, "max_tokens": MAX_TOKENS})
    for number, place in enumerate(places):
        client = f"bench {number}"
        completer.documents.set_folders(client, ["/project"])
        for path, text in (*place.files, (place.path, place.prefix + place.suffix)):
            completer.documents.open((client, path), text.split("\n"), f"/project/{path}")
        for size in sizes:
            prompt = config.prompt.model_copy(update={"context_tokens": size})
            request = CompletionRequest(
                place.prefix, place.suffix, f"/project/{place.path}", client, place.path,
                sampling=SamplingParams(temperature=0.0),
                settings=config.model_copy(update={"prompt": prompt, "completion": line}),
            )  # fmt: skip
            completer.kv.forget()
            yield _run(request, place, completer, size)
        completer.documents.forget_client(client)


def _run(request: CompletionRequest, place: CallPlace, completer: Completer, size: int) -> ContextRun:
    *_, completion = completer.run(request, time.perf_counter())
    assert isinstance(completion, Completion)
    choice = completer.others.kept((request.client_id, request.document_id)) if size else None
    written, expected = completion.text.split("\n")[0].strip(), place.expected.strip()
    return ContextRun(
        place.kind,
        size,
        completion.prompt_tokens,
        len(choice.context) if choice is not None else 0,
        written == expected,
        _first(written) == _first(expected),
        completion.ttft_ms,
    )


def _first(text: str) -> str:
    """The first argument, or its name, more or less; of a member its name."""
    return re.split(r"[,=()]", text, maxsplit=1)[0].strip()


def context_json(runs: Sequence[ContextRun]) -> list[dict[str, Any]]:
    """For each kind of place, and all of them, and each size: what was right, and how many places it won and lost
    against the first size.
    """
    figures = []
    for kind in (*sorted({run.kind for run in runs}), "all"):
        of_kind = [run for run in runs if kind in (run.kind, "all")]
        sizes = list(dict.fromkeys(run.context_tokens for run in of_kind))
        first = [run for run in of_kind if run.context_tokens == sizes[0]]
        for size in sizes:
            some = [run for run in of_kind if run.context_tokens == size]
            pairs = list(zip(some, first, strict=True))
            figures.append({
            "kind": kind,
            "context_tokens": size,
            "places": len(some),
            "told": sum(run.told_tokens > 0 for run in some),
            "same_line": sum(run.same_line for run in some),
            "won": sum(run.same_line and not other.same_line for run, other in pairs),
            "lost": sum(other.same_line and not run.same_line for run, other in pairs),
            "same_first": sum(run.same_first for run in some),
            "prompt_tokens": round(sum(run.prompt_tokens for run in some) / len(some), 1),
            "told_tokens": round(sum(run.told_tokens for run in some) / len(some), 1),
            "read_ms": round(sorted(run.read_ms for run in some)[len(some) // 2], 1),
        })  # fmt: skip
    return figures


def context_table(runs: Sequence[ContextRun], title: str) -> Table:
    """What ``context_json`` says, in columns that fit into a narrow window."""
    table = Table(title=title)
    columns = ("places", "for", "n", "told", "line", "+/-", "first", "prompt", "ms")
    for column in columns:
        table.add_column(column, justify="left" if column == "places" else "right", no_wrap=True)
    for row in context_json(runs):
        count = row["places"]
        table.add_row(
            row["kind"], str(row["context_tokens"]), str(count), str(row["told"]), f"{row['same_line'] / count:.3f}",
            f"+{row['won']} -{row['lost']}", f"{row['same_first'] / count:.3f}",
            f"{row['prompt_tokens']:.0f}", f"{row['read_ms']:.0f}",
        )  # fmt: skip
    table.caption = (
        "for: prompt.context_tokens; told: with other files in the prompt; line: share of lines as they were written;"
        " +/-: won and lost; first: share of first arguments, or members; ms: to the first token, nothing read before"
    )
    return table
