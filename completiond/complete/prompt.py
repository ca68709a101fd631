"""From the text around the cursor to the model's token ids, within a budget in tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from completiond.complete.encoder import Encoder
from completiond.complete.families import FimTokens
from completiond.complete.repo_context import NO_CONTEXT, RepoContext
from completiond.complete.tokens import CHARS_PER_TOKEN

__all__ = ["CHARS_PER_TOKEN", "NEAR_SUFFIX_TOKENS", "Prompt", "PromptBudget", "TakeBack", "begin_ids", "build_prompt"]

TakeBack = Callable[[str, list[int]], tuple[list[int], str]]
"""Given the text before the cursor and its last tokens: which of them the model reads, and the text of those it writes
once more (healing.py).
"""

NEAR_SUFFIX_TOKENS = 16
"""The suffix's marker and what follows it at once hold most of what the model made of the text just before the cursor:
they are read again with every key, or it goes on as if the last keys had not been pressed.
"""


@dataclass(frozen=True, slots=True)
class PromptBudget:
    """Most tokens of text before and after the cursor, and of what is told of other files."""

    prefix_tokens: int
    suffix_tokens: int
    context_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """``token_ids`` is what the model reads. ``prefix_ids`` and ``suffix_ids`` are its text parts, for drafters.

    ``movable``: places of the text behind the cursor, but for the nearest, if typing moves it (cache/shift.py).
    ``context_share``: how much of the wanted context was to be read (context_budget.py), 1.0: all. ``taken_back``: the
    end of the text before the cursor, if that is not in the prompt and the answer has to begin with it. ``is_masked``:
    secrets were hidden in it (exclude/mask.py).
    """

    token_ids: tuple[int, ...]
    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]
    movable: range = range(0)
    context_share: float = 1.0
    taken_back: str = ""
    is_masked: bool = False


def begin_ids(tokenizer: Encoder, fim: FimTokens | None) -> list[int]:
    """The control tokens that any prompt begins with: the family's, else the tokenizer's own."""
    return list(fim.begin_ids) if fim is not None and fim.begin_ids else tokenizer.bos_ids


def build_prompt(
    prefix: str,
    suffix: str,
    tokenizer: Encoder,
    fim: FimTokens | None,
    budget: PromptBudget,
    context: RepoContext = NO_CONTEXT,
    take_back: TakeBack | None = None,
) -> Prompt:
    """Prefix-suffix-middle, suffix-first or prefix-only, as the vocabulary allows.

    ``prefix`` and ``suffix`` are the document's text on both sides of the cursor with line ends ``\\n``. ``context`` of
    other files comes first; it was made to fit already. ``take_back`` leaves out tokens before the cursor.
    """
    encode = tokenizer.encode_inside if context.inside else tokenizer.encode
    prefix_ids, taken_back = _window_before(prefix, tokenizer, encode, budget.prefix_tokens), ""
    if take_back is not None:
        prefix_ids, taken_back = take_back(prefix, prefix_ids)
    begin = begin_ids(tokenizer, fim)
    if fim is None:
        ids = [*begin, *context.front, *context.inside, *prefix_ids]
        # A model needs something to read: an empty file is the text's beginning, which a line end stands for.
        return Prompt(tuple(ids or tokenizer.encode("\n")), tuple(prefix_ids), (), taken_back=taken_back)
    family = fim.family
    suffix_ids = _window_after(suffix, tokenizer, budget.suffix_tokens)
    head = [*begin, *tokenizer.encode_inside(family.lead), *context.front, *tokenizer.encode_inside(family.ask)]
    before, after = [fim.prefix_id, *context.inside, *prefix_ids], [fim.suffix_id, *suffix_ids]
    body = [*after, *before] if family.suffix_first else [*before, *after]
    middle = [] if fim.middle_id is None else [fim.middle_id]
    tail = [*fim.end_ids, *tokenizer.encode_inside(family.tail)]
    start = len(head) + len(before)
    still = range(start + min(NEAR_SUFFIX_TOKENS, len(after)), start + len(after))
    movable = range(0) if family.suffix_first else still
    ids = [*head, *body, *middle, *tail]
    return Prompt(tuple(ids), tuple(prefix_ids), tuple(suffix_ids), movable, taken_back=taken_back)


def _window_before(prefix: str, tokenizer: Encoder, encode: Callable[[str], list[int]], max_tokens: int) -> list[int]:
    """The last ``max_tokens`` of the prefix at most, whole lines where one fits.

    A window that begins inside the prefix begins at the first line behind a multiple of half as many characters: a
    place that stays put while the user types. A prompt's first tokens must be the same from key to key, or nothing of
    the cache can be used again.
    """
    skipped = max(0, len(prefix) - max_tokens * CHARS_PER_TOKEN)
    ids, starts = tokenizer.encode_with_offsets(prefix[skipped:])
    if skipped == 0 and len(ids) <= max_tokens:
        return encode(prefix)
    earliest = skipped + (starts[-max_tokens] if len(ids) > max_tokens else 0)
    step = max(1, max_tokens // 2)
    begin = -(-earliest // step) * step
    if begin - earliest > (len(prefix) - earliest) // 2:
        begin = earliest  # characters of several tokens each: the grid is too coarse for them
    line = prefix.find("\n", begin - 1, begin + step // 2) + 1
    return encode(prefix[line or begin :])[-max_tokens:]


def _window_after(suffix: str, tokenizer: Encoder, max_tokens: int) -> list[int]:
    """The first ``max_tokens`` of the suffix at most, whole lines where one fits."""
    if max_tokens == 0:
        return []
    window = suffix[: max_tokens * CHARS_PER_TOKEN]
    ids, starts = tokenizer.encode_with_offsets(window)
    if len(ids) <= max_tokens and len(window) == len(suffix):
        return tokenizer.encode_inside(window)
    end = starts[max_tokens] if len(ids) > max_tokens else len(window)
    newline = window.rfind("\n", 0, end)
    return tokenizer.encode_inside(window[: newline + 1] if newline > 0 else window[:end])[:max_tokens]
