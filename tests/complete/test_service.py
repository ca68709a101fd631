"""The service that adapters call: loading, superseding, cancelling, closing; the engine's thread is real."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from completiond.complete import service as service_module
from completiond.complete.completer import Completer
from completiond.complete.request import Chunk, Completion, CompletionRequest, ServiceState, Span
from completiond.complete.service import LocalService
from completiond.complete.service_protocol import SupersededError
from completiond.config import CacheConfig, Config, ModelConfig
from completiond.errors import CompletiondError, MemoryFullError, ModelMissingError, NotReadyError, UsageError
from completiond.paths import Paths
from tests.fake_model import FakeTarget, bytes_of, fake_model, says

PATIENCE_S = 20.0
"""Far more than anything here takes: reached only when something hangs, which fails the test."""

CONFIG = Config(model=ModelConfig(name="fake", context_tokens=512), cache=CacheConfig(ahead=False))
ANSWER = "abcdefgh"
MISSING = ModelMissingError("fake is not on this machine.", "Pull it.")


class Gate:
    """Holds up the engine before each pass while it is shut."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._allowed: float = float("inf")
        self.waiting = threading.Event()

    def __call__(self) -> None:
        with self._changed:
            if self._allowed < 1:
                self.waiting.set()
            assert self._changed.wait_for(lambda: self._allowed >= 1, PATIENCE_S), "the test forgot to open the gate"
            self.waiting.clear()
            self._allowed -= 1

    def allow(self, num_passes: float) -> None:
        """From now on, this many passes and no more."""
        with self._changed:
            self._allowed = num_passes
            self.waiting.clear()  # now, not when the engine's thread has noticed: who waits for it next means the next
            self._changed.notify_all()


@dataclass
class Opener:
    """Takes the place of ``open_completer``."""

    target: FakeTarget
    completer: Completer
    errors: list[Exception] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    num_calls: int = 0

    def __call__(self, config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        self.num_calls += 1
        progress(0.5, "reading weights")
        assert self.gate.wait(PATIENCE_S), "the test forgot to let the model load"
        if self.errors:
            raise self.errors.pop(0)
        return self.completer


@pytest.fixture
def opener(monkeypatch: pytest.MonkeyPatch) -> Opener:
    model, target = fake_model(says(bytes_of(ANSWER)))
    opener = Opener(target, Completer(model, CONFIG))
    monkeypatch.setattr("completiond.complete.open_completer.open_completer", opener)
    return opener


@pytest.fixture
async def loading(opener: Opener, tmp_path: Path) -> AsyncIterator[LocalService]:
    """A service whose model is on its way."""
    service = LocalService(CONFIG, Paths(tmp_path, tmp_path, tmp_path, tmp_path))
    service.start()
    yield service
    opener.gate.set()
    await service.close()


@pytest.fixture
async def service(loading: LocalService, opener: Opener) -> LocalService:
    """A service that is ready."""
    opener.gate.set()
    await reach(loading, "ready")
    return loading


@pytest.fixture
def gate(opener: Opener) -> Gate:
    gate = Gate()
    opener.target.before_pass = gate
    return gate


async def reach(service: LocalService, phase: str, detail: str = "") -> ServiceState:
    """Wait until the service's state is ``phase``, with ``detail`` among its details."""

    def is_there(state: ServiceState) -> bool:
        return state.phase == phase and detail in state.detail

    reached = asyncio.Event()
    unsubscribe = service.subscribe(lambda state: reached.set() if is_there(state) else None)
    if not is_there(service.state):
        await asyncio.wait_for(reached.wait(), PATIENCE_S)
    unsubscribe()
    return service.state


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE_S)


def request(document: str = "a.py", client: str = "me", prefix: str = "x") -> CompletionRequest:
    return CompletionRequest(prefix, "\n", client_id=client, document_id=document, drafter="none")


async def error_of(task: asyncio.Task[Completion]) -> BaseException | None:
    """What a task failed with."""
    done, _ = await asyncio.wait([task], timeout=PATIENCE_S)
    assert done, "the task is still waiting"
    return task.exception()


async def result_of(task: asyncio.Task[Completion]) -> Completion:
    """What a task came to."""
    return await asyncio.wait_for(task, PATIENCE_S)


# Loading


async def test_while_the_model_loads_requests_are_refused_with_the_progress(loading: LocalService) -> None:
    await reach(loading, "loading", "reading weights")

    with pytest.raises(NotReadyError, match=r"reading weights, 50%"):
        await loading.complete(request())


async def test_the_share_that_is_loaded_goes_back_only_for_another_load(
    opener: Opener, loading: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_slowly(config: Config, paths: Paths, progress: Callable[[float, str], None]) -> Completer:
        for share, what in ((0.4, "copying"), (0.2, "reading weights"), (0.6, "warming up")):
            progress(share, what)
        raise MISSING

    await reach(loading, "loading", "reading weights")
    monkeypatch.setattr("completiond.complete.open_completer.open_completer", open_slowly)
    monkeypatch.setattr(service_module, "RETRY_AFTER_S", 0.0)
    opener.errors.append(MISSING)
    opener.gate.set()
    await reach(loading, "failed")
    told: list[tuple[str, float]] = []
    loading.subscribe(lambda state: told.append((state.detail, state.progress)) if state.phase == "loading" else None)
    loading.ensure_loading()
    await reach(loading, "failed")

    assert told == [("copying", 0.4), ("reading weights", 0.4), ("warming up", 0.6)]


async def test_every_state_is_told_on_the_event_loop_until_one_unsubscribes(
    loading: LocalService, opener: Opener
) -> None:
    states: list[ServiceState] = []
    threads: list[int] = []

    def listen(state: ServiceState) -> None:
        states.append(state)
        threads.append(threading.get_ident())

    unsubscribe = loading.subscribe(listen)
    opener.gate.set()
    ready = await reach(loading, "ready")

    unsubscribe()
    unsubscribe()

    assert states[-1] == ready == loading.state
    assert set(threads) == {threading.get_ident()}
    assert (ready.progress, ready.model, ready.device, ready.dtype, ready.fim) == (1.0, "fake", "cpu", "fake", "qwen")


@pytest.mark.parametrize(
    ("error", "expected", "kind"),
    [
        (MISSING, MISSING.message, ModelMissingError),
        (ZeroDivisionError("oops"), "ZeroDivisionError: oops", NotReadyError),
    ],
)
async def test_a_failed_load_keeps_its_reason(
    loading: LocalService, opener: Opener, error: Exception, expected: str, kind: type[CompletiondError]
) -> None:
    opener.errors.append(error)
    opener.gate.set()
    state = await reach(loading, "failed")

    assert expected in state.detail
    with pytest.raises(kind, match=expected):
        await loading.complete(request())
    assert opener.num_calls == 1


async def test_it_is_noted_why_there_was_no_answer(loading: LocalService, opener: Opener) -> None:
    with pytest.raises(NotReadyError):
        await loading.complete(request())
    opener.errors.append(MISSING)
    opener.gate.set()
    await reach(loading, "failed")
    with pytest.raises(ModelMissingError):
        await loading.complete(request())

    failed, early = loading.recent
    assert early.reason == "loading"
    assert (failed.reason, failed.meaning) == ("error: ModelMissingError", str(MISSING))


async def test_a_later_request_tries_to_load_again(
    loading: LocalService, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "RETRY_AFTER_S", 0.0)
    opener.errors.append(MISSING)
    opener.gate.set()
    await reach(loading, "failed")

    with pytest.raises(CompletiondError):
        await loading.complete(request())
    await reach(loading, "ready")

    assert (await loading.complete(request())).text == ANSWER
    assert opener.num_calls == 2


# One request


async def test_chunks_come_as_passes_end_and_the_completion_last(service: LocalService, gate: Gate) -> None:
    gate.allow(1)
    items = service.stream(request())

    assert await anext(items) == Chunk("a", (Span("a", "model"),))
    gate.allow(1)
    assert await anext(items) == Chunk("b", (Span("b", "model"),))
    gate.allow(100)
    *chunks, completion = [item async for item in items]

    assert "".join(chunk.text for chunk in chunks) == ANSWER[2:]
    assert isinstance(completion, Completion)
    assert completion.text == ANSWER
    assert completion.ttft_ms > 0.0


async def test_complete_is_the_stream_without_its_chunks(service: LocalService) -> None:
    assert (await service.complete(request())).text == ANSWER


async def test_requests_are_served_one_after_the_other(service: LocalService, opener: Opener) -> None:
    completions = await asyncio.gather(*(service.complete(request(document=f"{i}.py")) for i in range(5)))

    assert [completion.text for completion in completions] == [ANSWER] * 5


async def test_a_request_that_cannot_be_served_says_so_and_the_next_one_is_served(service: LocalService) -> None:
    with pytest.raises(UsageError, match="no room"):
        await service.complete(CompletionRequest("x", "\n", max_tokens=4096))

    assert (await service.complete(request())).text == ANSWER


@pytest.mark.parametrize(
    ("error", "kind"), [(ZeroDivisionError("oops"), ZeroDivisionError), (MemoryError("no memory"), MemoryFullError)]
)
async def test_an_error_of_the_engine_reaches_the_request_and_the_next_one_is_served(
    service: LocalService, opener: Opener, error: Exception, kind: type[Exception]
) -> None:
    def fail() -> None:
        opener.target.before_pass = lambda: None
        raise error

    opener.target.before_pass = fail

    with pytest.raises(kind):
        await service.complete(request())
    assert (await service.complete(request())).text == ANSWER


# Superseding


async def test_a_newer_request_supersedes_the_older_at_once(service: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(1)
    older = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)  # in its second pass

    newer = asyncio.create_task(service.complete(request(prefix="y")))

    assert isinstance(await error_of(older), SupersededError)
    assert gate.waiting.is_set(), "the engine was waited for"
    passes_before = opener.target.num_passes
    gate.allow(100)
    completion = await result_of(newer)
    assert completion.text == ANSWER
    # One pass of the older request was under way; all others are the newer one's.
    assert opener.target.num_passes - passes_before == 1 + completion.passes


async def test_superseding_stops_the_engine_even_if_nobody_reads_the_older_answer(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(1)
    older = service.stream(request())
    await anext(older)
    await until(gate.waiting)

    newer = asyncio.create_task(service.complete(request(prefix="y")))
    await asyncio.sleep(0)
    gate.allow(100)

    completion = await result_of(newer)
    assert opener.target.num_passes <= 2 + completion.passes
    with pytest.raises(SupersededError):
        await anext(older)


async def test_a_request_that_waits_is_superseded_without_running(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(1)
    running = asyncio.create_task(service.complete(request(document="other.py")))
    await until(gate.waiting)
    tasks = [asyncio.create_task(service.complete(request(prefix="y" * i))) for i in range(1, 5)]
    for task in tasks[:-1]:
        assert isinstance(await error_of(task), SupersededError)

    gate.allow(100)

    served = [await result_of(running), await result_of(tasks[-1])]
    assert opener.target.num_passes == sum(completion.passes for completion in served)


@pytest.mark.parametrize(
    "other",
    [request(document="b.py"), request(client="you"), request(document="")],
    ids=["document", "client", "no document"],
)
async def test_other_documents_and_clients_do_not_supersede(
    service: LocalService, gate: Gate, other: CompletionRequest
) -> None:
    gate.allow(1)
    first = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)
    second = asyncio.create_task(service.complete(other))
    await asyncio.sleep(0)

    gate.allow(100)

    assert [(await result_of(task)).text for task in (first, second)] == [ANSWER, ANSWER]


async def test_requests_without_a_document_do_not_supersede_each_other(service: LocalService, gate: Gate) -> None:
    gate.allow(1)
    first = asyncio.create_task(service.complete(request(document="")))
    await until(gate.waiting)
    second = asyncio.create_task(service.complete(request(document="")))
    await asyncio.sleep(0)

    gate.allow(100)

    assert [(await result_of(task)).text for task in (first, second)] == [ANSWER, ANSWER]


# Cancelling


async def test_cancelling_the_reader_stops_the_engine_within_a_pass(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(1)
    task = asyncio.create_task(service.complete(request()))
    await until(gate.waiting)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.allow(100)
    following = await service.complete(request(prefix="y"))

    assert opener.target.num_passes == 2 + following.passes


async def test_closing_the_iterator_stops_the_engine_within_a_pass(
    service: LocalService, opener: Opener, gate: Gate
) -> None:
    gate.allow(1)
    async with contextlib.aclosing(service.stream(request())) as items:
        await anext(items)
        await until(gate.waiting)
    gate.allow(100)
    following = await service.complete(request(prefix="y"))

    assert opener.target.num_passes == 2 + following.passes


async def test_forgetting_a_client_ends_its_requests_and_no_others(service: LocalService, gate: Gate) -> None:
    gate.allow(1)
    mine = [asyncio.create_task(service.complete(request(document=name))) for name in ("a.py", "b.py")]
    await until(gate.waiting)
    yours = asyncio.create_task(service.complete(request(client="you")))
    await asyncio.sleep(0)

    service.forget_client("me")

    assert [type(await error_of(task)) for task in mine] == [SupersededError] * 2
    gate.allow(100)
    assert (await result_of(yours)).text == ANSWER


async def test_forgetting_an_unknown_client_is_harmless(service: LocalService) -> None:
    service.forget_client("nobody")

    assert (await service.complete(request())).text == ANSWER


# Closing


async def test_closing_while_requests_run_and_wait_ends_them(service: LocalService, opener: Opener, gate: Gate) -> None:
    gate.allow(1)
    tasks = [asyncio.create_task(service.complete(request(document=name))) for name in ("a.py", "b.py")]
    await until(gate.waiting)
    closing = asyncio.create_task(service.close())
    await asyncio.sleep(0)
    gate.allow(100)

    await asyncio.wait_for(closing, PATIENCE_S)

    assert [type(await error_of(task)) for task in tasks] == [NotReadyError] * 2
    assert opener.target.num_passes == 2
    assert "engine" not in {thread.name for thread in threading.enumerate()}


async def test_a_request_after_closing_is_refused(service: LocalService) -> None:
    await service.close()

    with pytest.raises(NotReadyError):
        await asyncio.wait_for(service.complete(request()), PATIENCE_S)


async def test_closing_twice_is_harmless(service: LocalService) -> None:
    await service.close()
    await service.close()
