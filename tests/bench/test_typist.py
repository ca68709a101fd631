"""Someone who types: which suggestions are taken, when keys come, and where."""

from __future__ import annotations

from statistics import median

import pytest

from completiond.bench.typist import PIECE_CHARS, accepted, pauses, pieces
from completiond.complete.tokens import TextTokenizer
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer


@pytest.mark.parametrize(
    ("suggestion", "taken"),
    [
        ("return value", "return value"),
        ("return value\n    other = 1", "return value\n    other = 1"),
        ("return value\n    wrong", "return value"),
        ("return valuable", "return"),
        ("return value.name", "return value"),
        ("returns", ""),
        ("re", ""),
        ("   ", ""),
        ("", ""),
    ],
)
def test_what_is_right_of_a_suggestion_is_taken(suggestion: str, taken: str) -> None:
    assert accepted(suggestion, "return value\n    other = 1\n") == len(taken)


def test_keys_come_in_bursts_and_after_a_line_one_thinks() -> None:
    text = "value = other\n" * 200
    waits = list(pauses(text, seed=3))
    assert waits == list(pauses(text, seed=3))
    assert len(waits) == len(text)
    within = [wait for wait, previous in zip(waits[1:], text, strict=False) if previous.isalnum()]
    behind = [wait for wait, previous in zip(waits[1:], text, strict=False) if previous == "\n"]
    assert 0.08 < median(within) < 0.16
    assert min(within) > 0.0
    assert median(behind) > median(within) + 0.4


def test_pieces_are_lines_missing_from_real_files() -> None:
    tokenizer = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
    some = pieces(3, tokenizer)
    assert len(some) == 3
    for piece in some:
        assert 40 <= len(piece.text) <= PIECE_CHARS
        assert piece.text == piece.text.strip()
        assert len(tokenizer.encode(piece.before)) + len(tokenizer.encode(piece.behind)) == 600
        assert piece.before.rstrip(" ").endswith("\n")
    assert some == pieces(3, tokenizer)
    assert some != pieces(3, tokenizer, seed=1)
