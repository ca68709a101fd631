"""Token sequences to train on, in the form the model reads when it serves: half of them fills, half plain text.

All samples of a set have the same length, so that a batch is a rectangle without padding.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from completiond.complete.families import FimTokens
from completiond.complete.prompt import begin_ids
from completiond.complete.tokens import TextTokenizer
from completiond.train.corpus import Corpus, Repository

__all__ = ["Sample", "make_samples"]

FILL_SHARE = 0.5
MIN_SUFFIX_SHARE = 0.15
MIDDLE_SHARES = (0.08, 0.35)
SPARE_TOKENS = 16
"""Cut into three, a text can have fewer tokens."""
WINDOWS_PER_FILE = 6
"""A long file is not worth more than several short ones."""


@dataclass(frozen=True, slots=True)
class Sample:
    """``token_ids``: what the target reads. ``middle``: where the part that a fill answers begins, 0 in plain text."""

    token_ids: tuple[int, ...]
    middle: int


def make_samples(
    corpus: Corpus,
    repositories: Sequence[Repository],
    tokenizer: TextTokenizer,
    fim: FimTokens | None,
    num_tokens: int,
    seed: int = 0,
) -> Iterator[Sample]:
    """Samples of exactly ``num_tokens`` tokens; a file gives the same ones on every run with the same seed."""
    for repository, file, text in corpus.texts(repositories):
        yield from _of_file(text, _seed_of(repository, file, seed), tokenizer, fim, num_tokens)


def _of_file(
    text: str, seed: int, tokenizer: TextTokenizer, fim: FimTokens | None, num_tokens: int
) -> Iterator[Sample]:
    ids, starts = tokenizer.encode_with_offsets(text)
    windows = list(range(0, len(ids) - num_tokens, num_tokens))
    randomness = random.Random(seed)
    randomness.shuffle(windows)
    for first in windows[:WINDOWS_PER_FILE]:
        if fim is None or fim.family.suffix_first or randomness.random() >= FILL_SHARE:
            bos = tokenizer.bos_ids
            yield Sample((*bos, *ids[first : first + num_tokens - len(bos)]), 0)
            continue
        last = first + num_tokens + SPARE_TOKENS
        end = starts[last] if last < len(starts) else len(text)
        fill = _fill(text[starts[first] : end], randomness, tokenizer, fim, num_tokens)
        if fill is not None:
            yield fill


def _fill(
    window: str, randomness: random.Random, tokenizer: TextTokenizer, fim: FimTokens, num_tokens: int
) -> Sample | None:
    """``window`` with a hole at a random place, which half of the time is the beginning of a line's text."""
    share = randomness.uniform(*MIDDLE_SHARES)
    begin = int(len(window) * randomness.uniform(0.3, 1.0 - MIN_SUFFIX_SHARE - share))
    if randomness.random() < 0.5:
        line = window.find("\n", begin) + 1
        begin = line + len(window[line:]) - len(window[line:].lstrip(" \t"))
    end = window.find("\n", begin + int(len(window) * share))
    if end < 0 or begin >= end:
        return None
    before, middle = tokenizer.encode(window[:begin]), tokenizer.encode_inside(window[begin:end])
    after = tokenizer.encode_inside(window[end:])
    controls = [fim.suffix_id, *after, *([] if fim.middle_id is None else [fim.middle_id])]
    bos = begin_ids(tokenizer, fim)
    room = num_tokens - len(bos) - 1 - len(controls) - len(middle)
    if room < num_tokens // 8:
        return None
    before = before[-room:]
    head = [*bos, fim.prefix_id, *before, *controls]
    ids = [*head, *middle]
    return Sample(tuple(ids), len(head)) if len(ids) == num_tokens else None


def _seed_of(repository: Repository, file: Path, seed: int) -> int:
    name = f"{seed}/{repository.name}/{file.relative_to(repository.folder).as_posix()}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
