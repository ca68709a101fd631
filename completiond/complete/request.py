"""What is asked of the completion service and what it answers: plain data, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from completiond.complete.limits import NO_LIMITS, Limits
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter_names import DrafterChoice
from completiond.spec.policy import Decision

if TYPE_CHECKING:  # the shim imports this module, and has no need of settings
    from completiond.config import Config

__all__ = [
    "EXCLUDED",
    "OFF",
    "Chunk",
    "Completion",
    "CompletionRequest",
    "DictionaryState",
    "DrafterStats",
    "LineEdit",
    "Lines",
    "OtherText",
    "ServedFrom",
    "ServiceState",
    "Span",
    "TokenText",
    "WorkCounts",
]

ServedFrom = Literal["engine", "running", "cache"]
"""
``engine``   the model was run for this request
``running``  another request's answer, which this one's text still fitted, was gone on with
``cache``    a finished answer; no pass of the model was needed
"""

EXCLUDED: Final = "excluded: "
"""How the stop reason of a completion in a file that may not be read begins."""

OFF: Final = "off: "
"""How that of a completion where the settings want none begins; the setting follows."""


@dataclass(frozen=True, slots=True)
class OtherText:
    """A text, or a piece of one, that a request brings along; ``path`` is empty where it is of no file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One completion at one place of one text.

    ``prefix`` and ``suffix`` are the whole text before and after the cursor, with the document's own line ends; the
    service cuts them to the token budget. ``client_id`` and ``document_id`` name who asks for what: a newer request
    with the same pair supersedes the older one. ``max_tokens`` None means the configured default.
    """

    prefix: str
    suffix: str
    path: str = ""
    client_id: str = ""
    document_id: str = ""
    max_tokens: int | None = None
    sampling: SamplingParams = field(default_factory=SamplingParams)
    drafter: DrafterChoice = "auto"
    explain: bool = False
    in_lines: bool = False
    """After ``completion.deadline_ms``, the lines that are whole are answer enough, as soon as there is one."""
    may_read_less: bool = False
    """Where reading all of the context would take longer than ``prompt.max_read_ms``: who stays has the rest read in a
    quiet moment.
    """
    avoided_ids: tuple[int, ...] | None = None
    """Tokens that the answer must not begin with, for who has seen those (alternatives.py); None: any will do. Such an
    answer is not kept.
    """
    language_id: str = ""
    """LSP's name of the language; empty: by the file's ending."""
    settings: Config | None = None
    """What is set for this file and client; None: what the service, or the completer, was made with."""
    client_name: str = ""
    """What the client calls itself, for people to read; empty: it does not say."""
    is_exact: bool = False
    """A program's own question: it takes no other's place, nor has its place taken, and it is answered by what was
    written for the very same question only.
    """
    limits: Limits = NO_LIMITS
    """Where else it is to end."""
    is_raw: bool = False
    """``prefix`` is all that the model reads, control tokens as they are spelled, and the answer all that it writes."""
    prompt_ids: tuple[int, ...] | None = None
    """What it reads instead, in tokens, if the request is raw."""
    others: tuple[OtherText, ...] = ()
    """Further texts to draft from. They change how long the answer takes, never the answer."""


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines ``[first_line, first_line + num_old_lines)`` of a document now read ``new_lines`` (no line ends)."""

    first_line: int
    num_old_lines: int
    new_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of generated text and where its tokens came from: ``model`` or the name of a drafter."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Text that one pass added to the answer (final: it is never taken back), and the same text by origin."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """The whole lines of an answer that is still being written, as a completion of their own, for those in a hurry."""

    completion: Completion


@dataclass(frozen=True, slots=True)
class TokenText:
    """What a token added to the text, and the natural logarithm of the probability that the model gave it."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class DrafterStats:
    """Tokens one drafter proposed and how many of them were accepted."""

    drafted: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished answer. ``text`` is what to insert at the cursor, ``token_ids`` are the tokens that made it; behind
    half a word they spell that first (healing.py).

    ``stop_reason``: why it ends where it does, or why it is empty; reasons.py has all of them, in words. ``deadline``:
    there is more, the answer to the next request.
    ``ttft_ms`` is from the request's arrival to its first token; ``ms_per_token`` is the mean over the tokens after
    the first pass (0.0 when there is only one pass).
    """

    text: str
    token_ids: tuple[int, ...]
    spans: tuple[Span, ...]
    prompt_tokens: int
    cached_tokens: int
    ttft_ms: float
    ms_per_token: float
    passes: int
    drafted: int
    accepted: int
    by_drafter: dict[str, DrafterStats]
    stop_reason: str
    model: str
    device: str
    decisions: tuple[Decision, ...] = ()
    """What was drafted in each pass and why, if the request asked to have it explained."""
    served_from: ServedFrom = "engine"
    moved_tokens: int = 0
    """Of the prompt, neither read nor found in their places: an approximation (cache/shift.py)."""
    context_share: float = 1.0
    """How much was read of the context that the settings want; less where reading takes long (context_budget.py)."""
    tokens: tuple[TokenText, ...] = ()
    """The text token by token, if the request was exact."""
    stop_word: str = ""
    """Which of the request's strings ended it."""


@dataclass(slots=True)
class WorkCounts:
    """What the engine has done since the model was loaded: forward passes, tokens read or checked in them, and tokens
    that became part of an answer; drafts that were checked, tokens in them, and of these those that were right.
    """

    passes: int = 0
    computed_tokens: int = 0
    written_tokens: int = 0
    drafts: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What the service can do now. ``progress`` is the share of loading done, 0.0 to 1.0; ``detail`` is one line."""

    phase: Literal["loading", "ready", "failed"]
    progress: float
    detail: str
    model: str
    device: str = ""
    dtype: str = ""
    fim: str = ""
    given_up: tuple[str, ...] = ()
    """What of the settings did not fit into memory, one line each."""
    context_tokens: int = 0
    """How long a prompt and its answer can be together; 0 before the model is there."""


@dataclass(frozen=True, slots=True)
class DictionaryState:
    """What all clients' open documents give to draft from: ``bytes`` is the memory of the indexes.

    ``excluded_documents`` are open and may not be read. A document that was left out to keep the budget of memory is
    in neither number.
    """

    documents: int = 0
    tokens: int = 0
    bytes: int = 0
    excluded_documents: int = 0
