"""One completion from request to answer, on the engine's thread: prompt, decode loop, stop rules, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from completiond.complete.answer import HIDDEN, UNCERTAIN, Answer
from completiond.complete.avoiding import Avoiding
from completiond.complete.context.other_files import Choice, OtherFiles
from completiond.complete.context.place import ContextPlace
from completiond.complete.context_budget import ReadingTime, fit_prompt
from completiond.complete.dictionary import Dictionary
from completiond.complete.families import find_family
from completiond.complete.healing import HealedAnswer, Healer, Healing
from completiond.complete.language import why_off
from completiond.complete.line_ends import line_end_of, with_line_end, with_line_feeds
from completiond.complete.open_documents import OpenDocuments
from completiond.complete.other_texts import others_to_draft_from
from completiond.complete.own_model import OwnModel
from completiond.complete.place import Place
from completiond.complete.prompt import CHARS_PER_TOKEN, Prompt, PromptBudget, build_prompt
from completiond.complete.raw import RawAnswer, raw_prompt, raw_room
from completiond.complete.repo_context import NO_CONTEXT
from completiond.complete.request import (
    EXCLUDED,
    Chunk,
    Completion,
    CompletionRequest,
    DrafterStats,
    Lines,
    WorkCounts,
)
from completiond.complete.set_exclusions import exclusions_of
from completiond.complete.vocabulary import Vocabulary
from completiond.complete.written import Figures, Written
from completiond.config import Config, ExcludeConfig
from completiond.engine.constrained import ConstrainedSampler, Constraint
from completiond.engine.generate import Step, generate, read_prompt
from completiond.engine.load import LoadedModel
from completiond.engine.out_of_memory import MEMORY_ADVICE, is_out_of_memory
from completiond.engine.sampling import Sampler
from completiond.errors import MemoryFullError, UsageError
from completiond.exclude.guard import Guard
from completiond.exclude.mask import mask_secrets
from completiond.spec.acceptance_counter import AcceptanceCounter, CountingPolicy
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import Drafter
from completiond.spec.policy import Decision, FixedPolicy

__all__ = ["Completer"]

T = TypeVar("T")


class Completer(OwnModel):
    """Owns the model, its cache and the drafters. Not thread-safe: one thread runs one request at a time."""

    def __init__(self, model: LoadedModel, config: Config, model_file: Path | None = None) -> None:
        """``model_file``: what ``model`` was loaded from, by which its shipped heads are found."""
        super().__init__(model, config, model_file)
        self.fim = find_family(self.tokenizer.control_id)
        frame = build_prompt("", "", self.tokenizer, self.fim, PromptBudget(1, 0))
        self._frame_tokens = max(8, len(frame.token_ids))
        self.dictionary = Dictionary(self.tokenizer)
        self.guard = Guard(exclusions_of(config.exclude))
        self.others = OtherFiles(self.dictionary, self.guard, self.tokenizer, self.fim)
        self.documents = OpenDocuments(self.dictionary, self.guard, config.spec.workspace, others=self.others)
        self.acceptance = AcceptanceCounter()
        self.work = WorkCounts()
        self.reading: ReadingTime | None = None
        """How long it takes to read; None before the machine was measured: all that the settings want is read."""

    @property
    def fim_name(self) -> str:
        """The fill-in-the-middle family, or ``prefix-only``."""
        return self.fim.family.name if self.fim else "prefix-only"

    @cached_property
    def healer(self) -> Healer | None:
        """What takes half words back; None where the vocabulary's tokens have no spelling."""
        spellings = self.tokenizer.spellings()
        return Healer(Vocabulary(spellings)) if spellings else None

    def prompt(
        self,
        request: CompletionRequest,
        max_tokens: int,
        whole: bool = False,
        may_take_back: bool = False,
        choice: Choice | None = None,
    ) -> Prompt:
        """What the model will read for ``request``: the configured budgets, less where the cache is too small for
        them, or, unless ``whole``, the machine too slow. All of the text before the cursor, unless it
        ``may_take_back`` some (healing.py). ``choice``: what it is told of other files, if not what it was told last.
        """
        most = self._budget(request, max_tokens)
        wanted = (request.settings or self.config).prompt
        text = with_line_feeds(request.prefix), with_line_feeds(request.suffix)
        read_chars = most.prefix_tokens * CHARS_PER_TOKEN, most.suffix_tokens * CHARS_PER_TOKEN
        prefix, suffix = mask_secrets(*text, *read_chars)
        key = (request.client_id, request.document_id)
        prefix, suffix = self.dictionary.masked(key, prefix, suffix, max(read_chars))
        is_masked = (prefix, suffix) != text
        heals = may_take_back and (request.settings or self.config).completion.healing
        take_back = self.healer.take_back if heals and self.healer is not None else None
        if choice is None and most.context_tokens:
            choice = self.others.choice(ContextPlace.of(request, prefix, suffix, most), most.context_tokens)
        context = choice.context if choice is not None else NO_CONTEXT
        most = replace(most, context_tokens=len(context))

        def build(budget: PromptBudget) -> Prompt:
            told = context if budget.context_tokens else NO_CONTEXT
            prompt = build_prompt(prefix, suffix, self.tokenizer, self.fim, budget, told, take_back)
            return replace(prompt, is_masked=is_masked)

        max_read_ms = wanted.max_read_ms
        if whole or self.reading is None or not max_read_ms:
            return build(most)
        return fit_prompt(build, most, self._num_unread, self.reading, max_read_ms)

    def _budget(self, request: CompletionRequest, max_tokens: int) -> PromptBudget:
        """The configured one, less where the cache is too small for it. Raises UsageError where it is for any."""
        room = self.kv.capacity_tokens - max_tokens - self._frame_tokens
        if room < 16:
            raise UsageError(
                f"max_tokens {max_tokens} leaves no room for a prompt in {self.kv.capacity_tokens} tokens of context.",
                "Ask for less, or raise model.context_tokens.",
            )
        wanted = (request.settings or self.config).prompt
        suffix_tokens = min(wanted.suffix_tokens, room // 4)
        prefix_tokens = min(wanted.prefix_tokens, room - suffix_tokens)
        # The text around the cursor says more than other files: these have what it leaves.
        return PromptBudget(
            prefix_tokens, suffix_tokens, min(wanted.context_tokens, room - suffix_tokens - prefix_tokens)
        )

    def _num_unread(self, prompt: Prompt) -> int:
        """How many of its tokens would be read."""
        if self.shift is None:
            return self.kv.num_unread(prompt.token_ids)
        return self.shift.num_unread(prompt.token_ids, prompt.movable)

    def _draft_text(self, request: CompletionRequest) -> DraftText | None:
        """The open documents, if the request's is one of them; a request from elsewhere has no business with them."""
        key = (request.client_id, request.document_id)
        if key not in self.dictionary:
            return None
        return self.dictionary.draft_text(key, with_line_feeds(request.prefix).count("\n"))

    def _drafter(self, request: CompletionRequest) -> Drafter:
        text = self._draft_text(request)
        if request.drafter != "auto":
            return self.drafters.get(request.drafter, text)
        return self.drafters.configured((request.settings or self.config).spec.drafter, text)

    def set_exclusions(self, exclude: ExcludeConfig, own: Mapping[str, ExcludeConfig]) -> None:
        """What the settings take out is this from now on; of clients that have their ``own``, that."""
        self.guard.set_exclusions(exclusions_of(exclude), {client: exclusions_of(one) for client, one in own.items()})

    def run(
        self, request: CompletionRequest, arrived: float, written: Written | None = None
    ) -> Iterator[Chunk | Lines | Completion | None]:
        """Yield the new text of each pass (None when a pass added none), and the Completion last; for a request
        that is content with lines also those so far, whenever there is one more.

        ``arrived`` is when the request came, by ``time.perf_counter``. Closing the iterator stops after the current
        pass; ``written`` then has what there is, and given to another run of the same request makes it go on behind
        that, as if it had not been broken off. Raises UsageError for a request that cannot fit, and MemoryFullError
        when an allocation fails; what was read of texts is forgotten then.
        """
        yield from self._while_memory_lasts(self._run(request, arrived, written))

    def _while_memory_lasts(self, work: Iterator[T]) -> Iterator[T]:
        """``work``, of which an allocation that fails costs what was read of texts, and not the process."""
        try:
            yield from work
            return
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        self.forget_texts()  # behind the handler: what was caught holds the tensors of the pass
        raise MemoryFullError("Memory ran out while an answer was written.", MEMORY_ADVICE)

    def _run(
        self, request: CompletionRequest, arrived: float, written: Written | None
    ) -> Iterator[Chunk | Lines | Completion | None]:
        """See ``run``."""
        written = Written() if written is None else written
        token_ids = written.token_ids
        if (reason := self.guard.why(request.client_id, request.path)) is not None:
            yield self._silence(f"{EXCLUDED}{reason}")
            return
        settings = request.settings or self.config
        if not request.is_raw and (off := why_off(request, settings)) is not None:
            yield self._silence(off)
            return
        self.turn_to(request.client_id, request.document_id)
        prompt = written.prompt = written.prompt or self._prompt(request)
        max_tokens = self._max_tokens(request, prompt)
        if self.policy is not None:
            self.policy.take_decisions()  # an answer that was broken off leaves its own behind
        drafter = self._drafter(request)
        others = others_to_draft_from(request, self.guard, self.tokenizer)
        drafter.reset((*prompt.prefix_ids, *token_ids), (prompt.suffix_ids, *others))
        if max_tokens == 0:
            yield from self._read_only(request, prompt, drafter, Figures(arrived))
            return
        before, after = with_line_feeds(request.prefix[-65536:]), with_line_feeds(request.suffix[:65536])
        place = Place.of(before, after, settings.completion.multiline)
        answer = self._answer(request, place, prompt, settings.completion.min_confidence / 100)
        sampler = self._sampler(request, prompt, token_ids)
        policy = CountingPolicy(self.policy or FixedPolicy(), self.acceptance, request.sampling.temperature)
        figures = written.figures = written.figures or Figures(arrived)
        line_end = line_end_of(request)
        stop_reason = answer.take_known(token_ids, written.sources, written.logprobs, max_tokens)
        steps = () if stop_reason else generate(
            self.target, self.kv, (*prompt.token_ids, *token_ids), drafter, sampler, answer.push,
            max_tokens - len(token_ids), self.config.spec.max_draft_tokens, policy, self.shift, prompt.movable,
        )  # fmt: skip
        if token_ids and (chunk := answer.close(stop_reason) if stop_reason else answer.take_chunk()):
            yield with_line_end(chunk, line_end)
        lines, num_read = "", 0
        for step in steps:
            figures.add(step)
            self._count(step)
            if not step.token_ids:  # a piece of the prompt
                num_read += step.computed_tokens
                written.num_read = max(written.num_read, step.cached_tokens + num_read)
            token_ids.extend(step.token_ids)
            stop_reason = answer.attribute(step.accepted, step.source, step.logprobs) or step.stop_reason
            is_late = stop_reason is None and request.limits.is_time_over(answer.text, figures.wrote_ms)
            stop_reason = "time" if is_late else stop_reason
            written.is_whole = stop_reason is not None
            written.sources.extend(answer.sources[len(written.sources) :])
            written.logprobs.extend(answer.logprobs[len(written.logprobs) :])
            chunk = answer.take_chunk() if stop_reason is None else answer.close(stop_reason)
            stop_reason = UNCERTAIN if answer.is_uncertain else stop_reason
            yield with_line_end(chunk, line_end) if chunk else None
            if request.in_lines and stop_reason is None and len(answer.whole_lines) > len(lines):
                lines = answer.whole_lines
                yield Lines(self._completion(answer, lines, prompt, figures, "deadline", line_end))
            if stop_reason is not None:
                break
        decisions = self.policy.take_decisions() if self.policy and request.explain else []
        is_told = answer.text or request.is_raw or stop_reason in (HIDDEN, UNCERTAIN)
        ended = stop_reason if stop_reason and is_told else "empty"
        completion = self._completion(answer, answer.text, prompt, figures, ended, line_end, decisions)
        yield replace(completion, tokens=answer.tokens) if request.is_exact else completion

    def _prompt(self, request: CompletionRequest) -> Prompt:
        """What the model reads at first."""
        if request.is_raw:
            return raw_prompt(request, self.tokenizer, self.fim, self.kv.capacity_tokens)
        max_tokens = self._max_tokens(request, None)
        return self.prompt(request, max_tokens, not request.may_read_less, may_take_back=True)

    def _max_tokens(self, request: CompletionRequest, prompt: Prompt | None) -> int:
        """Raises UsageError for less than one, unless that is how the request is limited, and for no room."""
        wanted, limit = (request.settings or self.config).completion.max_tokens, request.limits.max_tokens
        if request.is_raw and prompt is not None:
            return raw_room(prompt, self.kv.capacity_tokens, wanted if limit is None else limit)
        max_tokens = wanted if request.max_tokens is None else request.max_tokens
        if max_tokens < 1:
            raise UsageError(f"max_tokens is {max_tokens}.", "Use a positive number.")
        return max_tokens if limit is None else min(max_tokens, limit)

    def _read_only(
        self, request: CompletionRequest, prompt: Prompt, drafter: Drafter, figures: Figures
    ) -> Iterator[Completion | None]:
        """Have the cache hold the prompt; the answer is empty."""
        for step in read_prompt(self.target, self.kv, prompt.token_ids, drafter, self.shift, prompt.movable):
            figures.add(step)
            self._count(step)
            yield None
        answer = RawAnswer(self.tokenizer, request.limits)
        yield self._completion(answer, "", prompt, figures, "length", line_end_of(request))

    def _answer(self, request: CompletionRequest, place: Place, prompt: Prompt, min_confidence: float) -> Answer:
        if request.is_raw:
            return RawAnswer(self.tokenizer, request.limits)
        if not prompt.taken_back:
            return Answer(self.tokenizer, place, min_confidence, prompt.is_masked, request.limits)
        return HealedAnswer(self.tokenizer, place, prompt.taken_back, min_confidence, prompt.is_masked, request.limits)

    def _sampler(self, request: CompletionRequest, prompt: Prompt, known_ids: Sequence[int]) -> Sampler:
        """``known_ids`` of the answer are written already."""
        start = len(prompt.token_ids)
        constraint: Constraint | None = None
        if self.healer is not None and prompt.taken_back:
            constraint = Healing(self.healer.vocabulary, prompt.taken_back, start, known_ids)
        if request.avoided_ids:
            constraint = Avoiding(request.avoided_ids, start, self.target.vocab_size, constraint)
        return Sampler(request.sampling) if constraint is None else ConstrainedSampler(request.sampling, constraint)

    def read(self, request: CompletionRequest) -> Iterator[None]:
        """Read all of the context that the settings want, as it is, so that a later answer finds it; in small pieces.

        What is told of other files is chosen anew for it, and told from then on if all was read. Does nothing in a
        file that may not be read. Closing the iterator stops after the current piece.
        """
        yield from self._while_memory_lasts(self._read(request))

    def _read(self, request: CompletionRequest) -> Iterator[None]:
        """See ``read``."""
        settings = request.settings or self.config
        if self.guard.why(request.client_id, request.path) is not None or why_off(request, settings):
            return
        self.turn_to(request.client_id, request.document_id)
        max_tokens = request.max_tokens or settings.completion.max_tokens
        choice = self._proposed(request, max_tokens)
        prompt = self.prompt(request, max_tokens, whole=True, may_take_back=True, choice=choice)
        drafter = self._drafter(request)
        drafter.reset(prompt.prefix_ids, (prompt.suffix_ids,))
        for step in read_prompt(self.target, self.kv, prompt.token_ids, drafter, self.shift, prompt.movable):
            self._count(step)
            yield
        if choice is not None:
            self.others.keep((request.client_id, request.document_id), choice)

    def _proposed(self, request: CompletionRequest, max_tokens: int) -> Choice | None:
        most = self._budget(request, max_tokens)
        if not most.context_tokens:
            return None
        prefix, suffix = with_line_feeds(request.prefix), with_line_feeds(request.suffix)
        return self.others.propose(ContextPlace.of(request, prefix, suffix, most), most.context_tokens)

    def _count(self, step: Step) -> None:
        self.work.passes += 1
        self.work.computed_tokens += step.computed_tokens
        self.work.written_tokens += len(step.token_ids)
        self.work.drafts += step.drafted > 0
        self.work.draft_tokens += step.drafted
        self.work.accepted_tokens += step.accepted
        if self.reading is not None and not step.token_ids and step.stop_reason is None:
            self.reading.observe(step.computed_tokens, step.pass_ms)

    def _completion(
        self, answer: Answer, text: str, prompt: Prompt, figures: Figures, stop_reason: str, line_end: str,
        decisions: Sequence[Decision] = (),
    ) -> Completion:  # fmt: skip
        """``text``: what the answer begins with, or all of it."""
        return Completion(
            text=text.replace("\n", line_end),
            token_ids=tuple(answer.token_ids),
            spans=with_line_end(Chunk(text, answer.spans_of(text)), line_end).spans,
            prompt_tokens=len(prompt.token_ids),
            cached_tokens=figures.cached_tokens,
            moved_tokens=figures.moved_tokens,
            context_share=prompt.context_share,
            ttft_ms=figures.ttft_ms,
            ms_per_token=figures.ms_per_token,
            passes=figures.passes,
            drafted=sum(drafted for drafted, _ in figures.by_drafter.values()),
            accepted=sum(accepted for _, accepted in figures.by_drafter.values()),
            by_drafter={name: DrafterStats(*counts) for name, counts in figures.by_drafter.items()},
            stop_reason=stop_reason,
            model=self.config.model.name,
            device=str(self.target.device),
            decisions=tuple(decisions),
            stop_word=answer.stop_word,
        )

    def _silence(self, reason: str) -> Completion:
        """The answer to a request that nothing was decoded for."""
        return Completion(
            text="", token_ids=(), spans=(), prompt_tokens=0, cached_tokens=0, ttft_ms=0.0, ms_per_token=0.0, passes=0,
            drafted=0, accepted=0, by_drafter={}, stop_reason=reason, model=self.config.model.name,
            device=str(self.target.device),
        )  # fmt: skip
