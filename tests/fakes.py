"""A completion service without a model. What it does for a request is in the name of the document:

hash.py    a digest of the prefix, a colon, a digest of the suffix, in two chunks; also of a document without a name
slow.py    ``slow``, one character each 50 ms
say.py     what the first line says as a JSON string, one character a chunk
hang.py    never answers, until cancelled or superseded
empty.py   nothing
hush.py    nothing, by way of a chunk without text
crash.py   an exception whose message quotes the prefix
(others)   ``fake``, in one chunk
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from completiond.complete.latencies import LatencyState
from completiond.complete.recent import RecentRequest
from completiond.complete.request import (
    Chunk,
    Completion,
    CompletionRequest,
    DictionaryState,
    LineEdit,
    ServiceState,
    Span,
    WorkCounts,
)
from completiond.complete.service_protocol import SupersededError
from completiond.errors import NotReadyError, UsageError
from completiond.spec.acceptance import AcceptanceCounts

HASH, SLOW, HANG, OTHER = (f"file:///p/{name}.py" for name in ("hash", "slow", "hang", "other"))
SLOW_CHARACTER_S = 0.05


@dataclass(frozen=True)
class FakeLoading:
    """How loading goes: ``num_steps`` of ``step_s`` each, and an error at the end unless ``error`` is empty."""

    num_steps: int = 0
    step_s: float = 0.0
    error: str = ""

    @classmethod
    def from_environment(cls) -> FakeLoading:
        """Read FAKE_LOADING, ``steps,seconds per step,error``."""
        steps, step_s, error = os.environ.get("FAKE_LOADING", "0,0,").split(",", 2)
        return cls(int(steps), float(step_s), error)


def digest(text: str) -> str:
    """Return a short name for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class FakeService:
    """Does what completiond.complete.service_protocol says, by script."""

    def __init__(self, loading: FakeLoading | None = None) -> None:
        self.requests: list[CompletionRequest] = []
        self.forgotten: list[str] = []
        self.folders: dict[str, list[str]] = {}
        self.documents: dict[tuple[str, str], list[str]] = {}
        self.num_running = 0
        self.closed = False
        self.acceptance: tuple[AcceptanceCounts, ...] = ()
        self.dictionary = DictionaryState()
        self.work = WorkCounts()
        self.recent: list[RecentRequest] = []
        self.latency = LatencyState()
        self._loading = loading or FakeLoading()
        self._state = ServiceState("loading", 0.0, "reading weights", "fake-model")
        self._listeners: list[Callable[[ServiceState], None]] = []
        self._newest: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._load_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Load as scripted; at once if there are no steps."""
        if self._loading.num_steps:
            self._load_task = asyncio.create_task(self._load())
        else:
            self._loaded()

    async def close(self) -> None:
        """Stop loading."""
        self.closed = True
        if self._load_task is not None:
            self._load_task.cancel()

    async def _load(self) -> None:
        for step in range(self._loading.num_steps):
            self.set_state(replace(self._state, progress=step / self._loading.num_steps))
            await asyncio.sleep(self._loading.step_s)
        self._loaded()

    def _loaded(self) -> None:
        if self._loading.error:
            self.set_state(replace(self._state, phase="failed", detail=self._loading.error))
        else:
            self.set_state(ServiceState("ready", 1.0, "", "fake-model", "cpu", "int8", "fake"))

    def set_state(self, state: ServiceState) -> None:
        """Change the state, as loading does."""
        self._state = state
        for listener in tuple(self._listeners):
            listener(state)

    @property
    def state(self) -> ServiceState:
        return self._state

    def subscribe(self, listener: Callable[[ServiceState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def set_folders(self, client_id: str, folders: Sequence[str]) -> None:
        self.folders[client_id] = list(folders)

    def open_document(self, client_id: str, document_id: str, lines: Sequence[str], path: str = "") -> None:
        self.documents[client_id, document_id] = list(lines)

    def edit_document(self, client_id: str, document_id: str, edits: Sequence[LineEdit]) -> None:
        lines = self.documents[client_id, document_id]
        for edit in edits:
            lines[edit.first_line : edit.first_line + edit.num_old_lines] = edit.new_lines

    def close_document(self, client_id: str, document_id: str) -> None:
        self.documents.pop((client_id, document_id), None)

    def ensure_loading(self) -> None:
        """Nothing to try again: a script has its outcome."""

    @property
    def num_listeners(self) -> int:
        """Subscriptions that have not been ended."""
        return len(self._listeners)

    def forget_client(self, client_id: str) -> None:
        self.forgotten.append(client_id)

    async def alternatives(
        self, request: CompletionRequest, first: Completion, count: int | None = None
    ) -> Sequence[Completion]:
        """None."""
        return ()

    async def tokenize(self, text: str, with_controls: bool = False) -> Sequence[int]:
        """A token a character."""
        return [ord(char) for char in text]

    async def detokenize(self, token_ids: Sequence[int]) -> str:
        """The characters."""
        return "".join(map(chr, token_ids))

    async def spellings(self, token_ids: Sequence[int]) -> Sequence[str]:
        """A character each."""
        return [chr(token) for token in token_ids]

    def observe(self, listener: Callable[[Completion], None]) -> Callable[[], None]:
        """Of no answer."""
        return lambda: None

    async def complete(self, request: CompletionRequest) -> Completion:
        async for event in self.stream(request):
            if isinstance(event, Completion):
                return event
        raise AssertionError("no completion")

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk | Completion, None]:
        if self._state.phase != "ready":
            raise NotReadyError(f"The model is not ready: {self._state.detail}.", "Wait.")
        if request.max_tokens == 4096:
            raise UsageError("max_tokens is 4096.", "Use fewer.")
        key = request.client_id, request.document_id
        superseded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if (older := self._newest.get(key)) is not None and not older.done():
            older.set_result(None)
        self._newest[key] = superseded
        self.requests.append(request)
        self.num_running += 1
        try:
            chunks = []
            for pause_s, text in _script(request):
                await asyncio.wait([superseded], timeout=pause_s)
                if superseded.done():
                    raise SupersededError
                chunks.append(Chunk(text, (Span(text, "model"),)))
                yield chunks[-1]
            yield _completion(chunks)
        finally:
            self.num_running -= 1
            superseded.cancel()


def _script(request: CompletionRequest) -> list[tuple[float | None, str]]:
    name = PurePosixPath(request.path).name
    if name == "hash.py" or name.startswith("untitled:"):
        return [(0, digest(request.prefix)), (0, ":" + digest(request.suffix))]
    if name == "slow.py":
        return [(SLOW_CHARACTER_S, character) for character in "slow"]
    if name == "say.py":
        return [(0, character) for character in json.loads(request.prefix.partition("\n")[0])]
    if name == "hang.py":
        return [(None, "")]
    if name == "empty.py":
        return []
    if name == "hush.py":
        return [(0, "")]
    if name == "crash.py":
        raise RuntimeError(f"cannot complete {request.prefix}")
    return [(0, "fake")]


def _completion(chunks: list[Chunk]) -> Completion:
    return Completion(
        text="".join(chunk.text for chunk in chunks),
        token_ids=tuple(range(len(chunks))),
        spans=tuple(span for chunk in chunks for span in chunk.spans),
        prompt_tokens=1,
        cached_tokens=0,
        ttft_ms=1.0,
        ms_per_token=0.0,
        passes=len(chunks),
        drafted=0,
        accepted=0,
        by_drafter={},
        stop_reason="eos" if chunks else "empty",
        model="fake-model",
        device="cpu",
    )
