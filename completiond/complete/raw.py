"""A prompt that a program has put together itself, control tokens and all, and its plain continuation: no rules of
ours, but the same drafters, cache and exactness.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from completiond.complete.answer import Answer
from completiond.complete.limits import Limits
from completiond.complete.place import Place
from completiond.complete.prompt import Prompt
from completiond.complete.request import CompletionRequest
from completiond.complete.verdict import Verdict
from completiond.errors import UsageError

if TYPE_CHECKING:
    from completiond.complete.families import FimTokens
    from completiond.complete.tokens import TextTokenizer

__all__ = ["RawAnswer", "raw_prompt", "raw_room"]


MAX_CHARS_PER_TOKEN: Final = 128
"""More than tokens have, runs of blanks among them."""


class RawAnswer(Answer):
    """All that the model writes, up to an end token or what the request sets."""

    def __init__(self, tokenizer: TextTokenizer | None, limits: Limits) -> None:
        super().__init__(tokenizer, Place.of("", ""), limits=limits)

    def _formed(self, piece: str) -> str:
        return piece

    def _check(self) -> Verdict:
        return Verdict(None, "", len(self._text))

    def _held(self) -> str:
        return ""

    def _finish(self, text: str, reason: str) -> str:
        return text

    def _cut_tokens(self) -> None:
        if self._end is not None:  # else all count, such as the last one's half of a character
            super()._cut_tokens()

    def _doubt(self) -> str | None:
        return None


def raw_prompt(
    request: CompletionRequest, tokenizer: TextTokenizer, fim: FimTokens | None, capacity_tokens: int
) -> Prompt:
    """The request's tokens; or its text, in which control tokens are what they spell, behind what each text begins
    with. Raises UsageError for a token that the vocabulary does not have, and for a text that cannot fit.
    """
    if len(request.prefix) > capacity_tokens * MAX_CHARS_PER_TOKEN:  # nobody is to wait until it is tokenised
        raise _too_long(f"{len(request.prefix)} characters", capacity_tokens)
    if request.prompt_ids is not None:
        ids = list(request.prompt_ids)
        if unknown := [index for index in ids if not 0 <= index < tokenizer.vocab_size]:
            advice = f"This model's are below {tokenizer.vocab_size}."
            raise UsageError(f"The prompt has a token {unknown[0]}.", advice, "prompt")
    else:
        ids, begin = tokenizer.encode_with_controls(request.prefix), tokenizer.bos_ids
        ids = ids if ids[: len(begin)] == begin else [*begin, *ids]
    # A model needs something to read: an empty text is a text's beginning, which a line end stands for.
    ids = ids or tokenizer.encode("\n")
    written, others = _texts(ids, tokenizer.control_ids, fim)
    return Prompt(tuple(ids), written, others)


def raw_room(prompt: Prompt, capacity_tokens: int, wanted: int | None) -> int:
    """How long the answer may be. Raises UsageError where the prompt leaves no room for any."""
    room = capacity_tokens - len(prompt.token_ids)
    if room < 1:
        raise _too_long(f"{len(prompt.token_ids)} tokens", capacity_tokens)
    return room if wanted is None else min(room, wanted)


def _too_long(size: str, capacity_tokens: int) -> UsageError:
    return UsageError(
        f"The prompt has {size}, and model.context_tokens is {capacity_tokens}.",
        "Send less of the text, or raise model.context_tokens.",
        "prompt",
    )


def _texts(
    ids: Sequence[int], control_ids: frozenset[int], fim: FimTokens | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The text that the answer continues, and the rest of the text: what stands between control tokens. In a
    fill-in-the-middle prompt it continues what follows the family's prefix token.
    """
    runs: list[tuple[int, tuple[int, ...]]] = []
    place = 0
    for is_control, group in groupby(ids, control_ids.__contains__):
        run = tuple(group)
        if not is_control:
            runs.append((ids[place - 1] if place else -1, run))
        place += len(run)
    opened = [index for index, (before, _) in enumerate(runs) if fim is not None and before == fim.prefix_id]
    continued = opened[-1] if opened else len(runs) - 1
    written = runs[continued][1] if runs else ()
    return written, tuple(index for at, (_, run) in enumerate(runs) if at != continued for index in run)
