"""How sure the model was of what it wrote, line by line: where it stops being sure, a longer answer ends.

A token's confidence is the probability the model gave it; a line's is the geometric mean of its tokens', the line's end
among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from completiond.complete.answer_lines import AnswerLines
from completiond.complete.layout import indent_columns
from completiond.complete.place import Place

__all__ = ["MIN_CONFIDENCE_AMID", "MIN_LINE_CONFIDENCE", "first_line_confidence", "sure_end"]

MIN_LINE_CONFIDENCE = 0.62
"""Below it, a line is often the beginning of an answer that goes on for too long."""
MIN_CONFIDENCE_AMID = 0.8
"""Of each further line of an answer that goes between statements of the same block: one that is missing there comes
with the next answer, one that is too many does not go away. Both were chosen on HumanEval's holes (docs/log.md).
"""


def sure_end(pieces: Sequence[str], logprobs: Sequence[float], place: Place) -> int | None:
    """Where an answer ends whose next line is complete and not sure: before that line, or behind it if it is the first.

    ``pieces`` are the texts of the tokens, ``logprobs`` the natural logarithms of their probabilities. None: it does
    not end, as far as there are logarithms.
    """
    start, end, least = 0, 0, MIN_LINE_CONFIDENCE
    tokens: list[tuple[str, float]] = []
    is_first = True
    for piece, logprob in zip(pieces, logprobs, strict=False):
        end += len(piece)
        tokens.append((piece, logprob))
        line = "".join(text for text, _ in tokens)
        if "\n" not in piece or not line.strip():
            continue
        if _confidence([value for _, value in tokens]) < least:
            return start + len(line.rstrip()) if is_first else start
        if is_first and _is_amid("".join(pieces), place):
            least = MIN_CONFIDENCE_AMID
        start, tokens, is_first = end, [], False
    return None


def _is_amid(text: str, place: Place) -> bool:
    """Whether the text below goes on with the block that the answer's first line is in."""
    answer = AnswerLines(text, place)
    return place.indent_below == indent_columns(answer.lines[answer.first])


def first_line_confidence(pieces: Sequence[str], logprobs: Sequence[float]) -> float:
    """Of the first line that is not blank, 0.0 to 1.0, as far as it goes; 1.0 where there is nothing."""
    values: list[float] = []
    text = ""
    for piece, logprob in zip(pieces, logprobs, strict=False):
        text += piece
        values.append(logprob)
        if text.strip() and "\n" in piece:
            break
    return _confidence(values)


def _confidence(logprobs: Sequence[float]) -> float:
    return math.exp(sum(logprobs) / len(logprobs)) if logprobs else 1.0
