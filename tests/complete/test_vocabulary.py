"""The sorted vocabulary against a look at every token."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from completiond.complete.vocabulary import Vocabulary, allowed_naive

SPELLED = st.binary(min_size=1, max_size=4) | st.lists(
    st.sampled_from([b"a", b"b", b"\x00", b"\xc3", b"\xa9", b"\xff"]), min_size=1, max_size=5
).map(b"".join)
SPELLINGS = st.lists(SPELLED, max_size=40).map(lambda texts: {3 * index: text for index, text in enumerate(texts)})


@given(spellings=SPELLINGS, text=SPELLED)
@example(spellings={0: b"a", 3: b"a\xff", 6: b"a\xff\xff", 9: b"b"}, text=b"a\xff")
@example(spellings={0: b"\xff", 3: b"\xff\xff", 6: b"\x00"}, text=b"\xff")
@example(spellings={0: b"ab", 3: b"ab", 6: b"a", 9: b"a\x00"}, text=b"ab")
def test_what_may_be_written_is_what_a_look_at_every_token_finds(spellings: dict[int, bytes], text: bytes) -> None:
    assert Vocabulary(spellings).allowed(text).tolist() == allowed_naive(spellings, text)


@given(spellings=SPELLINGS, text=SPELLED)
@example(spellings={0: b"ab", 3: b"ab"}, text=b"ab")
@example(spellings={0: b"ab", 3: b"ab\x00"}, text=b"ab")
def test_whether_a_token_goes_on_from_a_text(spellings: dict[int, bytes], text: bytes) -> None:
    expected = any(spelled.startswith(text) and spelled != text for spelled in spellings.values())

    assert Vocabulary(spellings).extends(text) is expected


@given(spellings=SPELLINGS, token_id=st.integers(0, 200))
def test_each_token_keeps_its_spelling(spellings: dict[int, bytes], token_id: int) -> None:
    assert Vocabulary(spellings).spelling(token_id) == spellings.get(token_id)
