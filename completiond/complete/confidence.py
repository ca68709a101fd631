"""How sure the model was of what it wrote, line by line: where it stops being sure, a longer answer ends.

A token's confidence is the probability the model gave it; a line's is the geometric mean of its tokens', the line's end
among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from completiond.complete.answer_lines import AnswerLines
from completiond.complete.layout import opens
from completiond.complete.place import Place

__all__ = ["MIN_LINE_CONFIDENCE", "first_line_confidence", "sure_end"]

MIN_LINE_CONFIDENCE = 0.62
"""Chosen on HumanEval's holes: lines below it are often the beginning of an answer that goes on for too long."""


def sure_end(pieces: Sequence[str], logprobs: Sequence[float], place: Place) -> int | None:
    """Where an answer ends whose next line is complete and not sure: before that line; behind it if it is the first;
    and if that opens a block, behind its statement.

    ``pieces`` are the texts of the tokens, ``logprobs`` the natural logarithms of their probabilities. None: it does
    not end, as far as there are logarithms.
    """
    start, end = 0, 0
    tokens: list[tuple[str, float]] = []
    is_first = True
    for piece, logprob in zip(pieces, logprobs, strict=False):
        end += len(piece)
        tokens.append((piece, logprob))
        line = "".join(text for text, _ in tokens)
        if "\n" not in piece or not line.strip():
            continue
        if _confidence([value for _, value in tokens]) < MIN_LINE_CONFIDENCE:
            if not is_first:
                return start
            return AnswerLines("".join(pieces), place).statement_end if opens(line) else start + len(line.rstrip())
        start, tokens, is_first = end, [], False
    return None


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
