"""One answer as it grows: tokens to text, text to stop rules, text back to the drafter that guessed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from completiond.complete.confidence import first_line_confidence, sure_end
from completiond.complete.limits import NO_LIMITS, Limits
from completiond.complete.place import Place
from completiond.complete.request import Chunk, Span, TokenText
from completiond.complete.shape import Shape
from completiond.complete.stops import check, finish
from completiond.complete.tokens import TextTokenizer
from completiond.complete.verdict import Verdict
from completiond.exclude.mask import MASK

__all__ = ["HIDDEN", "UNCERTAIN", "Answer"]

HIDDEN: Final = "secret"
"""That of one that would have had what a model reads in the place of secrets."""

UNCERTAIN: Final = "confidence"
"""The stop reason of an answer that is not shown because the model was not sure of it."""


class Answer:
    """Feed tokens with ``push`` (the engine's StopCheck), say with ``attribute`` who guessed them, ask for text.

    ``sources``: who guessed each token. ``logprobs``: how sure the model was of it (confidence.py).
    """

    def __init__(
        self,
        tokenizer: TextTokenizer | None,
        place: Place,
        min_confidence: float = 0.0,
        is_masked: bool = False,
        limits: Limits = NO_LIMITS,
    ) -> None:
        """``tokenizer`` None: it is fed text, with ``push_text``. ``min_confidence``: 0.0 to 1.0, of the first line;
        nothing is shown where the model is less sure of it. ``is_masked``: the model has read asterisks in the place
        of secrets. ``limits``: of who asks.
        """
        self._tokenizer = tokenizer
        self._stream = tokenizer.stream() if tokenizer is not None else None
        self._place = place
        self._min_confidence = min_confidence
        self._is_masked = is_masked
        self._limits = limits
        self._shape = Shape(place)
        self._pieces: list[str] = []
        self.sources: list[str] = []
        self.logprobs: list[float] = []
        self._text = ""
        self._end: int | None = None
        self._fallback: int | None = None
        self._safe = 0
        self._shown = 0
        self._is_closed = False
        self.token_ids: list[int] = []
        self.stop_word = ""
        """Which of the request's strings ended it."""

    def push(self, token_id: int) -> str | None:
        """Take the next token; a reason means that the answer ends here (with ``eos`` the token is not part of it)."""
        assert self._tokenizer is not None, "who feeds tokens has named the tokenizer"
        assert self._stream is not None
        if token_id in self._tokenizer.stop_ids:
            return "eos"
        self.token_ids.append(token_id)
        return self.push_text(self._stream.push(token_id))

    def push_text(self, text: str) -> str | None:
        """Take the next piece of text, that of a token or one that is no word's half; the same reasons as ``push``."""
        piece = self._formed(text)
        self._pieces.append(piece)
        begin = len(self._text)
        self._text += piece
        verdict = self._limits.narrow(self._check(), self._text, begin)
        if self._is_masked and (masked := self._text.find(MASK * 4)) >= 0:
            # It writes what it has read in a secret's place. Where nothing was hidden, a comment may have such a row.
            self._end, self._fallback = masked, None
            return HIDDEN
        safe = min(verdict.safe, len(self._text.rstrip(MASK))) if self._is_masked else verdict.safe
        self._end, self._safe, self._fallback = verdict.end, max(self._safe, safe), verdict.fallback
        if verdict.end is not None and verdict.reason == "stop":
            self.stop_word = self._limits.word_at(self._text, verdict.end)
        return verdict.reason if verdict.end is not None else None

    def _formed(self, piece: str) -> str:
        """``piece``, which comes next, in the form that it is shown in."""
        return self._shape.push(piece)

    def _held(self) -> str:
        """What was held back until it was clear that nothing more comes."""
        return self._shape.flush()

    def _check(self) -> Verdict:
        """Whether the text so far has come to its end by itself."""
        return check(self._text, self._place)

    def _finish(self, text: str, reason: str) -> str:
        """What is shown of ``text``, which ended for ``reason``."""
        return finish(text, self._place, reason)

    def take_known(
        self, token_ids: Sequence[int], sources: Sequence[str], logprobs: Sequence[float], max_tokens: int
    ) -> str | None:
        """Take what an earlier run has written, and who guessed it; a reason means that it was at its end."""
        reason = None
        for token_id in token_ids:
            reason = self.push(token_id)
        self.sources = list(sources[: len(self._pieces)])
        self.logprobs = list(logprobs[: len(self._pieces)])
        reason = self._doubt() or reason
        return "length" if reason is None and len(token_ids) >= max_tokens else reason

    def attribute(self, accepted: int, source: str, logprobs: Sequence[float] = ()) -> str | None:
        """Of the tokens since the last call, ``source`` drafted the first ``accepted``; the rest are the model's.

        A reason means that the answer ends before them: the model is not sure any more (``unsure``).
        """
        new = len(self._pieces) - len(self.sources)
        self.sources += [source if i < accepted else "model" for i in range(new)]
        self.logprobs += logprobs
        return self._doubt()

    def _doubt(self) -> str | None:
        """Why the answer ends because of what the model is not sure of, if it does; then it ends there."""
        if self.is_uncertain:
            return UNCERTAIN
        if self._place.single_line or (end := sure_end(self._pieces, self.logprobs, self._place)) is None:
            return None
        end = len(self._text[: end if self._fallback is None else min(end, self._fallback)].rstrip())
        # A rule that ended it at the same place may have done so on tokens that plain decoding would not have seen.
        if self._end is not None and len(self._text[: self._end].rstrip()) < end:
            return None
        self._end, self._safe = end, min(self._safe, end)
        return "unsure"

    def take_chunk(self) -> Chunk | None:
        """Text that became final since the last call, or None."""
        if self._end is not None or self._safe <= self._shown or (self._min_confidence and not self._has_first_line):
            return None
        return self._chunk(self._safe)

    @property
    def is_uncertain(self) -> bool:
        """Whether the first line is complete, or the answer is, and the model was not as sure of it as it should be."""
        if not self._min_confidence or not (self._is_closed or self._has_first_line):
            return False
        return first_line_confidence(self._pieces, self.logprobs) < self._min_confidence

    @property
    def _has_first_line(self) -> bool:
        return "\n" in self._text.lstrip()

    @property
    def whole_lines(self) -> str:
        """Of what can be shown already, the lines that have ended, without the last line's end."""
        return self._text[: max(0, self._text.rfind("\n", 0, self._safe + 1))]

    def close(self, reason: str) -> Chunk | None:
        """End the answer for ``reason`` and return the rest of its text, or None; ``token_ids`` is cut to match."""
        self._is_closed = True
        if self.is_uncertain:
            self._text = ""
            self.token_ids.clear()
            return None
        if self._end is None and self._pieces:
            held = self._held()
            self._pieces[-1] += held
            self._text += held
        text = self._text if self._end is None else self._text[: self._end]
        self._text = self._finish(text, reason)
        self._cut_tokens()
        return self._chunk(len(self._text)) if len(self._text) > self._shown else None

    def _cut_tokens(self) -> None:
        """Leave no token that adds nothing to the text any more."""
        length = 0
        for index, piece in enumerate(self._pieces):
            if length >= len(self._text):
                del self.token_ids[index:]
                break
            length += len(piece)

    @property
    def text(self) -> str:
        """The whole text, after ``close``."""
        return self._text

    @property
    def tokens(self) -> tuple[TokenText, ...]:
        """Of each token of the text, after ``close``, what it added to it and how sure the model was of it."""
        tokens: list[TokenText] = []
        left = len(self._text)
        for piece, logprob in zip(self._pieces[: len(self.token_ids)], self.logprobs, strict=False):
            tokens.append(TokenText(piece[:left], logprob))
            left = max(0, left - len(piece))
        return tuple(tokens)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The whole text by origin, after ``close``."""
        return self.spans_of(self._text)

    def spans_of(self, text: str) -> tuple[Span, ...]:
        """By origin, what the answer begins with."""
        return self._spans(0, len(text))

    def _chunk(self, end: int) -> Chunk:
        begin, self._shown = self._shown, end
        return Chunk(self._text[begin:end], self._spans(begin, end))

    def _spans(self, begin: int, end: int) -> tuple[Span, ...]:
        spans: list[Span] = []
        offset = 0
        for piece, source in zip(self._pieces, self.sources, strict=False):
            text = piece[max(0, begin - offset) : max(0, end - offset)]
            offset += len(piece)
            if not text:
                continue
            if spans and spans[-1].source == source:
                spans[-1] = Span(spans[-1].text + text, source)
            else:
                spans.append(Span(text, source))
        return tuple(spans)
