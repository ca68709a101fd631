"""Someone who types a piece of a real file: when keys come, and what is done with the suggestions that are there."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from completiond.bench.prompts import code_places
from completiond.complete.tokens import TextTokenizer

__all__ = ["Piece", "accepted", "pauses", "pieces"]

PROMPT_TOKENS: Final = 600
BEHIND_SHARE: Final = 0.3
"""Of these tokens, how many lie behind the cursor."""
PIECE_LINES: Final = 4
PIECE_CHARS: Final = 160
KEY_S: Final = (0.12, 0.5)
"""Median and spread (sigma of a log-normal distribution) of the time between two keys within a word; chosen, not
measured.
"""
THINK_S: Final = {" ": 0.18, "\n": 0.5}
"""More before the key that follows these."""
REACTION_S: Final = 0.25
"""A suggestion is taken when it has been there for as long; one that vanishes before is not."""


@dataclass(frozen=True, slots=True)
class Piece:
    """``text`` is what will be typed between ``before`` and ``behind``."""

    before: str
    text: str
    behind: str


def pieces(count: int, tokenizer: TextTokenizer, seed: int = 0) -> list[Piece]:
    """Places in the standard library with PROMPT_TOKENS around them, where some lines are missing."""
    found: list[Piece] = []
    behind_tokens = int(PROMPT_TOKENS * BEHIND_SHARE)
    for place in code_places(20 * count, seed):
        begin = place.prefix.rfind("\n") + 1
        text = place.prefix[begin:] + place.suffix
        lines = text.split("\n")[:PIECE_LINES]
        typed = "\n".join(lines)[:PIECE_CHARS].rstrip()
        indent = len(typed) - len(typed.lstrip())
        before = place.prefix[:begin] + typed[:indent]
        ids = tokenizer.encode(before)[-(PROMPT_TOKENS - behind_tokens) :]
        behind = tokenizer.encode(text[len(typed) :])[:behind_tokens]
        if len(typed.strip()) < 40 or len(ids) + len(behind) < PROMPT_TOKENS:
            continue
        found.append(Piece(tokenizer.decode(ids), typed[indent:], tokenizer.decode(behind)))
        if len(found) == count:
            break
    return found


def pauses(text: str, seed: int) -> Iterator[float]:
    """Seconds before each key of ``text``."""
    randomness = random.Random(seed)
    median_s, spread = KEY_S
    previous = ""
    for key in text:
        yield median_s * randomness.lognormvariate(0.0, spread) + THINK_S.get(previous, 0.0)
        previous = key


def accepted(suggestion: str, wanted: str) -> int:
    """How many characters of ``wanted`` someone who will write it takes from ``suggestion``: all of it, or its lines
    that are right, or its words, if they are worth a key.
    """
    for part in (suggestion, *_shorter(suggestion)):
        if len(part.strip()) >= 3 and wanted.startswith(part):
            return len(part)
    return 0


def _shorter(text: str) -> Sequence[str]:
    """By whole lines, then by whole words of the first."""
    ends = [index for index, char in enumerate(text) if char == "\n"]
    first = text.split("\n", 1)[0]
    words = [index for index in range(1, len(first)) if not first[index].isalnum() and first[index - 1].isalnum()]
    return [text[:end] for end in (*reversed(ends), *reversed(words))]
