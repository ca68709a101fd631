"""What a vocabulary's tokens write, byte by byte, whatever kind of vocabulary it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, normalizers
from tokenizers.models import BPE, WordLevel

from completiond.complete.spellings import begins_with_blank, token_spellings
from tests.complete.vocabularies import byte_level, piece_tokenizer, pieces, text_tokenizer
from tests.fake_model import fake_tokenizer


def with_bytes() -> Tokenizer:
    """Pieces, and bytes for the characters it lacks."""
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abc", "▁a"]
    tokenizer = Tokenizer(BPE({name: i for i, name in enumerate(names)}, [("▁", "a")], byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken("<unk>", special=True)])
    return tokenizer


@pytest.mark.parametrize("kind", [fake_tokenizer, with_bytes])
@settings(deadline=None)
@given(text=st.text(st.characters(exclude_characters="▁", exclude_categories=["Cs"]), max_size=20))
def test_the_tokens_of_a_text_write_it(kind: Callable[[], Tokenizer], text: str) -> None:
    tokenizer = text_tokenizer(kind())
    spellings = tokenizer.spellings()
    assert spellings is not None

    assert b"".join(spellings[index] for index in tokenizer.encode_inside(text)) == text.encode()


def test_each_byte_has_its_token() -> None:
    spelled = token_spellings(fake_tokenizer())
    assert spelled is not None

    assert {spelled[index] for index in range(256)} == {bytes([byte]) for byte in range(256)}


def test_merged_and_added_entries_write_all_of_their_text() -> None:
    spelled = token_spellings(byte_level(["<|end|>"], ["é word"]))
    assert spelled is not None

    assert [spelled[index] for index in (16, 18, 20, 21, 22)] == [b" ", b"ab", b" a", b"\n\n", "é word".encode()]


def test_pieces_write_blanks() -> None:
    spelled = token_spellings(pieces(["<s>"]))
    assert spelled is not None

    assert [spelled[index] for index in (1, 14, 15, 17)] == [b" ", b"\n", b" a", b"+++++"]


def test_what_ends_an_answer_writes_nothing() -> None:
    tokenizer = text_tokenizer(fake_tokenizer())
    spellings = tokenizer.spellings()
    assert spellings is not None

    assert tokenizer.stop_ids.isdisjoint(spellings)


def test_words_that_are_joined_by_the_decoder_have_no_spelling_of_their_own() -> None:
    tokenizer = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))

    assert token_spellings(tokenizer) is None
    assert text_tokenizer(tokenizer).spellings() is None


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (byte_level([]), False), (pieces([]), True), (pieces([], "metaspace"), True), (pieces([], "scored"), True),
        (pieces([], "none"), False),
    ],
)  # fmt: skip
def test_whether_a_blank_is_put_before_a_text(tokenizer: Tokenizer, expected: bool) -> None:
    assert begins_with_blank(tokenizer) is expected


def test_text_inside_a_text_begins_with_no_blank_of_its_own() -> None:
    for kind in ("llama", "metaspace", "scored"):
        tokenizer = piece_tokenizer(["<s>"], kind)

        assert tokenizer.encode("ab c") == [15, 3, 1, 4]
        assert tokenizer.encode_inside("ab c") == [16, 1, 4]
        assert tokenizer.encode_inside(" a") == [15]
        assert tokenizer.encode_inside("") == []


def test_text_that_is_broken_at_a_markers_spelling_gets_no_blanks_between() -> None:
    tokenizer = piece_tokenizer(["<s>"])
    marker = text_tokenizer(pieces(["x/y"]))

    assert tokenizer.encode("ax/yb") == [15, 6, 9, 7, 3]
    assert marker.encode("ax/yb") == [15, 6, 9, 7, 3]
    assert marker.encode_inside("ax/yb") == [2, 6, 9, 7, 3]
