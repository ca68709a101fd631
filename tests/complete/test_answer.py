"""An answer as it grows: what was shown is never taken back, and every character has the origin of its token."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.answer import Answer
from completiond.complete.place import Place
from completiond.complete.request import Chunk, Span
from completiond.complete.shape import Shape
from completiond.complete.tokens import TextTokenizer
from tests.fake_model import EOS, PADDED_VOCAB_SIZE, bytes_of, fake_tokenizer

TOKENIZER = TextTokenizer(fake_tokenizer(), {"eos_token_id": EOS}, PADDED_VOCAB_SIZE)
EMPTY = Place.of("", "")


@dataclass(frozen=True)
class Pass:
    """Tokens of one pass of the model, of which ``source`` guessed the first ``accepted``."""

    token_ids: list[int]
    accepted: int
    source: str


@dataclass(frozen=True)
class Result:
    answer: Answer
    chunks: list[Chunk]
    reason: str
    pushed: list[tuple[int, str]]
    """The tokens that were taken, and where each came from."""


def write(place: Place, passes: list[Pass], then: str = "length") -> Result:
    """What the decode loop does with an answer."""
    answer = Answer(TOKENIZER, place)
    chunks: list[Chunk | None] = []
    pushed: list[tuple[int, str]] = []
    reason = None
    for one in passes:
        emitted = 0
        for token_id in one.token_ids:
            reason = answer.push(token_id)
            if reason == "eos":
                break
            pushed.append((token_id, one.source if emitted < one.accepted else "model"))
            emitted += 1
            if reason is not None:
                break
        answer.attribute(min(emitted, one.accepted), one.source)
        if reason is not None:
            break
        chunks.append(answer.take_chunk())
    chunks.append(answer.close(reason or then))
    return Result(answer, [chunk for chunk in chunks if chunk is not None], reason or then, pushed)


def one_by_one(text: str) -> list[Pass]:
    return [Pass([token_id], 0, "none") for token_id in bytes_of(text)]


TOKENS = st.sampled_from(bytes_of("\n\n  \t}{)(:`-\"'\rabcd1é🙂")) | st.integers(0, PADDED_VOCAB_SIZE - 1)
WORDS = st.sampled_from(["return x\n", "    y = 1\n", "}\n", "\n", "if x:\n", "foo(a)", " ", "é"])
PASSES = st.lists(
    st.builds(
        lambda tokens, words, accepted, source: Pass([*tokens, *bytes_of("".join(words))], accepted, source),
        st.lists(TOKENS, max_size=4),
        st.lists(WORDS, max_size=3),
        st.integers(0, 4),
        st.sampled_from(["ngram", "other"]),
    ),
    max_size=8,
)
PLACES = st.builds(
    Place.of,
    st.lists(WORDS, max_size=4).map("".join),
    st.lists(WORDS | st.sampled_from([")", '"', "total"]), max_size=4).map("".join),
)


@settings(deadline=None, max_examples=300)
@given(place=PLACES, passes=PASSES, then=st.sampled_from(["length", "cancelled"]))
def test_chunks_add_up_to_the_text_and_spans_cover_it(place: Place, passes: list[Pass], then: str) -> None:
    result = write(place, passes, then)

    assert "".join(chunk.text for chunk in result.chunks) == result.answer.text
    assert all(chunk.text and chunk.text == "".join(span.text for span in chunk.spans) for chunk in result.chunks)
    assert "".join(span.text for span in result.answer.spans) == result.answer.text
    assert letters([span for chunk in result.chunks for span in chunk.spans]) == letters(result.answer.spans)
    assert all(one.source != other.source for one, other in pairwise(result.answer.spans))


def letters(spans: list[Span] | tuple[Span, ...]) -> list[tuple[str, str]]:
    return [(letter, span.source) for span in spans for letter in span.text]


@settings(deadline=None, max_examples=300)
@given(place=PLACES, passes=PASSES)
def test_token_ids_are_those_that_made_the_text(place: Place, passes: list[Pass]) -> None:
    result = write(place, passes)

    taken = [token_id for token_id, _ in result.pushed]
    token_ids = result.answer.token_ids
    assert token_ids == taken[: len(token_ids)]
    assert TOKENIZER.stop_ids.isdisjoint(token_ids)
    assert made_of(token_ids, place).startswith(result.answer.text)
    if token_ids:
        assert len(made_of(token_ids[:-1], place)) < len(result.answer.text), "a token that adds nothing"
    else:
        assert result.answer.text == ""


def made_of(token_ids: list[int], place: Place) -> str:
    stream, shape = TOKENIZER.stream(), Shape(place)
    return "".join(shape.push(stream.push(token_id)) for token_id in token_ids) + shape.flush()


def test_every_character_has_the_origin_of_the_token_that_completed_it() -> None:
    passes = [Pass(bytes_of("abc"), 2, "ngram"), Pass(bytes_of("dé"), 2, "ngram"), Pass(bytes_of("f"), 0, "none")]

    result = write(EMPTY, passes)

    spans = [Span("ab", "ngram"), Span("c", "model"), Span("d", "ngram"), Span("éf", "model")]
    assert list(result.answer.spans) == spans


def test_an_end_token_ends_the_answer_and_is_no_part_of_it() -> None:
    result = write(EMPTY, [Pass([*bytes_of("ab"), EOS, *bytes_of("cd")], 4, "ngram")])

    assert result.reason == "eos"
    assert result.answer.text == "ab"
    assert result.answer.token_ids == bytes_of("ab")
    assert result.answer.spans == (Span("ab", "ngram"),)


@pytest.mark.parametrize("token_id", [EOS, EOS + 1, PADDED_VOCAB_SIZE - 1])
def test_control_tokens_and_padding_are_never_shown(token_id: int) -> None:
    result = write(EMPTY, [Pass([*bytes_of("ab"), token_id], 0, "none")])

    assert (result.reason, result.answer.text) == ("eos", "ab")


def test_a_stop_inside_a_block_drops_the_rest_of_the_block() -> None:
    result = write(Place.of("foo(", ")\n"), [Pass(bytes_of("a, b) + c"), 9, "ngram")])

    assert result.reason == "suffix"
    assert result.answer.text == "a, b"
    assert result.answer.token_ids == bytes_of("a, b")


def test_text_is_shown_as_it_comes() -> None:
    result = write(EMPTY, one_by_one("abc"))

    assert [chunk.text for chunk in result.chunks] == ["a", "b", "c"]


def test_half_a_character_at_the_end_is_not_shown() -> None:
    result = write(EMPTY, [Pass(bytes_of("aé")[:-1], 0, "none")])

    assert result.answer.text == "a"
    assert result.answer.token_ids == bytes_of("a")


def test_blanks_that_the_user_has_typed_are_not_repeated() -> None:
    result = write(Place.of("def f():\n    ", "\n"), one_by_one("    a = 1"))

    assert result.chunks[0].text == "a"
    assert result.answer.text == "a = 1"


def test_carriage_returns_are_not_shown() -> None:
    result = write(Place.of("def f():\n    ", "\n"), one_by_one("x = 1\r\n    y = 2\r\n"))

    assert result.answer.text == "x = 1\n    y = 2"


def test_an_answer_without_tokens_is_empty() -> None:
    result = write(EMPTY, [])

    assert (result.answer.text, result.answer.token_ids, result.answer.spans, result.chunks) == ("", [], (), [])
