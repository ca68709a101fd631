"""Settings that fit into the memory there is: what is given up, in a fixed order, before a model is refused.

1. ``cache.memory_mb``, down to nothing;
2. the EAGLE head that ``spec.drafter = "auto"`` may draft with; a drafter that was named is kept;
3. ``model.context_tokens``, down to MIN_CONTEXT_TOKENS, and to what the longest answer leaves room for a prompt in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from completiond.complete.memory_need import MemoryNeed
from completiond.config import Config
from completiond.engine.available_memory import available_bytes, available_on
from completiond.engine.model_size import ModelSize
from completiond.engine.out_of_memory import MEMORY_ADVICE
from completiond.errors import MemoryFullError
from completiond.models.disk import format_bytes
from completiond.paths import Paths

__all__ = ["MIN_CONTEXT_TOKENS", "MemoryPlan", "check_draft_model", "check_loading", "plan_memory"]

MIN_CONTEXT_TOKENS = 512
MIN_PROMPT_TOKENS = 128
CONTEXT_STEP_TOKENS = 128


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """``config``: what was asked for, less what was ``given_up``, one line each. ``available_bytes`` is None where the
    system does not say; else it is no less than what is needed.
    """

    config: Config
    need: MemoryNeed
    available_bytes: int | None
    given_up: tuple[str, ...] = ()


def plan_memory(config: Config, size: ModelSize, model_file: Path, paths: Paths, available: int | None) -> MemoryPlan:
    """The first of the settings in the order above that fits, with as much for other texts as is left then.

    Raises MemoryFullError with figures when not even the last does, and what MemoryNeed.of raises.
    """
    asked = MemoryNeed.of(config, size, model_file, paths)
    if available is None:
        return MemoryPlan(config, asked, None)
    least = asked
    for smaller in _in_order(config, size, asked):
        least = replace(MemoryNeed.of(smaller, size, model_file, paths), other_texts=0)
        if (left := available - least.needed_bytes) >= 0:
            memory_mb = min(config.cache.memory_mb, left >> 20) if asked.other_texts else config.cache.memory_mb
            fitted = _with(smaller, "cache", memory_mb=memory_mb)
            need = MemoryNeed.of(fitted, size, model_file, paths)
            return MemoryPlan(fitted, need, available, tuple(_given_up(config, fitted)))
    raise _refusal(config, size, least, available)


def check_loading(name: str, size: ModelSize) -> None:
    """Raise MemoryFullError unless main memory has room to convert the weights of the model ``name``."""
    available = available_bytes()
    if available is not None and available < size.preparing:
        raise MemoryFullError(
            f"Converting the weights of {name} takes {format_bytes(size.preparing)} of main memory for a while, and"
            f" {format_bytes(available)} are available.",
            MEMORY_ADVICE,
        )


def check_draft_model(name: str, size: ModelSize, context_tokens: int) -> None:
    """Raise MemoryFullError unless there is room for the model ``name`` beside what is loaded now."""
    check_loading(name, size)
    needed_bytes = size.weights + size.work + size.cache(min(context_tokens, size.max_positions))
    available = available_on(size.device, mapped_bytes=size.weights)
    if available is not None and available < needed_bytes:
        raise MemoryFullError(
            f"The draft model {name} takes {format_bytes(needed_bytes)} of memory, and {format_bytes(available)} are"
            " available.",
            'Name a smaller one in spec.draft_model, or set spec.drafter to "auto".',
        )


def _in_order(config: Config, size: ModelSize, asked: MemoryNeed) -> Iterator[Config]:
    yield config
    if config.spec.drafter == "auto" and asked.drafter:
        config = _with(config, "spec", drafter="ngram")
        yield config
    tokens = min(config.model.context_tokens, size.max_positions)
    least = max(MIN_CONTEXT_TOKENS, config.completion.max_tokens + MIN_PROMPT_TOKENS)
    most = (tokens - 1) // CONTEXT_STEP_TOKENS * CONTEXT_STEP_TOKENS
    for fewer in (*range(most, least, -CONTEXT_STEP_TOKENS), min(least, tokens)):
        yield _with(config, "model", context_tokens=fewer)


def _given_up(asked: Config, fitted: Config) -> Iterator[str]:
    if fitted.cache.memory_mb < asked.cache.memory_mb:
        yield f"cache.memory_mb is {fitted.cache.memory_mb} instead of {asked.cache.memory_mb}"
    if fitted.spec.drafter != asked.spec.drafter:
        yield "the EAGLE head is not loaded, drafts are copies only"
    if fitted.model.context_tokens < asked.model.context_tokens:
        yield f"model.context_tokens is {fitted.model.context_tokens} instead of {asked.model.context_tokens}"


def _refusal(config: Config, size: ModelSize, least: MemoryNeed, available: int) -> MemoryFullError:
    missing = least.needed_bytes - available
    found = f"and {format_bytes(available)} are available, {format_bytes(missing)} too few."
    if missing <= least.drafter:
        return MemoryFullError(
            f"spec.drafter is {config.spec.drafter}, with which {config.model.name} takes {least}, {found}",
            'Set spec.drafter to "auto", which does without a drafting model when memory is short.',
        )
    advice = MEMORY_ADVICE
    if size.device.type == "cpu" and size.dtype_name != "int8":
        advice = f'Set model.dtype to "int8". {advice}'
    return MemoryFullError(f"{config.model.name} takes at least {least}, {found}", advice)


def _with(config: Config, section: str, **values: object) -> Config:
    """A copy with other values in a section; they are valid."""
    return config.model_copy(update={section: getattr(config, section).model_copy(update=values)})
