"""Several requests at the service at once: two clients, a newer request, a cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from rich.table import Table

from completiond.bench.typist import Piece
from completiond.complete.request import Completion, CompletionRequest
from completiond.complete.service import LocalService
from completiond.complete.service_protocol import Service, SupersededError
from completiond.config import Config
from completiond.errors import ModelError, UsageError
from completiond.paths import Paths

__all__ = ["ClientsRun", "clients_table", "measure_clients", "measure_on_service"]

KEYS_TYPED = 6
"""Of the text that a piece lacks."""
MAX_HEAD_START_S = 0.05
"""A request that is superseded or cancelled has been under way for so long, or a quarter of what an answer takes."""
ROUNDS = 7
"""Each pair of clients asks so often, alone and at once: one answer's time is off by a tenth, and the worst is told."""


@dataclass(slots=True)
class ClientsRun:
    """Milliseconds. ``alone_ms`` and ``together_ms``: from request to whole answer, of two clients one after the other
    and at once, with nothing of their texts in a cache; ``warm_...``: the same after one more key each. Medians of
    ROUNDS of the same questions, before each of which the engine forgets what it has read. ``ratios``: of each client,
    both over alone within a round, so that a machine that grows slower does not count; medians too.
    ``superseded_ms``: from a newer request to the answer of the older one; ``freed_ms``: from a cancellation to the
    first text of another client's request that needs one pass, less what it took before.
    """

    alone_ms: list[float] = field(default_factory=list)
    together_ms: list[float] = field(default_factory=list)
    warm_alone_ms: list[float] = field(default_factory=list)
    warm_together_ms: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    warm_ratios: list[float] = field(default_factory=list)
    superseded_ms: list[float] = field(default_factory=list)
    freed_ms: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Medians and the worst."""
        return {name: {"median": median(values), "max": max(values)} for name, values in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class _Round:
    """Of two clients, each."""

    alone_ms: Sequence[float]
    warm_alone_ms: Sequence[float]
    together_ms: Sequence[float]
    warm_together_ms: Sequence[float]


class _Asker:
    """Makes requests for texts that were never read before: each begins with another line."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._numbers = itertools.count()

    def new(self, request: CompletionRequest, client: str) -> CompletionRequest:
        number = next(self._numbers)
        head = f"# {number}\n"
        return replace(request, prefix=head + request.prefix, client_id=client, document_id=f"{client} {number}")

    async def ms(self, request: CompletionRequest) -> float:
        """To the whole answer."""
        started = time.perf_counter()
        await self._service.complete(request)
        return (time.perf_counter() - started) * 1e3

    async def first_ms(self, request: CompletionRequest) -> float:
        """To the first text, or to the end of an answer that has none."""
        started = time.perf_counter()
        async with contextlib.aclosing(self._service.stream(request)) as items:
            async for item in items:
                if isinstance(item, Completion) or item.text:
                    break
        return (time.perf_counter() - started) * 1e3


async def measure_on_service(pieces: Sequence[Piece], config: Config, paths: Paths) -> ClientsRun:
    """At places in real files, on a service of its own. Raises ModelError when its model does not load."""
    cache = config.cache.model_copy(update={"results": False, "ahead": False})
    gc.collect()  # what was closed before ends now, and not beside a request
    service = LocalService(config.model_copy(update={"cache": cache}), paths)
    loaded = asyncio.Event()
    service.subscribe(lambda state: None if state.phase == "loading" else loaded.set())
    service.start()
    try:
        await loaded.wait()
        if service.state.phase == "failed":
            raise ModelError(f"The model did not load: {service.state.detail}", "See completiond doctor.")
        gc.freeze()  # as the daemon does
        return await measure_clients(
            service, [CompletionRequest(piece.before + piece.text[:KEYS_TYPED], piece.behind) for piece in pieces]
        )
    finally:
        gc.unfreeze()
        await service.close()


async def measure_clients(service: LocalService, requests: Sequence[CompletionRequest]) -> ClientsRun:
    """``service`` is ready and keeps no results; ``requests`` are asked in pairs, the last with the first."""
    run, ask = ClientsRun(), _Asker(service)
    for one, other in zip(requests, [*requests[1:], requests[0]], strict=True):
        pair = [ask.new(one, "a"), ask.new(other, "b")]
        typed = [_typed(request) for request in pair]
        rounds = list[_Round]()
        for _ in range(ROUNDS):
            await service.forget_texts()
            alone = [[await ask.ms(request) for request in requests] for requests in (pair, typed)]
            await service.forget_texts()
            together = [await asyncio.gather(*map(ask.ms, requests)) for requests in (pair, typed)]
            rounds.append(_Round(*alone, *together))
        run.alone_ms += _medians([each.alone_ms for each in rounds])
        run.together_ms += _medians([each.together_ms for each in rounds])
        run.warm_alone_ms += _medians([each.warm_alone_ms for each in rounds])
        run.warm_together_ms += _medians([each.warm_together_ms for each in rounds])
        head_start_s = min(MAX_HEAD_START_S, min(run.alone_ms) / 4e3)
        run.ratios += _medians([_over(each.together_ms, each.alone_ms) for each in rounds])
        run.warm_ratios += _medians([_over(each.warm_together_ms, each.warm_alone_ms) for each in rounds])
        run.superseded_ms.append(await _superseded_ms(service, ask.new(one, "a"), head_start_s))
        warm = _typed(pair[1], 2)
        await ask.ms(warm)  # behind what is left of the superseded ones
        usual_ms = await ask.first_ms(warm)
        running = asyncio.create_task(service.complete(ask.new(one, "a")))
        await asyncio.sleep(head_start_s)
        running.cancel()
        run.freed_ms.append(await ask.first_ms(warm) - usual_ms)
        await asyncio.gather(running, return_exceptions=True)
    return run


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Of each client."""
    return [median(times) for times in zip(*rounds, strict=True)]


def _over(together_ms: Sequence[float], alone_ms: Sequence[float]) -> list[float]:
    return [both / one for both, one in zip(together_ms, alone_ms, strict=True)]


def _typed(request: CompletionRequest, num_keys: int = 1) -> CompletionRequest:
    return replace(request, prefix=request.prefix + "x" * num_keys)


async def _superseded_ms(service: Service, older: CompletionRequest, head_start_s: float) -> float:
    async def ask() -> float:
        try:
            await service.complete(older)
        except SupersededError:
            return time.perf_counter()
        raise UsageError(
            "An answer was there before a newer request could take its place.", "This machine is too fast for that."
        )

    first = asyncio.create_task(ask())
    await asyncio.sleep(head_start_s)
    started = time.perf_counter()
    newer = asyncio.create_task(service.complete(replace(older, prefix=older.prefix + "\nother = ")))
    answered = await first
    newer.cancel()
    await asyncio.gather(newer, return_exceptions=True)
    return (answered - started) * 1e3


def clients_table(run: ClientsRun) -> Table:
    """A row for each figure."""
    figures = run.as_json()
    table = Table(title="Several requests at once, ms")
    for column in ("", "median", "worst", "ratio"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    rows = (
        ("new texts, alone", "alone_ms", ""),
        ("new texts, both", "together_ms", f"{figures['ratios']['max']:.2f}"),
        ("one more key, alone", "warm_alone_ms", ""),
        ("one more key, both", "warm_together_ms", f"{figures['warm_ratios']['max']:.2f}"),
        ("superseded", "superseded_ms", ""),
        ("engine free", "freed_ms", ""),
    )
    for title, name, ratio in rows:
        table.add_row(title, f"{figures[name]['median']:.1f}", f"{figures[name]['max']:.1f}", ratio)
    table.caption = (
        "from request to whole answer. alone: two clients, one after the other; both: at once; ratio: both over alone,"
        " in the same round, the worst client's. New texts are in no cache. superseded: answered with nothing so long"
        " after the newer request. engine free: how much later than usual the first text comes after a cancellation"
    )
    return table
