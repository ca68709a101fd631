"""The completion service of one daemon: loads the model in the background, queues requests, supersedes stale ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from completiond.complete.alternatives import alternatives
from completiond.complete.answer_job import answer_job
from completiond.complete.answers import Answers
from completiond.complete.completer_protocol import AnyCompleter, name_before, ready_state
from completiond.complete.deadline import deadline_ms
from completiond.complete.document_jobs import DocumentJobs
from completiond.complete.generation import Generation
from completiond.complete.idle import IdleRelease
from completiond.complete.jobs import log_failure, one_step_job, post
from completiond.complete.language import why_off
from completiond.complete.latencies import LatencyState
from completiond.complete.quiet import QuietMoment
from completiond.complete.recent import Recent, RecentRequest
from completiond.complete.request import (
    Chunk,
    Completion,
    CompletionRequest,
    DictionaryState,
    LineEdit,
    ServiceState,
    WorkCounts,
)
from completiond.complete.service_protocol import SupersededError
from completiond.complete.settings_follower import SettingsFollower
from completiond.complete.stream import Stream
from completiond.complete.until_loaded import until_loaded
from completiond.config import Config
from completiond.engine.worker import Job, Worker
from completiond.errors import CompletiondError, NotReadyError
from completiond.paths import Paths
from completiond.spec.acceptance import AcceptanceCounts

if TYPE_CHECKING:
    from completiond.config.settings import Settings

__all__ = ["LocalService"]

log = logging.getLogger(__name__)

RETRY_AFTER_S = 2.0
"""A load that failed is tried again by the first request that comes at least this long after it."""
_UNRELEASED = log_failure("the model could not be released")
_UNREAD = log_failure("a context could not be read in a quiet moment")


class LocalService:
    """A Service (service_protocol.py). For a model on this machine torch is imported, on the engine's thread only."""

    def __init__(self, config: Config, paths: Paths, settings: Settings | None = None) -> None:
        """``settings``: what ``config`` is of, if it may change while this runs."""
        self._config = config
        self._paths = paths
        self._documents = DocumentJobs(lambda: self._completer)
        changed = self._on_exclusions, self._documents.set_workspace
        self._follower = SettingsFollower(settings, *changed) if settings else None
        self._state = ServiceState("loading", 0.0, "starting", name_before(config))
        self._listeners: list[Callable[[ServiceState], None]] = []
        self._streams: dict[tuple[str, str], Stream] = {}
        self._completer: AnyCompleter | None = None
        self._failure: CompletiondError | None = None
        self._load_ended_s = 0.0
        self._told_share = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._recent = Recent()
        self._answers = Answers(self._run)
        self._quiet = QuietMoment(self._read, self._write_ahead)
        self._idle = IdleRelease(self._is_at_work, self._release, self._load_again)
        self._worker = self._documents.worker = Worker(self._load)

    @property
    def state(self) -> ServiceState:
        """See Service.state."""
        return self._state

    @property
    def acceptance(self) -> Sequence[AcceptanceCounts]:
        """See Service.acceptance."""
        return self._completer.acceptance.counts if self._completer else ()

    @property
    def work(self) -> WorkCounts:
        """See Service.work."""
        return self._completer.work if self._completer else WorkCounts()

    @property
    def dictionary(self) -> DictionaryState:
        """See Service.dictionary."""
        return self._documents.state

    @property
    def recent(self) -> Sequence[RecentRequest]:
        """See Service.recent."""
        return self._recent.newest_first

    @property
    def latency(self) -> LatencyState:
        """See Service.latency."""
        return self._recent.latencies.state

    def start(self) -> None:
        """Begin to load the model. Call it on the event loop; it returns at once."""
        self._loop = asyncio.get_running_loop()
        self._worker.start()

    async def close(self) -> None:
        """Stop the engine's thread after its current pass."""
        self._idle.stop()
        self._quiet.drop()
        for stream in list(self._streams.values()):
            stream.put(NotReadyError("The daemon is stopping.", "Ask again."))
            self._answers.leave(stream)
        await asyncio.to_thread(self._worker.stop, 2.0)
        if self._completer is not None and not self._worker.is_alive:
            await asyncio.to_thread(self._completer.close)

    def subscribe(self, listener: Callable[[ServiceState], None]) -> Callable[[], None]:
        """See Service.subscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def ensure_loading(self) -> None:
        """See Service.ensure_loading."""
        if self._state.phase != "failed" or time.monotonic() - self._load_ended_s < RETRY_AFTER_S:
            return
        self._state = ServiceState("loading", 0.0, "trying again", self._state.model)
        self._worker.submit(one_step_job(self._load, lambda error: None))

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk | Completion, None]:
        """See Service.stream."""
        folders = self._documents.folders_of(request.client_id)
        return self._recent.follow(request, self._stream(request), folders, self._state.phase == "loading")

    async def _stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk | Completion, None]:
        self._idle.use(self._config.model.idle_release_s)
        arrived = time.perf_counter()
        if self._completer is not None:  # a server that is looked for, or a model that was released
            await until_loaded(self)
        self._ready()
        request = self._with_settings(request)
        stream = Stream(request, arrived)
        # A request without a document supersedes none and is superseded by none.
        own = "" if request.is_exact else request.document_id
        key = (request.client_id, own or f"request {id(stream)}")
        if (older := self._streams.get(key)) is not None:
            older.put(SupersededError())
        self._streams[key] = stream
        self._quiet.drop()
        deadline: asyncio.TimerHandle | None = None
        try:
            may_share = self._may_use_kept(request)
            if may_share and (found := self._answers.find(request, arrived)) is not None:
                stream.put(Chunk(found.text, found.spans))
                stream.put(found)
            else:
                self._answers.join(stream, may_share)
            if request.in_lines:
                assert self._loop is not None, "start() comes first"
                policy = self._completer.policy if self._completer else None
                after_ms = deadline_ms(request.settings or self._config, policy)
                deadline = self._loop.call_later(after_ms / 1e3, self._answers.hurry, stream)
            if older is not None:
                self._answers.leave(older)  # not before the newer one had a chance to go on with its answer
            async with contextlib.aclosing(stream.items()) as items:
                async for item in items:
                    if isinstance(item, Completion) and item.stop_reason != "deadline" and not request.is_exact:
                        self._quiet.plan(request, item)
                    if isinstance(item, Completion) and self._follower is not None and self._completer is not None:
                        self._follower.refuse_drafters(self._completer.refused_drafters)
                    yield item
        finally:
            if deadline is not None:
                deadline.cancel()
            self._answers.leave(stream)
            if self._streams.get(key) is stream:
                del self._streams[key]

    def _is_at_work(self) -> bool:
        is_ready = self._state.phase == "ready" and self._completer is not None and self._completer.can_release
        return bool(self._streams) or not self._answers.is_idle or not is_ready

    def _release(self, after_s: int) -> None:
        assert self._completer is not None, "it was not at work"
        self._quiet.drop()
        self._worker.submit(one_step_job(self._completer.release, _UNRELEASED))
        what = f"released after {after_s} s without use; the next request loads it again"
        self._publish(replace(self._state, detail=what, is_released=True))

    def _load_again(self) -> None:
        self._publish(replace(self._state, phase="loading", progress=0.0, detail="loading again", is_released=False))
        self._worker.submit(one_step_job(self._load, lambda error: None))

    def _ready(self) -> AnyCompleter:
        """Raises NotReadyError, or why loading failed, unless there is a model."""
        self.ensure_loading()
        if self._completer is None or self._state.phase != "ready":
            raise self._failure or NotReadyError(
                f"The model is still loading ({self._state.detail}, {self._state.progress:.0%}).",
                "Ask again in a moment.",
            )
        return self._completer

    async def complete(self, request: CompletionRequest) -> Completion:
        """See Service.complete."""
        async with contextlib.aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, Completion):
                    return item
        raise NotReadyError("The answer was cut off.", "Ask again.")

    async def alternatives(
        self, request: CompletionRequest, first: Completion, count: int | None = None
    ) -> Sequence[Completion]:
        """See Service.alternatives."""
        wanted = (self._with_settings(request).settings or self._config).completion.alternatives
        return await alternatives(self.complete, request, first, wanted - 1 if count is None else count)

    async def tokenize(self, text: str, with_controls: bool = False) -> Sequence[int]:
        """See Service.tokenize."""
        tokenizer = self._ready().tokenizer
        return await asyncio.to_thread(tokenizer.encode_with_controls if with_controls else tokenizer.encode, text)

    async def detokenize(self, token_ids: Sequence[int]) -> str:
        """See Service.detokenize."""
        return await asyncio.to_thread(self._ready().tokenizer.spell, token_ids)

    async def spellings(self, token_ids: Sequence[int]) -> Sequence[str]:
        """See Service.spellings."""
        return await asyncio.to_thread(self._ready().tokenizer.spell_each, token_ids)

    def observe(self, listener: Callable[[Completion], None]) -> Callable[[], None]:
        """See Service.observe."""
        return self._recent.observe(listener)

    def forget_client(self, client_id: str) -> None:
        """See Service.forget_client."""
        for (client, _), stream in list(self._streams.items()):
            if client == client_id:
                stream.put(SupersededError())
                self._answers.leave(stream)
        self._answers.forget(client_id)
        self._quiet.drop(client_id)
        if self._follower is not None:
            self._follower.forget_client(client_id)
        self._documents.forget_client(client_id)

    def set_folders(self, client_id: str, folders: Sequence[str]) -> None:
        """See Service.set_folders."""
        workspace = self._follower.set_folders(client_id, folders) if self._follower is not None else None
        self._documents.set_folders(client_id, folders, workspace)

    def open_document(self, client_id: str, document_id: str, lines: Sequence[str], path: str = "") -> None:
        """See Service.open_document."""
        self._idle.use(self._config.model.idle_release_s)
        self._documents.tell(lambda documents: documents.open((client_id, document_id), lines, path))

    def edit_document(self, client_id: str, document_id: str, edits: Sequence[LineEdit]) -> None:
        """See Service.edit_document."""
        self._idle.use(self._config.model.idle_release_s)
        self._documents.tell(lambda documents: documents.edit((client_id, document_id), edits))

    def close_document(self, client_id: str, document_id: str) -> None:
        """See Service.close_document."""
        if (stream := self._streams.get((client_id, document_id))) is not None:
            stream.put(SupersededError())
            self._answers.leave(stream)
        self._answers.forget(client_id, document_id)
        self._quiet.drop(client_id, document_id)
        self._documents.tell(lambda documents: documents.close((client_id, document_id)))

    async def forget_texts(self) -> None:
        """Have the engine hold nothing of what it has read, as when it was new."""
        forgotten, loop = asyncio.Event(), asyncio.get_running_loop()
        self._documents.do(lambda completer: completer.forget_texts())
        self._documents.do(lambda _: post(loop, lambda _: forgotten.set(), None))
        await forgotten.wait()

    def _with_settings(self, request: CompletionRequest) -> CompletionRequest:
        """What is set now for the request's file; what has changed is followed first."""
        if self._follower is None:
            return request
        folders = self._documents.folders_of(request.client_id)
        settings = self._follower.settings_of(request.client_id, request.path, folders)
        self._config = self._follower.config
        return replace(request, settings=settings)

    def _on_exclusions(self, clients: Collection[str | None]) -> None:
        """Clients, None for all, may read other files: nothing of what was written or drafted before is left, and
        where all may, of what was read.
        """
        for client_id in clients:
            self._answers.forget(client_id)
            self._quiet.drop(client_id)

        def work(completer: AnyCompleter) -> None:
            self._apply_exclusions(completer)
            completer.documents.check_all()
            if None in clients:
                completer.forget_texts()

        self._documents.do(work)

    def _apply_exclusions(self, completer: AnyCompleter) -> None:
        if self._follower is not None:
            self._follower.apply(completer.guard, completer.set_exclusions)

    def _may_use_kept(self, request: CompletionRequest) -> bool:
        """A file may have been excluded since it was answered in."""
        completer, settings = self._completer, request.settings or self._config
        if completer is None or not settings.cache.results or why_off(request, settings) is not None:
            return False
        return completer.guard.why(request.client_id, request.path) is None

    def _read(self, request: CompletionRequest, then: Callable[[], None]) -> Job | None:
        """Have the engine read a request's context while nobody waits for it."""
        loop, completer = self._loop, self._completer
        if loop is None or completer is None or self._state.phase != "ready" or not self._answers.is_idle:
            return None
        job: Job

        def on_end() -> None:
            if not job.cancelled.is_set():
                post(loop, lambda _: then(), None)

        job = Job(lambda: completer.read(request), lambda item: None, on_end, _UNREAD)
        self._worker.submit(job)
        return job

    def _write_ahead(self, request: CompletionRequest) -> None:
        completer, settings = self._completer, request.settings or self._config
        is_wanted = settings.cache.ahead and completer is not None and completer.writes_ahead
        if is_wanted and self._state.phase == "ready" and self._may_use_kept(request):
            self._answers.write_ahead(request)

    def _run(self, generation: Generation, arrived: float) -> None:
        """Have the engine begin with an answer, or go on with it."""
        loop, completer = self._loop, self._completer
        assert loop is not None, "start() comes first"
        assert completer is not None, "the state is ready"

        def begin() -> None:
            completer.documents.check(generation.request.client_id)
            self._documents.note(completer)

        self._worker.submit(answer_job(completer, generation, arrived, self._answers, loop, begin, self._fail))

    def _load(self) -> None:
        """On the engine's thread: load and warm up the model, or find the server, and tell listeners how far it is."""
        self._told_share = 0.0
        try:
            if (completer := self._completer) is None:
                from completiond.complete.open_any import open_any

                completer = open_any(self._config, self._paths, self._progress)
                self._apply_exclusions(completer)
                self._documents.begin(completer)
                self._completer = completer
            completer.connect()
        except CompletiondError as error:
            self._fail(error)
        except Exception as error:  # a defect of ours must show in status
            log.exception("loading failed")
            what = f"Loading {self._state.model} failed: {type(error).__name__}: {error}."
            self._fail(NotReadyError(what, "See the daemon's log."))
        else:
            log.info("Ready: %s, %s on %s", completer.name, completer.dtype_name or "remote", completer.device_name)
            self._set_state(ready_state(completer))

    def _fail(self, error: CompletiondError) -> None:
        log.error("%s", error)
        self._failure = type(error)(error.message, error.advice)  # a traceback would hold what had been loaded
        self._set_state(ServiceState("failed", 0.0, str(error), self._state.model))

    def _progress(self, share: float, what: str) -> None:
        self._told_share = max(self._told_share, share)  # of a part that begins again, such as another try to fetch
        self._set_state(ServiceState("loading", self._told_share, what, self._state.model))

    def _set_state(self, state: ServiceState) -> None:
        self._load_ended_s = time.monotonic()
        assert self._loop is not None, "start() comes first"
        post(self._loop, self._publish, state)

    def _publish(self, state: ServiceState) -> None:
        self._state = state
        for listener in list(self._listeners):
            listener(state)
