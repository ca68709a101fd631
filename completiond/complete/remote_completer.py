"""One completion by a remote engine: what it is told, and what is made of what it writes, is decided here.

Exclusions, masks, budgets, other files, shape and stop rules are those of a model of our own. What needs its tokens is
missing: nothing is drafted, half a word is not taken back, and how sure the model was is not known.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from completiond.complete.answer import HIDDEN, Answer
from completiond.complete.context.other_files import OtherFiles
from completiond.complete.context.place import ContextPlace
from completiond.complete.dictionary import Dictionary
from completiond.complete.language import why_off
from completiond.complete.letters import LETTERS_PER_TOKEN, SilentEncoder
from completiond.complete.line_ends import line_end_of, with_line_end, with_line_feeds
from completiond.complete.open_documents import OpenDocuments
from completiond.complete.place import Place
from completiond.complete.prompt import PromptBudget, build_prompt
from completiond.complete.raw import RawAnswer
from completiond.complete.remote_format import RemoteFormat, RemotePrompt
from completiond.complete.remote_writing import PortionTimes, RemoteWriting
from completiond.complete.repo_context import NO_CONTEXT
from completiond.complete.request import EXCLUDED, Chunk, Completion, CompletionRequest, Lines, WorkCounts
from completiond.complete.set_exclusions import exclusions_of
from completiond.complete.tokens import CHARS_PER_TOKEN, TextTokenizer
from completiond.complete.written import Written
from completiond.config import Config, ExcludeConfig
from completiond.engine.remote import RemoteServer
from completiond.engine.remote_address import RemoteAddress
from completiond.engine.remote_key import read_key
from completiond.errors import CompletiondError, UsageError
from completiond.exclude.guard import Guard
from completiond.exclude.mask import mask_secrets
from completiond.spec.acceptance_counter import AcceptanceCounter
from completiond.spec.drafter_names import DrafterChoice

__all__ = ["ONE_ANSWER", "RemoteCompleter", "open_remote"]

ONE_ANSWER: Final = "remote"
"""The stop reason where another answer is wanted: which token it must not begin with cannot be said to a server."""
NEAR_CHARS: Final = 65536
"""As much of the text on each side of the cursor may the rules look at."""


def open_remote(config: Config) -> RemoteCompleter:
    """Raises ConfigError for a key that is none."""
    engine = config.engine
    key = read_key(engine.remote_key_file, os.environ)
    address = RemoteAddress.parse(engine.remote)
    return RemoteCompleter(RemoteServer(address, engine.remote_model, key, engine.timeout_ms), config)


class RemoteCompleter:
    """An AnyCompleter: ``server`` writes. One thread runs one request at a time."""

    keeps_other_texts = False
    writes_ahead = False
    policy = None
    ready_detail = "ready"
    can_release = False
    dtype_name = ""
    context_tokens = 0
    given_up: tuple[str, ...] = ()
    refused_drafters: Mapping[DrafterChoice, CompletiondError] = MappingProxyType({})

    def __init__(self, server: RemoteServer, config: Config) -> None:
        self.server = server
        self.config = config
        self.format = RemoteFormat(config.engine.remote_format)
        self.guard = Guard(exclusions_of(config.exclude))
        self.dictionary = Dictionary(SilentEncoder())
        self.others = OtherFiles(self.dictionary, self.guard, self.format.encoder, self.format.fim)
        self.documents = OpenDocuments(self.dictionary, self.guard, config.spec.workspace, others=self.others)
        self.acceptance = AcceptanceCounter()
        self.work = WorkCounts()

    @property
    def name(self) -> str:
        """See AnyCompleter.name."""
        return self.server.model

    @property
    def device_name(self) -> str:
        """See AnyCompleter.device_name: the server's address."""
        return self.server.address.shown

    @property
    def fim_name(self) -> str:
        """See AnyCompleter.fim_name."""
        return self.format.name

    @property
    def tokenizer(self) -> TextTokenizer:
        """See AnyCompleter.tokenizer."""
        raise UsageError("The tokens of a remote engine's model are not known here.", "Ask that server.")

    def connect(self) -> None:
        """See AnyCompleter.connect."""
        self.server.connect()

    def release(self) -> None:
        """See AnyCompleter.release. The model's memory is the server's."""

    def close(self) -> None:
        """See AnyCompleter.close."""
        self.server.close()

    def forget_texts(self) -> None:
        """See AnyCompleter.forget_texts. Nothing is kept here of what was sent."""

    def set_exclusions(self, exclude: ExcludeConfig, own: Mapping[str, ExcludeConfig]) -> None:
        """See AnyCompleter.set_exclusions."""
        self.guard.set_exclusions(exclusions_of(exclude), {one: exclusions_of(its) for one, its in own.items()})

    def read(self, request: CompletionRequest) -> Iterator[None]:
        """See AnyCompleter.read. The server is asked nothing that nobody waits for."""
        return iter(())

    def run(
        self, request: CompletionRequest, arrived: float, written: Written | None = None
    ) -> Iterator[Chunk | Lines | Completion | None]:
        """See AnyCompleter.run. An answer that was broken off begins anew: ``written`` is not used.

        Raises UsageError for a request that cannot be, RemoteDownError and RemoteRefusedError.
        """
        settings = request.settings or self.config
        times = PortionTimes(arrived)
        max_tokens = _max_tokens(request, settings)
        reason = self._why_silent(request, settings)
        if reason is None and max_tokens == 0:
            reason = "length"  # nothing is read ahead there
        if reason is not None:
            yield self._completion(Answer(None, Place.of("", "")), 0, times, reason, request)
            return
        prompt, is_masked = self.prompt(request, settings)
        answer = _answer(request, settings, is_masked)
        max_chars = max_tokens * CHARS_PER_TOKEN
        ends, is_whole = ((), False) if request.is_raw else (self.format.ends, self.server.ends_answers)
        writing = RemoteWriting(answer, ends, max_chars, is_whole)
        line_end, lines = line_end_of(request), ""
        with contextlib.closing(self.server.complete(self._fields(prompt, max_tokens, request))) as portions:
            for portion in portions:
                if portion is None:
                    yield None
                    continue
                times.note()
                self._count()
                reason = writing.take(portion)
                if reason is None and request.limits.is_time_over(answer.text, times.wrote_ms):
                    reason = "time"
                if reason is not None:
                    break
                chunk = answer.take_chunk()
                yield with_line_end(chunk, line_end) if chunk else None
                if request.in_lines and len(answer.whole_lines) > len(lines):
                    lines = answer.whole_lines
                    yield Lines(self._completion(answer, len(lines), times, "deadline", request))
        reason = reason or writing.end()
        chunk = answer.close(reason)
        yield with_line_end(chunk, line_end) if chunk else None
        ended = reason if answer.text or request.is_raw or reason == HIDDEN else "empty"
        yield self._completion(answer, len(answer.text), times, ended, request)

    def prompt(self, request: CompletionRequest, settings: Config) -> tuple[RemotePrompt, bool]:
        """What the server is told, and whether secrets are hidden in it."""
        if request.is_raw:
            return _raw_prompt(request)
        wanted = settings.prompt
        budget = PromptBudget(
            wanted.prefix_tokens * LETTERS_PER_TOKEN,
            wanted.suffix_tokens * LETTERS_PER_TOKEN,
            wanted.context_tokens * LETTERS_PER_TOKEN,
        )
        text = with_line_feeds(request.prefix), with_line_feeds(request.suffix)
        read_chars = wanted.prefix_tokens * CHARS_PER_TOKEN, wanted.suffix_tokens * CHARS_PER_TOKEN
        prefix, suffix = mask_secrets(*text, *read_chars)
        key = (request.client_id, request.document_id)
        prefix, suffix = self.dictionary.masked(key, prefix, suffix, max(read_chars))
        context = NO_CONTEXT
        if budget.context_tokens:
            place = ContextPlace.of(request, prefix, suffix, budget)
            choice = self.others.choice(place, budget.context_tokens)
            context = choice.context if choice is not None else NO_CONTEXT
        built = build_prompt(prefix, suffix, self.format.encoder, self.format.fim, budget, context)
        return self.format.prompt_of(built.token_ids), (prefix, suffix) != text

    def _why_silent(self, request: CompletionRequest, settings: Config) -> str | None:
        if (excluded := self.guard.why(request.client_id, request.path)) is not None:
            return f"{EXCLUDED}{excluded}"
        reason = None if request.is_raw else why_off(request, settings)
        if reason is None and request.avoided_ids is not None:
            reason = ONE_ANSWER
        return reason

    def _fields(self, prompt: RemotePrompt, max_tokens: int, request: CompletionRequest) -> dict[str, Any]:
        """Of the request. What is left at its default is not sent: not all servers know all of it."""
        sampling = request.sampling
        fields: dict[str, Any] = {
            "prompt": _whole_characters(prompt.text),
            "max_tokens": max_tokens,
            "temperature": sampling.temperature,
        }
        if prompt.suffix is not None:
            fields["suffix"] = _whole_characters(prompt.suffix)
        if sampling.temperature > 0:
            fields |= {"seed": sampling.seed, "top_p": sampling.top_p}
            if sampling.top_k:
                fields["top_k"] = sampling.top_k
        if self.format.family is not None and not request.is_raw:
            # vLLM and SGLang leave out control tokens, and what a model writes behind one that begins another file
            # would be glued to the answer.
            fields["skip_special_tokens"] = False
        return fields

    def _count(self) -> None:
        self.work.passes += 1
        self.work.written_tokens += 1

    def _completion(
        self, answer: Answer, num_chars: int, times: PortionTimes, stop_reason: str, request: CompletionRequest
    ) -> Completion:
        """``num_chars``: how much of the answer there is."""
        text = answer.text[:num_chars]
        shown = with_line_end(Chunk(text, answer.spans_of(text)), line_end_of(request))
        return Completion(
            text=shown.text,
            spans=shown.spans,
            token_ids=(),
            prompt_tokens=0,
            cached_tokens=0,
            ttft_ms=times.ttft_ms,
            ms_per_token=times.ms_per_portion,
            passes=times.num_portions,
            drafted=0,
            accepted=0,
            by_drafter={},
            stop_reason=stop_reason,
            model=self.name,
            device=self.device_name,
            stop_word=answer.stop_word,
        )


def _max_tokens(request: CompletionRequest, settings: Config) -> int:
    """Raises UsageError for less than one, unless that is how the request is limited."""
    limit = request.limits.max_tokens
    wanted = settings.completion.max_tokens if request.max_tokens is None else request.max_tokens
    if wanted < 1:
        raise UsageError(f"max_tokens is {wanted}.", "Use a positive number.")
    if limit is None:
        return wanted
    return limit if request.is_raw else min(wanted, limit)


def _answer(request: CompletionRequest, settings: Config, is_masked: bool) -> Answer:
    if request.is_raw:
        return RawAnswer(None, request.limits)
    before, after = with_line_feeds(request.prefix[-NEAR_CHARS:]), with_line_feeds(request.suffix[:NEAR_CHARS])
    place = Place.of(before, after, settings.completion.multiline)
    return Answer(None, place, is_masked=is_masked, limits=request.limits)


def _raw_prompt(request: CompletionRequest) -> tuple[RemotePrompt, bool]:
    """A program's own prompt, without secrets nevertheless: it leaves this machine."""
    if request.prompt_ids is not None:
        raise UsageError("A remote engine is sent text, not tokens.", "Send the prompt as a string.", "prompt")
    text, _ = mask_secrets(request.prefix, "", len(request.prefix), 0)
    return RemotePrompt(text, None), text != request.prefix


def _whole_characters(text: str) -> str:
    """Half a character of UTF-16, which an edit can leave for a moment, cannot be sent."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
