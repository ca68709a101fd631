"""The real model's own answer at one place, decoded plainly and with all sources to draft from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from completiond.complete.answer import Answer
from completiond.complete.completer import Completer
from completiond.complete.place import Place
from completiond.complete.prompt import Prompt, PromptBudget, build_prompt
from completiond.complete.tokens import TextTokenizer
from completiond.engine.generate import Step, generate
from completiond.engine.sampling import Sampler
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import Drafter, NoDrafter

__all__ = ["Decode", "ModelRun", "compare", "decode"]

T_co = TypeVar("T_co", covariant=True)


class Decode(Protocol[T_co]):
    """What is done at one place: ``compare``, or another comparison."""

    def __call__(
        self,
        kind: str,
        prefix: str,
        suffix: str,
        text: DraftText,
        completer: Completer,
        sampler: Sampler,
        max_tokens: int,
        /,
    ) -> T_co:
        """See ``compare``."""  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelRun:
    """``kind`` is the class that its figures are added up by."""

    kind: str
    plain: tuple[Step, ...]
    drafted: tuple[Step, ...]
    equal: bool
    visible_tokens: int
    """Tokens until the stop rules end the answer: the part a user would see."""


def compare(
    kind: str, prefix: str, suffix: str, text: DraftText, completer: Completer, sampler: Sampler, max_tokens: int
) -> ModelRun:
    """Decode ``max_tokens`` at a place twice, on the same prompt cache and with no stop rule."""
    config = completer.config
    budget = PromptBudget(config.prompt.prefix_tokens, config.prompt.suffix_tokens)
    prompt = build_prompt(prefix, suffix, completer.tokenizer, completer.fim, budget)
    plain = decode(completer, prompt, NoDrafter(), sampler, max_tokens)
    drafted = decode(completer, prompt, completer.drafters.get("ngram", text), sampler, max_tokens)
    plain_ids = [token_id for step in plain for token_id in step.token_ids]
    equal = plain_ids == [token_id for step in drafted for token_id in step.token_ids]
    return ModelRun(kind, plain, drafted, equal, _visible(prefix, suffix, plain_ids, completer.tokenizer))


def decode(
    completer: Completer, prompt: Prompt, drafter: Drafter, sampler: Sampler, max_tokens: int
) -> tuple[Step, ...]:
    """The passes of one answer that wrote something, with no stop rule."""
    drafter.reset(prompt.prefix_ids, (prompt.suffix_ids,))
    steps = generate(
        completer.target, completer.kv, prompt.token_ids, drafter, sampler, lambda token_id: None, max_tokens,
        completer.config.spec.max_draft_tokens, completer.policy,
    )  # fmt: skip
    return tuple(step for step in steps if step.token_ids)


def _visible(prefix: str, suffix: str, token_ids: Sequence[int], tokenizer: TextTokenizer) -> int:
    answer = Answer(tokenizer, Place.of(prefix[-65536:], suffix[:65536]))
    return next(
        (i for i, token_id in enumerate(token_ids, start=1) if answer.push(token_id) is not None), len(token_ids)
    )
