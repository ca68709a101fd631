"""Where the end of a text occurred before, and which of those places are worth copying from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete.tokens import TextTokenizer
from completiond.spec.lookup import BEHIND_CURSOR_TOKENS, Copy, Lookup
from completiond.spec.token_index import TokenIndex
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer

BYTES = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
IDS = st.lists(st.integers(0, 3), max_size=12)
FEW_IDS = st.lists(st.integers(0, 3), max_size=6)
ALL = 1000


class Tokens:
    """Each word of ``entries`` is a token, its id the place in the list; of those that fit the longest is taken."""

    def __init__(self, *entries: str) -> None:
        self.entries = entries

    def decode(self, token_ids: Sequence[int]) -> str:
        return "".join(self.entries[token_id] for token_id in token_ids)

    def encode(self, text: str) -> list[int]:
        ids = []
        while text:
            entry = max((entry for entry in self.entries if text.startswith(entry)), key=len)
            ids.append(self.entries.index(entry))
            text = text[len(entry) :]
        return ids


def index_of(*runs: Sequence[int]) -> TokenIndex:
    index = TokenIndex()
    for number, run in enumerate(runs):
        index.add(run, f"run {number}")
    return index


def what(copy: Copy | None) -> tuple[str, tuple[int, ...], int] | None:
    return None if copy is None else (copy.origin, copy.tokens(ALL), copy.match)


def longest(
    context: Sequence[int], others: Sequence[Sequence[int]] = (), documents: Sequence[Sequence[int]] = ()
) -> tuple[str, tuple[int, ...], int] | None:
    return what(Lookup(index_of(*documents), None, context, others).longest(context))


def in_text(before: str, behind: str, *documents: str) -> str | None:
    """What the longest match for a cursor between two texts goes on with."""
    ids = BYTES.encode(before)
    lookup = Lookup(index_of(*map(BYTES.encode, documents)), BYTES, ids, [BYTES.encode(behind)])
    copy = lookup.longest(ids)
    return None if copy is None else BYTES.decode(copy.tokens(ALL))


# The longest match


def test_the_longest_match_of_prompt_and_documents_is_taken() -> None:
    context = [1, 2, 3]

    assert longest([2, 3, 7, *context], documents=[[1, 2, 3, 8]]) == ("run 0", (8,), 3)
    assert longest([1, 2, 3, 7, *context], documents=[[2, 3, 8]]) == ("prompt", (7, *context), 3)


def test_of_matches_as_long_the_prompt_s_is_taken_and_of_documents_the_newest() -> None:
    assert longest([2, 3, 7, 1, 2, 3], documents=[[2, 3, 8]]) == ("prompt", (7, 1, 2, 3), 2)
    assert longest([1, 2, 3], documents=[[2, 3, 8], [2, 3, 9], [5]]) == ("run 1", (9,), 2)


def test_of_matches_as_long_in_the_prompt_the_nearest_before_the_cursor_is_taken() -> None:
    assert longest([2, 3, 7, 2, 3, 8, 2, 3]) == ("prompt", (8, 2, 3), 2)
    assert longest([2, 3, 7, 2, 3], [[4, 2, 3, 9]]) == ("prompt", (7, 2, 3), 2)


def test_without_a_match_there_is_no_copy() -> None:
    assert longest([1, 2, 3], documents=[[7, 3, 8]]) is None
    assert longest([]) is None
    assert what(Lookup(None, None, [1, 2], []).longest([1, 2])) is None


@settings(deadline=None)
@given(context=IDS, others=st.lists(FEW_IDS, max_size=2), documents=st.lists(FEW_IDS, max_size=2), answer=IDS)
def test_once_the_answer_has_begun_it_is_as_long_as_a_scan_finds(
    context: list[int], others: list[list[int]], documents: list[list[int]], answer: list[int]
) -> None:
    lookup = Lookup(index_of(*documents), None, context, others)
    lookup.extend([9, *answer])
    text = [*context, 9, *answer]
    lengths = [
        length
        for length in range(2, len(text) + 1)
        for run in (text, *others, *documents)
        if any(run[i : i + length] == text[-length:] for i in range(len(run) - length))
    ]

    copy = lookup.longest(text)

    assert (copy.match if copy else 0) == max(lengths, default=0)


# The cursor's own place


def test_what_stands_behind_the_cursor_is_no_news() -> None:
    file = [1, 2, 3, 4, 5, 6]

    assert longest(file[:3], [file[3:]], [file]) is None
    assert longest(file[:3], [file[3:]], [[2, 3, 7], file]) == ("run 0", (7,), 2)


def test_a_place_that_differs_from_it_within_sight_is_news() -> None:
    behind = list(range(10, 40))
    seen, unseen = list(behind), list(behind)
    seen[BEHIND_CURSOR_TOKENS - 1] = 7
    unseen[BEHIND_CURSOR_TOKENS] = 7

    assert longest([1, 2], [behind], [[1, 2, *seen]]) == ("run 0", tuple(seen), 2)
    assert longest([1, 2], [behind], [[1, 2, *unseen]]) is None


def test_it_is_copied_all_the_same_once_the_answer_has_begun() -> None:
    lookup = Lookup(index_of([1, 2, 3, 4, 5]), None, [1, 2], [[3, 4, 5]])
    lookup.extend([3])

    assert what(lookup.longest([1, 2, 3])) == ("run 0", (4, 5), 3)


def test_on_an_opened_empty_line_the_line_below_is_no_news() -> None:
    file = "def f():\n    a = 1\n    b = 2\n    c = 3\n"
    before, behind = "def f():\n    a = 1\n", "\n    b = 2\n    c = 3\n"

    assert in_text(before, behind, file, before + behind) is None
    # Its own first line is another place of the indentation alone.
    assert in_text(before + "    ", behind, file, before + "    " + behind) == "a = 1\n    "


def test_on_an_opened_empty_line_another_continuation_is_news() -> None:
    file = "def f():\n    a = 1\n    b = 2\n"
    other = "    a = 1\n    new = 3\n"

    assert in_text("def f():\n    a = 1\n    ", "\n    b = 2\n", file, other, file) == "new = 3\n"


# Seams


SEAMS = Tokens("    ", "\n", "    return", " x", "if", ":", "ret", "return", " y", " ", "\t", "urn", "        ", "def")


def seams(before: str, document: str, *, behind: str = "") -> list[tuple[str, str, str]]:
    """(what is drafted, its origin, where the copy begins) for each seam; ``before`` as the user's tokens."""
    ids = SEAMS.encode(before)
    documents = TokenIndex()
    documents.add(SEAMS.encode(document), "file")
    lookup = Lookup(documents, SEAMS, ids, [SEAMS.encode(behind)])
    return [(SEAMS.decode(cut), copy.origin, SEAMS.decode(copy.tokens(1))) for copy, cut in lookup.seams(ids)]


def test_behind_an_indentation_that_the_copy_has_in_one_token_with_a_word_the_word_is_drafted() -> None:
    found = seams("if x:\n    ", "if x:\n    return y\n")

    assert found == [("return y\n", "file, cut", "    return")]


def test_an_indentation_of_two_tokens_is_cut_too() -> None:
    tab = Tokens("if", " x", ":", "\n", "\t", " ", "\t return", "return", " y")
    ids = [*tab.encode("if x:\n"), 4, 5]
    documents = index_of(tab.encode("if x:\n\t return y\n"))

    ((copy, cut),) = Lookup(documents, tab, ids, [[]]).seams(ids)
    assert tab.decode(cut) == "return y\n"
    assert copy.match == 4


def test_behind_half_a_word_the_other_half_is_drafted() -> None:
    assert seams("if x:ret", "if x:return y\n") == [("urn y\n", "file, cut", "return")]


def test_a_place_that_goes_on_with_something_else_is_no_seam() -> None:
    assert seams("if x:ret", "if x:def y\n") == []
    assert seams("if x:ret", "if x:ret") == []


def test_a_text_too_short_to_match_before_the_seam_has_none() -> None:
    assert seams(":ret", ":return y\n") == []
    assert seams("", "if x:\n") == []


def test_what_stands_behind_a_seam_already_is_no_news() -> None:
    assert seams("if x:\n    ", "if x:\n    return y\n", behind="return y\n") == []


def test_without_spelling_there_are_no_seams() -> None:
    ids = SEAMS.encode("if x:ret")

    assert Lookup(index_of(SEAMS.encode("if x:return")), None, ids, [[]]).seams(ids) == []


# The nearest place of the last token


@settings(deadline=None)
@given(context=IDS, others=st.lists(FEW_IDS, max_size=2), answer=IDS)
def test_the_nearest_place_is_the_last_one_before_the_cursor(
    context: list[int], others: list[list[int]], answer: list[int]
) -> None:
    lookup = Lookup(index_of([0, 1, 2, 3]), None, context, others)
    if answer:
        lookup.extend(answer)
    text = [*context, *answer]
    rests = [tuple(text[end:]) for end in range(1, len(text)) if text[end - 1] == text[-1]]

    assert what(lookup.nearest()) == (("near", rests[-1], 1) if rests else None)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_a_copy_gives_no_more_than_it_is_asked_for(count: int) -> None:
    copy = Lookup(index_of([1, 2, 3, 4, 5]), None, [1, 2], []).longest([1, 2])

    assert copy is not None
    assert copy.tokens(count) == (3, 4, 5)[:count]
