"""What the service needs of what answers: a model on this machine (completer.py), or a server (remote_completer.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from completiond.complete.request import Chunk, Completion, CompletionRequest, Lines, ServiceState, WorkCounts
from completiond.complete.written import Written
from completiond.config import Config, ExcludeConfig
from completiond.engine.remote_address import RemoteAddress
from completiond.errors import CompletiondError

if TYPE_CHECKING:
    from completiond.complete.open_documents import OpenDocuments
    from completiond.complete.tokens import TextTokenizer
    from completiond.exclude.guard import Guard
    from completiond.spec.acceptance_counter import AcceptanceCounter
    from completiond.spec.drafter_names import DrafterChoice
    from completiond.spec.policy import MeasuredPolicy

__all__ = ["AnyCompleter", "name_before", "ready_state"]


class AnyCompleter(Protocol):
    """Used on the engine's thread, but for what is read only. See Completer for what is not said here."""

    documents: OpenDocuments
    guard: Guard
    acceptance: AcceptanceCounter
    work: WorkCounts

    @property
    def name(self) -> str:
        """The model's."""

    @property
    def device_name(self) -> str:
        """What runs it."""

    @property
    def dtype_name(self) -> str:
        """The numbers it computes with; empty where nobody says."""

    @property
    def fim_name(self) -> str:
        """How it is told the text on both sides of the cursor."""

    @property
    def given_up(self) -> tuple[str, ...]:
        """What of the settings did not fit into memory, one line each."""

    @property
    def refused_drafters(self) -> Mapping[DrafterChoice, CompletiondError]:
        """Drafters that settings asked for since the model was loaded, and that cannot be had, with the reason."""

    @property
    def context_tokens(self) -> int:
        """Most tokens of prompt and answer together; 0: not known."""

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's. Raises UsageError where that is elsewhere."""

    @property
    def policy(self) -> MeasuredPolicy | None:
        """What has measured passes; None: nothing has."""

    @property
    def ready_detail(self) -> str:
        """What is said of one that is ready."""

    @property
    def can_release(self) -> bool:
        """Whether ``release`` gives anything back."""

    @property
    def keeps_other_texts(self) -> bool:
        """Whether answers may take turns."""

    @property
    def writes_ahead(self) -> bool:
        """Whether what nobody has asked for yet may be written: it costs nobody else anything."""

    def connect(self) -> None:
        """Be ready, or raise the CompletiondError that says why not; called again after that."""

    def release(self) -> None:
        """Give back the memory that the model takes, until ``connect`` is called again; ``run`` and ``read`` are not
        called before. Documents are followed as ever.
        """

    def close(self) -> None:
        """Let go of connections. The engine's thread has ended."""

    def forget_texts(self) -> None:
        """Drop all that was read."""

    def set_exclusions(self, exclude: ExcludeConfig, own: Mapping[str, ExcludeConfig]) -> None:
        """See Completer.set_exclusions."""

    def run(
        self, request: CompletionRequest, arrived: float, written: Written | None = None
    ) -> Iterator[Chunk | Lines | Completion | None]:
        """See Completer.run."""

    def read(self, request: CompletionRequest) -> Iterator[None]:
        """See Completer.read."""


def name_before(config: Config) -> str:
    """What the model is called before it is there."""
    if not config.engine.remote:
        return config.model.name
    return config.engine.remote_model or f"the model at {RemoteAddress.parse(config.engine.remote).shown}"


def ready_state(completer: AnyCompleter) -> ServiceState:
    """The service's, with a ``completer`` that is ready."""
    return ServiceState(
        "ready", 1.0, completer.ready_detail, completer.name, completer.device_name, completer.dtype_name,
        completer.fim_name, completer.given_up, completer.context_tokens,
    )  # fmt: skip
