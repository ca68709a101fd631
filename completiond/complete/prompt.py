"""From the text around the cursor to the model's token ids, within a budget in tokens."""

from __future__ import annotations

from dataclasses import dataclass

from completiond.complete.families import FimTokens
from completiond.complete.tokens import TextTokenizer

__all__ = ["NEAR_SUFFIX_TOKENS", "Prompt", "PromptBudget", "build_prompt"]

NEAR_SUFFIX_TOKENS = 16
"""The suffix's marker and what follows it at once hold most of what the model made of the text just before the cursor:
they are read again with every key, or it goes on as if the last keys had not been pressed.
"""
CHARS_PER_TOKEN = 8
"""More characters per token than code ever has: text farther away than this is not even tokenised."""


@dataclass(frozen=True, slots=True)
class PromptBudget:
    """Most tokens of text before and after the cursor."""

    prefix_tokens: int
    suffix_tokens: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """``token_ids`` is what the model reads. ``prefix_ids`` and ``suffix_ids`` are its text parts, for drafters.

    ``movable``: places of the text behind the cursor, but for the nearest, if typing moves it (cache/shift.py).
    ``context_share``: how much of the wanted context was to be read (context_budget.py), 1.0: all.
    """

    token_ids: tuple[int, ...]
    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]
    movable: range = range(0)
    context_share: float = 1.0


def build_prompt(
    prefix: str, suffix: str, tokenizer: TextTokenizer, fim: FimTokens | None, budget: PromptBudget
) -> Prompt:
    """Prefix-suffix-middle, suffix-first or prefix-only, as the vocabulary allows.

    ``prefix`` and ``suffix`` are the document's text on both sides of the cursor with line ends ``\\n``.
    """
    prefix_ids = _window_before(prefix, tokenizer, budget.prefix_tokens)
    if fim is None:
        ids = [*tokenizer.bos_ids, *prefix_ids]
        # A model needs something to read: an empty file is the text's beginning, which a line end stands for.
        return Prompt(tuple(ids or tokenizer.encode("\n")), tuple(prefix_ids), ())
    suffix_ids = _window_after(suffix, tokenizer, budget.suffix_tokens)
    before, after = [fim.prefix_id, *prefix_ids], [fim.suffix_id, *suffix_ids]
    body = [*after, *before] if fim.family.suffix_first else [*before, *after]
    middle = [] if fim.middle_id is None else [fim.middle_id]
    begin = len(tokenizer.bos_ids) + len(before)
    still = range(begin + min(NEAR_SUFFIX_TOKENS, len(after)), begin + len(after))
    movable = range(0) if fim.family.suffix_first else still
    return Prompt((*tokenizer.bos_ids, *body, *middle), tuple(prefix_ids), tuple(suffix_ids), movable)


def _window_before(prefix: str, tokenizer: TextTokenizer, max_tokens: int) -> list[int]:
    """The last ``max_tokens`` of the prefix at most, whole lines where one fits.

    A window that begins inside the prefix begins at the first line behind a multiple of half as many characters: a
    place that stays put while the user types. A prompt's first tokens must be the same from key to key, or nothing of
    the cache can be used again.
    """
    skipped = max(0, len(prefix) - max_tokens * CHARS_PER_TOKEN)
    ids, starts = tokenizer.encode_with_offsets(prefix[skipped:])
    if skipped == 0 and len(ids) <= max_tokens:
        return tokenizer.encode(prefix)
    earliest = skipped + (starts[-max_tokens] if len(ids) > max_tokens else 0)
    step = max(1, max_tokens // 2)
    begin = -(-earliest // step) * step
    if begin - earliest > (len(prefix) - earliest) // 2:
        begin = earliest  # characters of several tokens each: the grid is too coarse for them
    line = prefix.find("\n", begin - 1, begin + step // 2) + 1
    return tokenizer.encode(prefix[line or begin :])[-max_tokens:]


def _window_after(suffix: str, tokenizer: TextTokenizer, max_tokens: int) -> list[int]:
    """The first ``max_tokens`` of the suffix at most, whole lines where one fits."""
    if max_tokens == 0:
        return []
    window = suffix[: max_tokens * CHARS_PER_TOKEN]
    ids, starts = tokenizer.encode_with_offsets(window)
    if len(ids) <= max_tokens and len(window) == len(suffix):
        return tokenizer.encode(window)
    end = starts[max_tokens] if len(ids) > max_tokens else len(window)
    newline = window.rfind("\n", 0, end)
    return tokenizer.encode(window[: newline + 1] if newline > 0 else window[:end])[:max_tokens]
