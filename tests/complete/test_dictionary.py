"""The open documents as a dictionary: after any edits it holds what the editor has, and after closing nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.complete import document_runs
from completiond.complete.dictionary import Dictionary, DocumentKey
from completiond.complete.request import LineEdit
from completiond.complete.tokens import TextTokenizer
from completiond.spec.draft_text import DraftText
from completiond.spec.ngram import NGramDrafter
from completiond.spec.token_index import BYTES_PER_TOKEN, MAX_MATCH
from tests.fake_model import PADDED_VOCAB_SIZE, bytes_of, fake_tokenizer

TOKENIZER = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
KEY = ("me", "a.py")
LINE = st.sampled_from(["", "  ", "x = 1", "    return y", "def f():", "é🙂", "\ud83d"])
LINES = st.lists(LINE, max_size=8)
EDITS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4), LINES), max_size=40)


def dictionary(budget_bytes: int = 64_000_000) -> Dictionary:
    return Dictionary(TOKENIZER, budget_bytes)


def replace(first_line: int, num_old: int, *new: str) -> list[LineEdit]:
    return [LineEdit(first_line, num_old, new)]


def holds(text: DraftText, wanted: str) -> bool:
    """Whether ``wanted`` (in one run, with something behind it) can be drafted from."""
    ids = bytes_of(wanted)
    return any(match.length == min(MAX_MATCH, len(ids)) for match in text.index.longest(ids))


def knows(one: Dictionary, wanted: str, key: DocumentKey = KEY) -> bool:
    return holds(one.draft_text(key, 0), wanted)


def replaced(one: Dictionary, line: int, key: DocumentKey = KEY) -> str | None:
    text = one.draft_text(key, line)
    if text.replaced is None:
        return None
    return TOKENIZER.decode(text.index.tokens(text.replaced, text.replaced.start, 10_000))


def in_range(edit: tuple[int, int, list[str]], lines: Sequence[str]) -> LineEdit:
    first = edit[0] % (len(lines) + 1)
    return LineEdit(first, min(edit[1], len(lines) - first), tuple(edit[2]))


@settings(deadline=None)
@given(start=LINES, edits=EDITS)
def test_after_any_edits_it_holds_the_lines_of_the_document(
    start: list[str], edits: list[tuple[int, int, list[str]]]
) -> None:
    one, lines = dictionary(), list(start)
    one.open(KEY, lines)
    for values in edits:
        edit = in_range(values, lines)
        lines[edit.first_line : edit.first_line + edit.num_old_lines] = edit.new_lines
        one.edit(KEY, [edit])

        assert one.lines(KEY) == tuple(lines)

    one.close(KEY)
    assert (one.num_tokens, one.size_bytes, one.memo_lines, KEY in one) == (0, 0, 0, False)


@settings(deadline=None, max_examples=60)
@given(
    edits=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40),
    max_edit_runs=st.sampled_from([2, 1_000_000]),
)
def test_the_text_around_the_last_edit_is_found_and_so_is_what_was_deleted(
    edits: list[tuple[int, int, int]], max_edit_runs: int
) -> None:
    one = dictionary()
    original = [f"line {number} of the file" for number in range(40)]
    lines = list(original)
    one.open(KEY, lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_runs, "MAX_EDIT_RUNS", max_edit_runs)
        for count, (place, num_old, num_new) in enumerate(edits):
            edit = in_range((place, num_old, [f"edit {count}.{i} is new" for i in range(num_new)]), lines)
            lines[edit.first_line : edit.first_line + edit.num_old_lines] = edit.new_lines
            one.edit(KEY, [edit])

            around = lines[max(0, edit.first_line - 1) : edit.first_line + num_new + 1]
            assert all(knows(one, line) for line in around)
            assert knows(one, "\n".join(around))
    # Until it is indexed afresh, all that was there when it was opened; after that, all that is there.
    assert all(knows(one, line) for line in (lines if max_edit_runs == 2 else original))


def test_an_edit_is_found_together_with_the_lines_around_it() -> None:
    one = dictionary()
    one.open(KEY, ["before", "old", "after"])
    one.edit(KEY, replace(1, 1, "new"))

    assert knows(one, "before\nnew\nafter")
    assert knows(one, "before\nold\nafter")  # the text of before the edit
    one.edit(KEY, replace(1, 1, "newest"))
    assert knows(one, "before\nnewest\nafter")
    assert not knows(one, "before\nnew\nafter")  # a state in between is not worth keeping


def test_edits_of_one_notification_are_made_in_order() -> None:
    one = dictionary()
    one.open(KEY, ["a", "b", "c"])
    one.edit(KEY, [LineEdit(0, 1, ()), LineEdit(1, 1, ("d", "e"))])

    assert one.lines(KEY) == ("b", "d", "e")


# What was replaced


def test_the_text_that_was_deleted_at_the_cursor_is_a_source_of_its_own() -> None:
    one = dictionary()
    one.open(KEY, ["def f():", "    return old_name(a, b)", "", "end"])
    assert replaced(one, 1) is None
    one.edit(KEY, replace(1, 1, "    return "))

    assert replaced(one, 1) == "old_name(a, b)"
    assert replaced(one, 0) is None
    assert replaced(one, 2) is None
    one.edit(KEY, replace(1, 1, "    return n"))
    assert replaced(one, 1) == "old_name(a, b)"


def test_what_was_deleted_is_found_though_the_edit_names_the_lines_around_it_too() -> None:
    one = dictionary()
    one.open(KEY, ["zero", "one", "two", "three"])
    one.edit(KEY, replace(0, 3, "zero", "", "two"))

    assert [replaced(one, line) for line in range(4)] == [None, "one", None, None]


def test_an_edit_elsewhere_leaves_the_place() -> None:
    one = dictionary()
    one.open(KEY, [f"line {number}" for number in range(30)])
    one.edit(KEY, replace(3, 1, ""))
    one.edit(KEY, replace(20, 1, "other"))

    assert replaced(one, 3) is None
    assert replaced(one, 20) == "line 20"
    assert knows(one, "line 3\nline 4")


def test_very_much_deleted_text_is_a_source_in_part() -> None:
    one = dictionary()
    one.open(KEY, ["keep", *(f"line {number}" for number in range(3000)), "end"])
    one.edit(KEY, replace(1, 3000))

    found = replaced(one, 1)
    assert found is not None
    assert found.startswith("line 0\nline 1\n")
    assert len(found) <= document_runs.MAX_REPLACED_CHARS


def test_much_text_pasted_is_indexed_once_and_not_at_every_key() -> None:
    one = dictionary()
    one.open(KEY, ["begin", "end"])
    pasted = [f"pasted {number}" for number in range(2 * document_runs.MAX_SPOT_LINES)]
    one.edit(KEY, replace(1, 0, *pasted))
    num_tokens = one.num_tokens
    one.edit(KEY, replace(100, 1, "typed"))

    assert one.lines(KEY) == ("begin", *pasted[:99], "typed", *pasted[100:], "end")
    assert one.num_tokens - num_tokens < 40 * len("pasted 999")
    assert knows(one, "pasted 98\ntyped\npasted 100")


# Names under replacement


def words(one: Dictionary, key: DocumentKey = KEY) -> tuple[tuple[str, str], ...]:
    return one.draft_text(key, 0).words


def rename(one: Dictionary, line: int, before: str, old: str, new: str, after: str, key: DocumentKey = KEY) -> None:
    """Delete a word and write another, character by character."""
    for end in range(len(old) - 1, -1, -1):
        one.edit(key, replace(line, 1, before + old[:end] + after))
    for end in range(1, len(new) + 1):
        one.edit(key, replace(line, 1, before + new[:end] + after))


def test_a_rename_typed_character_by_character_is_one_of_whole_words() -> None:
    one = dictionary()
    one.open(KEY, ["def f(total):", "    return total", "", "x = 1"])
    rename(one, 0, "def f(", "total", "tally", "):")

    assert words(one) == (("total", "tally"),)
    one.edit(KEY, replace(3, 1, "y = 1"))  # elsewhere
    assert words(one) == (("x", "y"), ("total", "tally"))


def test_a_rename_in_one_document_is_under_way_in_the_others_of_the_client_only() -> None:
    one = dictionary()
    for key in (KEY, ("me", "b.py"), ("you", "a.py")):
        one.open(key, ["use(total)"])
    rename(one, 0, "use(", "total", "tally", ")")

    assert words(one, ("me", "b.py")) == (("total", "tally"),)
    assert words(one, ("you", "a.py")) == ()
    one.close(KEY)
    assert words(one, ("me", "b.py")) == ()


def test_of_two_renames_of_one_word_the_newer_counts_and_old_ones_are_forgotten() -> None:
    one = dictionary()
    one.open(KEY, ["v0"] * 40)
    for number in range(1, 10):
        one.edit(KEY, replace(2 * number, 1, f"w{number}"))
    assert words(one) == (("v0", "w9"),)

    one.open(KEY, [f"v{number}" for number in range(40)])
    for number in range(1, 20):
        one.edit(KEY, replace(2 * number, 1, f"w{number}"))
    assert words(one)[0] == ("v38", "w19")
    assert 1 < len(words(one)) <= document_runs.MAX_WORDS


# What lines have in the places of lines like them


def analogies(one: Dictionary, key: DocumentKey = KEY) -> list[tuple[str, str]]:
    return [("".join(old), "".join(new)) for old, new in one.draft_text(key, 0).analogies]


def test_a_line_written_below_a_line_like_it_shows_what_took_the_place_of_what() -> None:
    one = dictionary()
    one.open(KEY, ["def f():", "    use(first)", "", "end"])
    one.edit(KEY, replace(2, 1, "    use(second)"))

    assert set(analogies(one)) == {("first", "second")}


def test_a_line_rewritten_shows_it_too_though_lines_are_put_in_above() -> None:
    one = dictionary()
    one.open(KEY, ["head", "", "    use(first_url)", "    more()", "", "", "end"])
    one.edit(KEY, replace(2, 1, "    use(second_url)"))
    one.edit(KEY, replace(0, 0, "", "", ""))  # nobody has asked in between

    assert words(one) == (("first_url", "second_url"),)
    assert analogies(one) == [("first_url", "second_url"), ("first", "second")]


def test_of_several_documents_those_of_the_one_used_last_come_first() -> None:
    one = dictionary()
    other, stranger = ("me", "b.py"), ("you", "a.py")
    for key, word in ((KEY, "second"), (other, "third"), (stranger, "hidden")):
        one.open(key, ["use(first)", "end"])
        one.edit(key, replace(0, 1, f"use({word})"))

    assert dict.fromkeys(analogies(one, other)) == dict.fromkeys([("first", "third"), ("first", "second")])
    assert analogies(one)[0] == ("first", "second")
    assert {new for _, new in analogies(one, stranger)} == {"hidden"}
    one.close(other)
    assert set(analogies(one)) == {("first", "second")}


def test_half_a_character_in_a_line_never_gets_into_a_draft() -> None:
    one = dictionary()
    one.open(KEY, ["x = foo(1, 2)", "z = foo(1, 2)", "", "end"])
    one.edit(KEY, replace(1, 1, "z = \ud83d(1, 2)"))
    drafter = NGramDrafter(one.draft_text(KEY, 2))
    drafter.reset(bytes_of("x = foo(1, 2)\n"))

    assert drafter.propose(20).token_ids


# Closing, clients


def test_closing_leaves_nothing_also_after_many_edits() -> None:
    one = dictionary()
    one.open(("me", "b.py"), ["other text"])
    one.open(KEY, [f"line {number}" for number in range(100)])
    for number in range(200):
        one.edit(KEY, replace(number * 7 % 100, 1, f"secret {number}"))
    one.close(KEY)

    assert KEY not in one
    assert not knows(one, "secret", ("me", "b.py"))
    assert not knows(one, "line 99", ("me", "b.py"))
    assert one.num_tokens == len("other text\n")
    assert one.memo_lines == 1
    one.close(("me", "b.py"))
    assert (one.num_tokens, one.size_bytes, one.memo_lines) == (0, 0, 0)
    one.close(KEY)  # harmless


def test_what_is_not_open_is_not_edited_and_nothing_is_drafted_for_it() -> None:
    one = dictionary()
    one.edit(KEY, replace(0, 0, "text"))

    assert KEY not in one
    assert one.draft_text(KEY, 0).index.num_tokens == 0


def test_opening_again_replaces_the_text() -> None:
    one = dictionary()
    one.open(KEY, ["old text"])
    one.edit(KEY, replace(0, 1, "edited text"))
    one.open(KEY, ["new text"])

    assert one.lines(KEY) == ("new text",)
    assert knows(one, "new text")
    assert not knows(one, "old text")
    assert not knows(one, "edited text")


def test_clients_are_apart_even_with_documents_of_one_name() -> None:
    one = dictionary()
    mine, yours = ("me", "a.py"), ("you", "a.py")
    one.open(mine, ["my own text"])
    one.open(("me", "b.py"), ["my second text"])
    one.open(yours, ["your own text"])

    assert knows(one, "my own text", mine)
    assert knows(one, "my second text", mine)
    assert not knows(one, "your own text", mine)
    assert not knows(one, "my own text", yours)
    one.edit(yours, replace(0, 1, "your new text"))
    assert one.lines(mine) == ("my own text",)
    one.close_client("me")
    assert mine not in one
    assert ("me", "b.py") not in one
    assert knows(one, "your new text", yours)
    one.close_client("you")
    assert one.num_tokens == 0


# Bounds


def test_the_documents_used_longest_ago_are_left_out_first() -> None:
    budget_bytes = 400_000
    one = dictionary(budget_bytes)
    keys = [("me", f"{number}.py") for number in range(30)]
    for number, key in enumerate(keys):
        one.open(key, [f"text {number:03} {'x' * 80}"] * 20)
        assert one.size_bytes <= budget_bytes
        if keys[0] in one:
            one.draft_text(keys[0], 0)  # used again and again

    kept = [key for key in keys if key in one]
    assert kept == [keys[0], *keys[len(keys) - len(kept) + 1 :]]
    assert len(kept) * 1800 * BYTES_PER_TOKEN > budget_bytes / 3, "more was left out than had to be"


def test_the_document_that_is_edited_is_kept_however_large() -> None:
    one = dictionary(50_000)
    other = ("me", "b.py")
    one.open(KEY, ["x" * 50] * 10)
    one.open(other, ["y" * 50] * 10)
    one.edit(KEY, replace(5, 1, *["z" * 50] * 150))

    assert KEY in one
    assert other not in one
    assert len(one.lines(KEY)) == 159


def test_very_long_lines_are_left_out() -> None:
    one = dictionary()
    long = "minified" * 1000
    one.open(KEY, ["before", long, "after"])
    assert one.num_tokens == len("before\nafter\n")
    one.edit(KEY, replace(1, 1, long + "x"))

    assert one.lines(KEY)[1] == long + "x"
    assert not knows(one, "minifiedminified")
    assert one.num_tokens < 10_000


@pytest.mark.parametrize("in_one_place", [True, False])
def test_very_many_edits_stay_within_bounds(in_one_place: bool) -> None:
    one = dictionary()
    one.open(KEY, [f"line {number}" for number in range(60)])
    largest_bytes = largest_memo = 0
    for number in range(6000):
        one.edit(KEY, replace(5 if in_one_place else number * 17 % 60, 1, f"edit {number}"))
        if number % 100 == 0:
            largest_bytes, largest_memo = max(largest_bytes, one.size_bytes), max(largest_memo, one.memo_lines)

    assert largest_bytes < 1_000_000
    assert largest_memo <= 2 * 60 + document_runs.SPARE_MEMO_LINES
    one.close(KEY)
    assert (one.num_tokens, one.size_bytes, one.memo_lines) == (0, 0, 0)
