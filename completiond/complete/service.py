"""The completion service of one daemon: loads the model in the background, queues requests, supersedes stale ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from completiond.complete.alternatives import alternatives
from completiond.complete.answers import Answers
from completiond.complete.deadline import deadline_ms
from completiond.complete.generation import Generation
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
    Lines,
    ServiceState,
    WorkCounts,
)
from completiond.complete.service_protocol import SupersededError
from completiond.complete.settings_follower import SettingsFollower
from completiond.complete.stream import Stream
from completiond.config import Config
from completiond.engine.worker import Job, Worker
from completiond.errors import CompletiondError, NotReadyError
from completiond.paths import Paths
from completiond.spec.acceptance import AcceptanceCounts

if TYPE_CHECKING:
    from completiond.complete.completer import Completer
    from completiond.complete.open_documents import OpenDocuments
    from completiond.config.settings import Settings

__all__ = ["LocalService"]

log = logging.getLogger(__name__)

TURN_S = 0.25
"""The engine writes an answer for so long before another one that waits has its turn. Chosen, not measured."""
RETRY_AFTER_S = 2.0
"""A load that failed is tried again by the first request that comes at least this long after it."""
_UNFOLLOWED = log_failure("the dictionary could not follow a change")
_UNREAD = log_failure("a context could not be read in a quiet moment")


class LocalService:
    """A Service (service_protocol.py) over a model on this machine. Torch is imported on the engine's thread only."""

    def __init__(self, config: Config, paths: Paths, settings: Settings | None = None) -> None:
        """``settings``: what ``config`` is of, if it may change while this runs."""
        self._config = config
        self._paths = paths
        self._follower = SettingsFollower(settings, self._on_exclusions, self._on_workspace) if settings else None
        self._state = ServiceState("loading", 0.0, "starting", config.model.name)
        self._listeners: list[Callable[[ServiceState], None]] = []
        self._streams: dict[tuple[str, str], Stream] = {}
        self._folders: dict[str, Sequence[str]] = {}
        self._workspaces: dict[str, Sequence[Sequence[str]] | None] = {}
        self._completer: Completer | None = None
        self._dictionary = DictionaryState()
        self._failure: CompletiondError | None = None
        self._load_ended_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._recent = Recent()
        self._answers = Answers(self._run)
        self._quiet = QuietMoment(self._read, self._write_ahead)
        self._worker = Worker(self._load)

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
        return self._dictionary

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
        self._quiet.drop()
        for stream in list(self._streams.values()):
            stream.put(NotReadyError("The daemon is stopping.", "Ask again."))
            self._answers.leave(stream)
        await asyncio.to_thread(self._worker.stop, 2.0)

    def subscribe(self, listener: Callable[[ServiceState], None]) -> Callable[[], None]:
        """See Service.subscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def ensure_loading(self) -> None:
        """See Service.ensure_loading."""
        if self._state.phase != "failed" or time.monotonic() - self._load_ended_s < RETRY_AFTER_S:
            return
        self._state = ServiceState("loading", 0.0, "trying again", self._config.model.name)
        self._worker.submit(one_step_job(self._load, lambda error: None))

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk | Completion, None]:
        """See Service.stream."""
        folders = self._folders.get(request.client_id, ())
        return self._recent.follow(request, self._stream(request), folders, self._state.phase == "loading")

    async def _stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk | Completion, None]:
        self.ensure_loading()
        if self._state.phase != "ready":
            raise self._failure or NotReadyError(
                f"The model is still loading ({self._state.detail}, {self._state.progress:.0%}).",
                "Ask again in a moment.",
            )
        arrived = time.perf_counter()
        request = self._with_settings(request)
        stream = Stream(request, arrived)
        # A request without a document supersedes none and is superseded by none.
        key = (request.client_id, request.document_id or f"request {id(stream)}")
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
                    if isinstance(item, Completion) and item.stop_reason != "deadline":
                        self._quiet.plan(request, item)
                    yield item
        finally:
            if deadline is not None:
                deadline.cancel()
            self._answers.leave(stream)
            if self._streams.get(key) is stream:
                del self._streams[key]

    async def complete(self, request: CompletionRequest) -> Completion:
        """See Service.complete."""
        async with contextlib.aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, Completion):
                    return item
        raise NotReadyError("The answer was cut off.", "Ask again.")

    async def alternatives(self, request: CompletionRequest, first: Completion) -> Sequence[Completion]:
        """See Service.alternatives."""
        wanted = (self._with_settings(request).settings or self._config).completion.alternatives
        return await alternatives(self.complete, request, first, wanted - 1)

    def forget_client(self, client_id: str) -> None:
        """See Service.forget_client."""
        for (client, _), stream in list(self._streams.items()):
            if client == client_id:
                stream.put(SupersededError())
                self._answers.leave(stream)
        self._answers.forget(client_id)
        self._quiet.drop(client_id)
        self._folders.pop(client_id, None)
        self._workspaces.pop(client_id, None)
        if self._follower is not None:
            self._follower.forget_client(client_id)
        self._tell(lambda documents: documents.forget_client(client_id))

    def set_folders(self, client_id: str, folders: Sequence[str]) -> None:
        """See Service.set_folders."""
        self._folders[client_id] = folders
        workspace = self._follower.set_folders(client_id, folders) if self._follower is not None else None
        self._on_workspace(client_id, workspace)

    def open_document(self, client_id: str, document_id: str, lines: Sequence[str], path: str = "") -> None:
        """See Service.open_document."""
        self._tell(lambda documents: documents.open((client_id, document_id), lines, path))

    def edit_document(self, client_id: str, document_id: str, edits: Sequence[LineEdit]) -> None:
        """See Service.edit_document."""
        self._tell(lambda documents: documents.edit((client_id, document_id), edits))

    def close_document(self, client_id: str, document_id: str) -> None:
        """See Service.close_document."""
        if (stream := self._streams.get((client_id, document_id))) is not None:
            stream.put(SupersededError())
            self._answers.leave(stream)
        self._answers.forget(client_id, document_id)
        self._quiet.drop(client_id, document_id)
        self._tell(lambda documents: documents.close((client_id, document_id)))

    def _tell(self, change: Callable[[OpenDocuments], None]) -> None:
        """Have the engine's thread follow a change, in order with the requests; before the model is there it waits.

        A document that was opened while no model could be loaded is not drafted from until it is opened again.
        """

        def work() -> None:
            if self._completer is not None:
                change(self._completer.documents)
                self._note_dictionary(self._completer)

        self._worker.submit(one_step_job(work, _UNFOLLOWED))

    def _read_workspace(self, client_id: str) -> None:
        """Read the client's workspace, a job for each file or folder, so that requests come in between."""

        def work() -> None:
            if (completer := self._completer) is not None and completer.documents.read_next(client_id):
                self._note_dictionary(completer)
                self._read_workspace(client_id)

        self._worker.submit(one_step_job(work, _UNFOLLOWED))

    def _note_dictionary(self, completer: Completer) -> None:
        """On the engine's thread, which alone may look at the documents; others see the numbers."""
        self._dictionary = completer.documents.state

    def _with_settings(self, request: CompletionRequest) -> CompletionRequest:
        """What is set now for the request's file; what has changed is followed first."""
        if self._follower is None:
            return request
        folders = self._folders.get(request.client_id, ())
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

        def work() -> None:
            if (completer := self._completer) is not None:
                self._apply_exclusions(completer)
                completer.documents.check_all()
                if None in clients:
                    completer.kv.forget()
                self._note_dictionary(completer)

        self._worker.submit(one_step_job(work, _UNFOLLOWED))

    def _apply_exclusions(self, completer: Completer) -> None:
        if self._follower is not None:
            self._follower.apply(completer.guard, completer.set_exclusions)

    def _on_workspace(self, client_id: str, workspace: Sequence[Sequence[str]] | None) -> None:
        """A client's folders, or the files in them to draft from, are others now."""
        folders = self._folders.get(client_id, ())
        self._workspaces[client_id] = workspace
        self._tell(lambda documents: documents.set_folders(client_id, folders, workspace))
        self._read_workspace(client_id)

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
        may_begin = (request.settings or self._config).cache.ahead and self._state.phase == "ready"
        if may_begin and self._may_use_kept(request):
            self._answers.write_ahead(request)

    def _run(self, generation: Generation, arrived: float) -> None:
        """Have the engine begin with an answer, or go on with it."""
        loop, completer = self._loop, self._completer
        assert loop is not None, "start() comes first"
        assert completer is not None, "the state is ready"
        request, completions = generation.request, list[Completion]()

        def work() -> Iterator[Chunk | Lines | Completion | None]:
            completer.documents.check(request.client_id)
            self._note_dictionary(completer)
            post(loop, lambda _: generation.run_begins(), None)
            yield from completer.run(request, arrived, generation.written)

        def on_item(item: Chunk | Lines | Completion | None) -> None:
            if isinstance(item, Completion):
                completions.append(item)
            elif isinstance(item, Lines):
                post(loop, generation.add_lines, item.completion)
            elif item is not None:
                post(loop, generation.add, item)

        def on_end() -> None:
            post(loop, lambda completion: self._answers.ended(generation, completion), next(iter(completions), None))

        def on_error(error: Exception) -> None:
            post(loop, lambda error: self._answers.failed(generation, error), error)

        # What is explained are the decisions of a whole answer.
        turn_s = TURN_S if completer.keeps_other_texts and not request.explain else None
        generation.job = job = Job(
            work, on_item, on_end, on_error, turn_s, progress=lambda: len(generation.written.token_ids)
        )
        self._worker.submit(job)

    def _load(self) -> None:
        """On the engine's thread: find, prepare, load and warm up the model, and tell the listeners how far it is."""
        try:
            from completiond.complete.open_completer import open_completer

            completer = open_completer(self._config, self._paths, self._progress)
        except CompletiondError as error:
            log.error("%s", error)
            self._failure = type(error)(error.message, error.advice)  # a traceback would hold what had been loaded
            self._set_state(ServiceState("failed", 0.0, str(error), self._config.model.name))
        except Exception as error:  # a defect of ours must show in status
            log.exception("loading failed")
            self._failure = NotReadyError(
                f"Loading {self._config.model.name} failed: {type(error).__name__}: {error}.", "See the daemon's log."
            )
            self._set_state(ServiceState("failed", 0.0, str(self._failure), self._config.model.name))
        else:
            self._apply_exclusions(completer)
            for client_id, folders in tuple(self._folders.items()):  # told while an earlier attempt to load failed
                completer.documents.set_folders(client_id, folders, self._workspaces.get(client_id))
                self._read_workspace(client_id)
            self._completer = completer
            target, given_up = completer.target, completer.memory.given_up if completer.memory else ()
            log.info("Ready: %s, %s on %s", self._config.model.name, target.dtype_name, target.device)
            self._set_state(ServiceState(
                "ready", 1.0, "ready", self._config.model.name, str(target.device), target.dtype_name,
                completer.fim_name, given_up,
            ))  # fmt: skip

    def _progress(self, share: float, what: str) -> None:
        self._set_state(ServiceState("loading", share, what, self._config.model.name))

    def _set_state(self, state: ServiceState) -> None:
        self._load_ended_s = time.monotonic()
        assert self._loop is not None, "start() comes first"
        post(self._loop, self._publish, state)

    def _publish(self, state: ServiceState) -> None:
        self._state = state
        for listener in list(self._listeners):
            listener(state)
