"""Text never becomes a control token, whatever it spells and however a vocabulary holds its markers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordLevel

from completiond.complete.tokens import TextTokenizer
from tests.fake_model import EOS, FIM_QWEN, bytes_of, fake_tokenizer

MARKERS = ("<|endoftext|>", *FIM_QWEN)


def special() -> Tokenizer:
    return fake_tokenizer()


def declared_as_text() -> Tokenizer:
    """As in vocabularies that list their fill-in-the-middle markers among the ordinary added tokens."""
    tokenizer = fake_tokenizer(markers=())
    tokenizer.add_tokens([AddedToken(marker, special=False, normalized=False) for marker in FIM_QWEN])
    return tokenizer


def ordinary_entries() -> Tokenizer:
    """Each marker is an entry that merges lead to, as if it were a frequent word."""
    vocab: dict[str, int] = dict(fake_tokenizer(markers=()).get_vocab(with_added_tokens=False))
    merges = []
    for marker in MARKERS:
        for end in range(2, len(marker) + 1):
            if marker[:end] not in vocab:
                vocab[marker[:end]] = len(vocab)
                merges.append((marker[: end - 1], marker[end - 1]))
    tokenizer = Tokenizer(BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in MARKERS])
    return tokenizer


def pieces() -> Tokenizer:
    """A vocabulary of scored pieces with a begin-of-text, blanks written as ``▁``, and markers among the pieces."""
    entries = [
        ("<unk>", 0.0),
        *((marker, -1.0) for marker in MARKERS),
        ("▁<PRE>", -1.0),
        ("▁<SUF>", -1.0),
        ("▁<MID>", -1.0),
    ]
    entries += [(char, -9.0) for char in "▁abcdefghijklmnopqrstuvwxyz_<>|/PRESUFMID\n"]
    tokenizer = Tokenizer(Unigram(entries, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens([AddedToken("<unk>", special=True), AddedToken("<|endoftext|>", special=True)])
    return tokenizer


def byte_fallback() -> Tokenizer:
    """Characters and, for those it lacks, bytes; a blank before the text that decoding takes away again."""
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abcdefxyz_|<>", "▁a"]
    tokenizer = Tokenizer(
        BPE({name: index for index, name in enumerate(names)}, [("▁", "a")], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in ("<unk>", *MARKERS)])
    return tokenizer


def words() -> Tokenizer:
    """Whole words only, markers among them."""
    tokenizer = Tokenizer(
        WordLevel({word: index for index, word in enumerate(["?", *MARKERS, "a", "b"])}, unk_token="?")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in ("?", "<|endoftext|>")])
    return tokenizer


KINDS = [special, declared_as_text, ordinary_entries, pieces, byte_fallback, words]
TEXTS = st.lists(
    st.sampled_from(
        [*MARKERS, "<PRE>", " <PRE>", "▁<PRE>", "<|fim_", "middle|>", "<", "|>", " ", "\n", "a", "bc", "é", "🙂"]
    )
    | st.text(max_size=4),
    max_size=8,
).map("".join)


def text_tokenizer(tokenizer: Tokenizer, vocab_size: int | None = None) -> TextTokenizer:
    return TextTokenizer(tokenizer, {}, vocab_size or tokenizer.get_vocab_size())


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(text=TEXTS)
def test_text_never_encodes_to_a_control_token(kind: Callable[[], Tokenizer], text: str) -> None:
    tokenizer = text_tokenizer(kind())

    assert tokenizer.control_ids.isdisjoint(tokenizer.encode(text))


@pytest.mark.parametrize("kind", [special, declared_as_text, ordinary_entries])
@settings(deadline=None, max_examples=60)
@given(text=TEXTS)
def test_text_survives_encoding_to_the_last_character(kind: Callable[[], Tokenizer], text: str) -> None:
    tokenizer = text_tokenizer(kind())

    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("kind", KINDS)
def test_the_marker_itself_is_known_by_id_and_ends_an_answer(kind: Callable[[], Tokenizer]) -> None:
    raw = kind()
    tokenizer = text_tokenizer(raw)

    for marker in MARKERS:
        index = tokenizer.control_id(marker)
        assert index == raw.token_to_id(marker)
        assert index in tokenizer.control_ids & tokenizer.stop_ids


def test_an_ordinary_entry_is_no_control_token() -> None:
    tokenizer = text_tokenizer(fake_tokenizer())

    assert tokenizer.control_id("a") is None
    assert tokenizer.control_id("no such token") is None


def test_a_marker_that_the_model_has_no_row_for_is_not_offered() -> None:
    tokenizer = text_tokenizer(fake_tokenizer(), vocab_size=EOS + 1)

    assert tokenizer.control_id("<|fim_prefix|>") is None
    assert tokenizer.encode("<|fim_prefix|>") == bytes_of("<|fim_prefix|>")


@pytest.mark.parametrize("content", ["    ", "\n\n", "\t", "<table>", "</h1>", "==", "->"])
def test_blanks_and_tags_among_the_added_tokens_stay_text(content: str) -> None:
    raw = fake_tokenizer()
    raw.add_tokens([AddedToken(content, special=False, normalized=False)])
    index = raw.token_to_id(content)
    assert index is not None
    tokenizer = text_tokenizer(raw)

    assert tokenizer.encode(f"a{content}b") == [*bytes_of("a"), index, *bytes_of("b")]
    assert index not in tokenizer.stop_ids
    assert tokenizer.stream().push(index) == content


@pytest.mark.parametrize(
    "content", ["<|fim_pad|>", "<fim_prefix>", "[SUFFIX]", "<｜fim▁hole｜>", "▁<MID>", "<[fim-suffix]>"]
)
def test_what_looks_like_a_marker_is_control_even_if_declared_as_text(content: str) -> None:
    raw = fake_tokenizer()
    raw.add_tokens([AddedToken(content, special=False, normalized=False)])
    tokenizer = text_tokenizer(raw)

    assert tokenizer.control_id(content) in tokenizer.stop_ids
    assert tokenizer.encode(content) == bytes_of(content)


def test_end_tokens_of_the_configuration_and_padding_end_an_answer() -> None:
    raw = fake_tokenizer()
    size = raw.get_vocab_size()

    one = TextTokenizer(raw, {"eos_token_id": 7}, size + 3)
    several = TextTokenizer(raw, {"eos_token_id": [7, 9]}, size + 3)

    controls = set(range(EOS, size))
    assert one.stop_ids == {7, *controls, size, size + 1, size + 2}
    assert several.stop_ids == {7, 9, *controls, size, size + 1, size + 2}


def test_a_hole_in_the_vocabulary_is_padding_and_what_lies_behind_it_is_not() -> None:
    raw = Tokenizer(BPE({"a": 0, "b": 1, "c": 5}, []))

    assert TextTokenizer(raw, {}, 7).stop_ids == {2, 3, 4, 6}


def with_template(template: str) -> Tokenizer:
    tokenizer = fake_tokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[("<|endoftext|>", EOS), ("<|fim_prefix|>", EOS + 1)]
    )
    return tokenizer


@pytest.mark.parametrize(
    ("template", "config", "expected"),
    [
        ("$A", {}, []),
        ("<|endoftext|> $A", {}, [EOS]),
        ("<|endoftext|> $A <|fim_prefix|>", {}, [EOS]),
        ("<|endoftext|> <|fim_prefix|> $A", {}, [EOS, EOS + 1]),
        ("$A <|endoftext|>", {}, []),
        ("<|endoftext|> $A", {"add_bos_token": False, "bos_token_id": EOS}, []),
        ("$A", {"add_bos_token": True, "bos_token_id": EOS + 1}, [EOS + 1]),
        ("$A", {"add_bos_token": True, "bos_token_id": None}, []),
    ],
)
def test_begin_of_text_is_what_the_model_was_trained_with(
    template: str, config: dict[str, object], expected: list[int]
) -> None:
    assert TextTokenizer(with_template(template), config, 300).bos_ids == expected


def test_text_is_encoded_without_the_tokenizers_own_additions() -> None:
    tokenizer = text_tokenizer(with_template("<|endoftext|> $A <|fim_prefix|>"))

    assert tokenizer.encode("ab") == bytes_of("ab")


@given(text=st.text(max_size=20))
def test_offsets_are_the_characters_where_tokens_begin(text: str) -> None:
    tokenizer = text_tokenizer(fake_tokenizer())

    ids, starts = tokenizer.encode_with_offsets(text)

    assert len(ids) == len(starts)
    assert [index for index, char in enumerate(text) for _ in char.encode()] == starts


# The replacement character is what an incomplete one decodes to: it waits for the next token.
@settings(deadline=None)
@given(text=st.text(st.characters(exclude_characters="\ufffd", exclude_categories=["Cs"]), max_size=20))
def test_a_stream_gives_the_text_and_no_part_of_a_character(text: str) -> None:
    tokenizer = text_tokenizer(fake_tokenizer())
    stream = tokenizer.stream()
    shown = ""

    for token_id in tokenizer.encode(text):
        shown += stream.push(token_id)
        assert text.startswith(shown)

    assert shown == text


def test_a_character_split_over_tokens_comes_with_its_last_byte() -> None:
    stream = text_tokenizer(fake_tokenizer()).stream()

    assert [stream.push(token_id) for token_id in bytes_of("é🙂x")] == ["", "é", "", "", "", "🙂", "x"]


@given(text=st.text(st.sampled_from("aé🙂 "), max_size=8), skipped=st.integers(0, 9))
def test_a_stream_can_leave_out_what_stands_there_already(text: str, skipped: int) -> None:
    tokenizer = text_tokenizer(fake_tokenizer())
    stream = tokenizer.stream(skipped_chars=skipped)

    assert "".join(map(stream.push, tokenizer.encode(text))) == text[skipped:]


@pytest.mark.parametrize("kind", [special, byte_fallback])
@settings(deadline=None)
@given(token_ids=st.lists(st.integers(0, 255), max_size=12))
def test_bytes_that_are_no_text_do_not_disturb_what_follows(
    kind: Callable[[], Tokenizer], token_ids: list[int]
) -> None:
    raw = kind()
    stream = text_tokenizer(raw).stream()
    for token_id in token_ids:
        stream.push(token_id)

    letters = [raw.encode(letter, add_special_tokens=False).ids[-1] for letter in "xyz"]
    rest = "".join(stream.push(token_id) for token_id in letters)

    assert rest.endswith("xyz")


def test_the_first_token_of_an_answer_keeps_its_blank() -> None:
    raw = byte_fallback()
    blank_a = raw.token_to_id("▁a")
    assert blank_a is not None
    stream = text_tokenizer(raw).stream()

    assert [stream.push(blank_a), stream.push(blank_a)] == [" a", " a"]
