"""Typing with a language server at hand: from key to answer, and what the engine did for it.

Drives ``completiond lsp --standalone`` over its standard input, as an editor does: each key is a change and a request,
the request before it is cancelled, and an answer that has been there for a moment and is right is accepted.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled
from pygls.lsp.client import LanguageClient
from rich.table import Table

from completiond.bench.typist import REACTION_S, Piece, accepted, pauses
from completiond.errors import ModelError
from completiond.lsp.inline import PARTIAL

__all__ = ["CACHES_OFF", "TypingFigures", "run_typing", "typing_table"]

READY_S = 120.0
CACHES_OFF = {f"COMPLETIOND_CACHE_{key}": value for key, value in (("RESULTS", "false"), ("AHEAD", "false"))} | {
    "COMPLETIOND_CACHE_SUFFIX": "exact",
    "COMPLETIOND_CACHE_MEMORY_MB": "0",
}


@dataclass(slots=True)
class TypingFigures:
    """Of all pieces with the same settings. ``answers_ms``: from key to answer, for requests that were answered;
    ``first_ms``: the same for the first key of each piece, with nothing of it in any cache; ``through_ms``: for keys
    that went along with what was shown; ``stop_ms``: from a cancellation to its answer. From key to the first text,
    where the server tells it on the way: ``token_ms`` of later keys that did not go along with what was shown,
    ``along_token_ms`` of those that did, ``cold_token_ms`` of first ones.
    """

    name: str
    answers_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    through_ms: list[float] = field(default_factory=list)
    stop_ms: list[float] = field(default_factory=list)
    token_ms: list[float] = field(default_factory=list)
    along_token_ms: list[float] = field(default_factory=list)
    cold_token_ms: list[float] = field(default_factory=list)
    keys: int = 0
    accepted_chars: int = 0
    typed_chars: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)

    @property
    def warm_token_ms(self) -> list[float]:
        """From every later key to the first text that came for it."""
        return [*self.token_ms, *self.along_token_ms]

    def as_json(self) -> dict[str, Any]:
        """What the table shows, and the counts it is made of."""
        answered = max(1, self.counters["answered"] + self.counters["empty"])
        chars = max(1, self.accepted_chars)
        return {
            "name": self.name,
            "keys": self.keys,
            **{f"p{share}_ms": _percentile(self.answers_ms, share) for share in (50, 95, 99)},
            "first_p50_ms": _percentile(self.first_ms, 50),
            "through_p95_ms": _percentile(self.through_ms, 95),
            "through": len(self.through_ms),
            "stop_p95_ms": _percentile(self.stop_ms, 95),
            **{f"token_p{share}_ms": _percentile(self.token_ms, share) for share in (50, 95)},
            "tokens_told": len(self.token_ms),
            "cold_token_p50_ms": _percentile(self.cold_token_ms, 50),
            **{f"warm_token_p{share}_ms": _percentile(self.warm_token_ms, share) for share in (50, 95)},
            "cached_share": self.counters["cached"] / answered,
            "accepted_chars": self.accepted_chars,
            "typed_chars": self.typed_chars,
            "passes_per_accepted_char": self.work["passes"] / chars,
            "computed_per_accepted_char": self.work["computed_tokens"] / chars,
            "written_tokens": self.work["written_tokens"],
            **self.counters,
        }


async def run_typing(
    pieces: Sequence[Piece],
    name: str,
    environment: Mapping[str, str],
    on_step: Callable[[str], None],
    seed: int = 0,
    streams: bool = False,
) -> TypingFigures:
    """Type all ``pieces`` at one server, whose settings ``environment`` adds to. With ``streams``, as a client that is
    told answers while they are written, and shows them.
    """
    figures = TypingFigures(name)
    client = LanguageClient("completiond bench typing", "1")
    sessions: dict[str, _Session] = {}
    client.feature(PARTIAL)(lambda params: _show(sessions, params))
    command = [sys.executable, "-m", "completiond", "lsp", "--standalone"]
    await client.start_io(*command, env={**os.environ, **environment}, limit=2**24)
    try:
        experimental = {"completiond": {"partialInlineCompletion": streams}}
        capabilities = types.ClientCapabilities(experimental=experimental)
        await client.initialize_async(types.InitializeParams(capabilities=capabilities))
        client.initialized(types.InitializedParams())
        await _until_ready(client)
        before = await client.protocol.send_request_async("completiond/status", None)
        for number, piece in enumerate(pieces):
            on_step(f"{name}: piece {number + 1} of {len(pieces)}")
            uri = f"file:///typing/piece_{number}.py"
            sessions[uri] = _Session(client, uri, piece, figures)
            await sessions[uri].run(seed + number)
        after = await client.protocol.send_request_async("completiond/status", None)
        figures.counters, figures.work = (_difference(before, after, key) for key in ("counters", "work"))
        await client.shutdown_async(None)
        client.exit(None)
    finally:
        await client.stop()  # type: ignore[no-untyped-call]
    return figures


class _Session:
    """One document."""

    def __init__(self, client: LanguageClient, uri: str, piece: Piece, figures: TypingFigures) -> None:
        self._client = client
        self._uri = uri
        self._piece = piece
        self._figures = figures
        self._version = 0
        self._done = ""
        self._shown: tuple[str, float] | None = None  # a suggestion, and since when it has been there
        self._pending: asyncio.Task[None] | None = None
        self._pending_id = ""
        self._asked: list[asyncio.Task[None]] = []
        self._cancelled_s: dict[str, float] = {}
        self._asked_s = 0.0
        self._goes_along = False
        self._is_told = False

    async def run(self, seed: int) -> None:
        self._client.text_document_did_open(
            types.DidOpenTextDocumentParams(
                types.TextDocumentItem(self._uri, "python", 0, self._piece.before + self._piece.behind)
            )
        )
        waits = list(pauses(self._piece.text, seed))
        while len(self._done) < len(self._piece.text):
            await asyncio.sleep(waits[len(self._done)])
            if not self._accept():
                self._type(self._piece.text[len(self._done)])
            self._ask(is_first=self._version == 1)
            if self._version == 1:  # who has just come to a place waits for what there is
                await asyncio.gather(*self._asked)
        await asyncio.gather(*self._asked)  # one that failed is told
        self._client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self._uri)))

    def show(self, version: int, text: str) -> None:
        """The beginning of an answer has come."""
        if version != self._version or not text.strip():
            return
        now = time.perf_counter()
        if not self._is_told:
            self._is_told = True
            figures = self._figures
            times = figures.along_token_ms if self._goes_along else figures.token_ms
            (figures.cold_token_ms if version == 1 else times).append((now - self._asked_s) * 1e3)
            self._shown = (text, now)
        elif self._shown is not None:
            self._shown = (text, self._shown[1])

    def _accept(self) -> bool:
        shown, self._shown = self._shown, None
        key = self._piece.text[len(self._done)]
        self._goes_along = shown is not None and shown[0].startswith(key) and len(shown[0]) > 1
        if shown is None or time.perf_counter() - shown[1] < REACTION_S:
            return False
        count = accepted(shown[0], self._piece.text[len(self._done) :])
        if count:
            self._goes_along = count < len(shown[0])
            self._figures.accepted_chars += count
            self._insert(self._piece.text[len(self._done) : len(self._done) + count])
        return count > 0

    def _type(self, key: str) -> None:
        self._figures.typed_chars += 1
        self._insert(key)

    def _insert(self, text: str) -> None:
        self._version += 1
        at = self._position()
        self._client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=self._version, uri=self._uri),
                [types.TextDocumentContentChangePartial(range=types.Range(at, at), text=text)],
            )
        )
        self._done += text

    def _ask(self, is_first: bool) -> None:
        """Ask anew; what was asked before is cancelled, as VS Code does."""
        self._figures.keys += 1
        self._asked_s, self._is_told = time.perf_counter(), False
        if self._pending is not None and not self._pending.done():
            self._client.cancel_request(types.CancelParams(self._pending_id))
            self._cancelled_s[self._pending_id] = time.perf_counter()
        self._pending_id = f"{self._uri} {self._version}"
        self._pending = asyncio.create_task(self._answer(self._pending_id, is_first))
        self._asked.append(self._pending)

    async def _answer(self, request_id: str, is_first: bool) -> None:
        started = time.perf_counter()
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic),
            types.TextDocumentIdentifier(self._uri),
            self._position(),
        )
        future = self._client.protocol.send_request_async("textDocument/inlineCompletion", params, msg_id=request_id)
        try:
            result = await future
        except JsonRpcRequestCancelled:  # by the next key; any other error ends the benchmark
            if (cancelled_s := self._cancelled_s.get(request_id)) is not None:
                self._figures.stop_ms.append((time.perf_counter() - cancelled_s) * 1e3)
            return
        now = time.perf_counter()
        if request_id != self._pending_id or result is None:
            return
        (self._figures.first_ms if is_first else self._figures.answers_ms).append((now - started) * 1e3)
        if self._goes_along:
            self._figures.through_ms.append((now - started) * 1e3)
        items = result.items if isinstance(result, types.InlineCompletionList) else result
        if items:
            since = self._shown[1] if self._is_told and self._shown is not None else now
            self._shown = (str(items[0].insert_text), since)

    def _position(self) -> types.Position:
        text = self._piece.before + self._done
        return types.Position(text.count("\n"), len(text) - text.rfind("\n") - 1)


def typing_table(figures: Sequence[TypingFigures]) -> Table:
    """A column for each server."""
    table = Table(title="Typing, through the language server", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    rows = [one.as_json() for one in figures]
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(row["name"], justify="right", no_wrap=True)
    lines = (
        ("keys", "keys", ".0f"),
        ("to the answer, ms, p50", "p50_ms", ".0f"),
        ("to the answer, ms, p95", "p95_ms", ".0f"),
        ("the same, nothing of it in a cache, p50", "first_p50_ms", ".0f"),
        ("keys typed along, p95", "through_p95_ms", ".0f"),
        ("other keys, to the first text, p50", "token_p50_ms", ".0f"),
        ("other keys, to the first text, p95", "token_p95_ms", ".0f"),
        ("the same, nothing of it in a cache, p50", "cold_token_p50_ms", ".0f"),
        ("until the engine stops, p95", "stop_p95_ms", ".0f"),
        ("answers without a pass", "cached_share", ".0%"),
        ("passes per accepted character", "passes_per_accepted_char", ".2f"),
        ("tokens read per accepted character", "computed_per_accepted_char", ".1f"),
    )
    for title, name, form in lines:
        table.add_row(title, *(format(row[name], form) for row in rows))
    table.caption = "from key, of requests that were answered"
    return table


async def _until_ready(client: LanguageClient) -> None:
    """Raises ModelError when the server's model does not load."""
    deadline_s = time.monotonic() + READY_S
    while (status := await client.protocol.send_request_async("completiond/status", None)) is not None:
        phase = _plain(status)["phase"]
        if phase == "ready":
            return
        if phase == "failed" or time.monotonic() > deadline_s:
            raise ModelError(
                f"The server did not load its model: {_plain(status)['detail']}", "See completiond doctor."
            )
        await asyncio.sleep(0.1)


def _show(sessions: Mapping[str, _Session], params: Any) -> None:
    document = _plain(_plain(params)["textDocument"])
    sessions[document["uri"]].show(document["version"], _plain(params)["insertText"])


def _difference(before: Any, after: Any, key: str) -> dict[str, int]:
    then, now = (_plain(_plain(status)[key]) for status in (before, after))
    return {name: now[name] - then[name] for name in now}


def _plain(value: Any) -> dict[str, Any]:
    """What pygls makes of an object that it has no class for."""
    return dict(value._asdict()) if hasattr(value, "_asdict") else dict(value)


def _percentile(values: Sequence[float], share: int) -> float:
    if len(values) < 2:
        return values[0] if values else 0.0
    return quantiles(values, n=100, method="inclusive")[share - 1]
