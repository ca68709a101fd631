"""Token healing: half a word before the cursor is taken back, and the answer has to begin with it.

A model has hardly ever seen ``retu`` as the tokens of these four letters, because whoever wrote ``return`` gave it one
token: behind the half it writes another word, or a new one. So the prompt ends before the half, and only tokens that
spell it, or begin with what is left of it, may be chosen until it stands there. (Lundberg, "The art of prompt design:
prompt boundaries and token healing", 2023.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from torch import Tensor

from completiond.complete.answer import Answer
from completiond.complete.limits import NO_LIMITS, Limits
from completiond.complete.place import Place
from completiond.complete.tokens import TextTokenizer
from completiond.complete.vocabulary import Vocabulary

__all__ = ["HealedAnswer", "Healer", "Healing"]

MAX_TOKENS_BACK: Final = 4
"""Most tokens that are taken back: what is taken back is written again, a pass each if nothing drafts it."""


class Healer:
    """Takes back what a token of ``vocabulary`` may go on from."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def take_back(self, prefix: str, prefix_ids: list[int]) -> tuple[list[int], str]:
        """``prefix_ids`` without the tokens of the half word that ``prefix`` ends with, and their text; all of them and
        "" where there is none, or no token goes on from it.

        The fewest tokens are taken back: the last, or as many as whole characters need.
        """
        if not _is_in_word(prefix[-1:]):
            return prefix_ids, ""
        taken, end = b"", prefix[-MAX_TOKENS_BACK * 64 :].encode("utf-8", "surrogatepass")
        for count in range(1, min(MAX_TOKENS_BACK, len(prefix_ids)) + 1):
            spelled = self.vocabulary.spelling(prefix_ids[-count])
            # A token that may not be written, a blank that is not there, or a tokenizer that changes the text.
            if spelled is None or not end.endswith(taken := spelled + taken):
                return prefix_ids, ""
            if taken[0] & 0xC0 != 0x80:  # not inside a character
                return (prefix_ids[:-count], taken.decode()) if self.vocabulary.extends(taken) else (prefix_ids, "")
        return prefix_ids, ""


class Healing:
    """A Constraint: what is written from position ``start`` on begins with ``text``.

    ``known_ids`` stand there already.
    """

    def __init__(self, vocabulary: Vocabulary, text: str, start: int, known_ids: Sequence[int] = ()) -> None:
        self._vocabulary = vocabulary
        self._rest = {start: text.encode()}
        for place, token_id in enumerate(known_ids):
            self.chose(start + place, token_id)

    def allowed(self, position: int) -> Tensor | None:
        """See Constraint.allowed."""
        rest = self._rest.get(position)
        return self._vocabulary.allowed(rest) if rest else None

    def chose(self, position: int, token_id: int) -> None:
        """See Constraint.chose."""
        if rest := self._rest.get(position):
            self._rest[position + 1] = rest[len(self._vocabulary.spelling(token_id) or b"") :]


class HealedAnswer(Answer):
    """An Answer whose tokens begin with text that stands before the cursor already and is not part of it."""

    def __init__(
        self, tokenizer: TextTokenizer, place: Place, taken_back: str, min_confidence: float = 0.0,
        is_masked: bool = False, limits: Limits = NO_LIMITS,
    ) -> None:  # fmt: skip
        super().__init__(tokenizer, place, min_confidence, is_masked, limits)
        self._stream = tokenizer.stream(skipped_chars=len(taken_back))

    def attribute(self, accepted: int, source: str, logprobs: Sequence[float] = ()) -> str | None:
        """See Answer.attribute. What spells text that stands there is certain, however the model would have gone on."""
        known = [
            0.0 if not any(self._pieces[:index]) else value
            for index, value in enumerate(logprobs, start=len(self.logprobs))
        ]
        return super().attribute(accepted, source, known)


def _is_in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
