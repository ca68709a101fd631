"""The contract every adapter (LSP, CLI, later HTTP and msgpack-rpc) calls; service.py is the real one, tests have
fakes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from completiond.complete.latencies import LatencyState
from completiond.complete.request import (
    Chunk,
    Completion,
    CompletionRequest,
    DictionaryState,
    LineEdit,
    ServiceState,
    WorkCounts,
)
from completiond.spec.acceptance import AcceptanceCounts

if TYPE_CHECKING:  # what it has in words needs SupersededError
    from completiond.complete.recent import RecentRequest

__all__ = ["Service", "SupersededError"]


class SupersededError(Exception):
    """A newer request for the same (client, document) took this one's place. Not shown to users."""


class Service(Protocol):
    """All methods are called on the event loop's thread and never block it."""

    @property
    def state(self) -> ServiceState:
        """What can be done now."""

    @property
    def acceptance(self) -> Sequence[AcceptanceCounts]:
        """What became of the guesses that were checked since the model was loaded; empty before."""

    @property
    def work(self) -> WorkCounts:
        """What the engine has done since the model was loaded."""

    @property
    def dictionary(self) -> DictionaryState:
        """What there is to draft from, as it was after the last change."""

    @property
    def recent(self) -> Sequence[RecentRequest]:
        """The last requests to ``stream`` and ``complete`` that have ended, newest first, however they ended."""

    @property
    def latency(self) -> LatencyState:
        """How quickly the answers of the last minute came."""

    def subscribe(self, listener: Callable[[ServiceState], None]) -> Callable[[], None]:
        """Call ``listener`` on the event loop at every change of state; the returned function ends that."""

    def ensure_loading(self) -> None:
        """If the last attempt to load failed, begin another, but not right after it.

        What was missing (a model that had not been pulled, room on a disk) may be there by now.
        """

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk | Completion, None]:
        """Yield chunks as passes end, then one Completion, last.

        Closing the iterator, or cancelling the task that reads it, stops the engine within one pass. Raises
        NotReadyError while no model is loaded, SupersededError as soon as a newer request with the same client and
        document arrives, and UsageError for a request that cannot be served.
        """

    async def complete(self, request: CompletionRequest) -> Completion:
        """``stream`` without the chunks."""

    async def alternatives(
        self, request: CompletionRequest, first: Completion, count: int | None = None
    ) -> Sequence[Completion]:
        """Other answers to ``request`` than ``first``, at most ``count``; None: as many as the settings want. Raises
        what ``stream`` does.
        """

    async def tokenize(self, text: str, with_controls: bool = False) -> Sequence[int]:
        """The model's tokens of ``text``; ``with_controls``: what spells a control token is one. Raises NotReadyError
        while no model is loaded.
        """

    async def detokenize(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, control tokens as they are spelled. Raises NotReadyError while no model is loaded, and
        UsageError for a token that it does not have.
        """

    async def spellings(self, token_ids: Sequence[int]) -> Sequence[str]:
        """The text of each token by itself. Raises what ``detokenize`` does."""

    def observe(self, listener: Callable[[Completion], None]) -> Callable[[], None]:
        """Call ``listener`` on the event loop with every answer, whoever gets it; the returned function ends that."""

    def set_folders(self, client_id: str, folders: Sequence[str]) -> None:
        """Paths of the folders a client works in: what exclusions are relative to."""

    def open_document(self, client_id: str, document_id: str, lines: Sequence[str], path: str = "") -> None:
        """A client opened a document, or replaced all of its text: draft from it, unless ``path`` is excluded.

        ``lines`` have no line ends.
        """

    def edit_document(self, client_id: str, document_id: str, edits: Sequence[LineEdit]) -> None:
        """A client edited a document it has open."""

    def close_document(self, client_id: str, document_id: str) -> None:
        """A client closed a document: forget all of its text. Who waits for an answer in it gets a SupersededError."""

    def forget_client(self, client_id: str) -> None:
        """Cancel all that a client that has gone away asked for, and close its documents."""
