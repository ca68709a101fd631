"""The n-gram drafter against a scan of all text, on small alphabets where everything repeats, and on code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from completiond.complete.tokens import TextTokenizer
from completiond.engine.gguf_source import GGUFSource
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.lookup import BEHIND_CURSOR_TOKENS
from completiond.spec.ngram import NGramDrafter, longest_match_naive
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import FixedPolicy, MeasuredPolicy
from completiond.spec.token_index import TokenIndex
from tests.fake_model import PADDED_VOCAB_SIZE, fake_tokenizer

BYTES = TextTokenizer(fake_tokenizer(), {}, PADDED_VOCAB_SIZE)
MIN_MATCH = 2
MAX_MATCH = 64
MAX_PLACES = 24
# At most MAX_PLACES places share a pair of ids: within that, the index must find what a scan finds.
IDS = st.lists(st.integers(0, 3), max_size=MAX_PLACES // 2)
FEW_IDS = st.lists(st.integers(0, 3), max_size=MAX_PLACES // 4)
BUDGET = 20


def propose(context: Sequence[int], others: Sequence[Sequence[int]] = (), budget: int = BUDGET) -> tuple[int, ...]:
    drafter = NGramDrafter()
    drafter.reset(context, others)
    return drafter.propose(budget).token_ids


def followers(context: Sequence[int], runs: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """What stands behind each occurrence of the last ``length`` ids: in other runs first, then older to newer."""
    tail = list(context[-length:])
    found = []
    for run in (*runs, context):
        ends = range(length, len(run))
        found += [list(run[end:]) for end in ends if list(run[end - length : end]) == tail]
    return found


def news(context: Sequence[int], runs: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """Of the followers those that do not only say what stands behind the cursor, the first of ``runs``."""
    behind = list(runs[0][:BEHIND_CURSOR_TOKENS]) if runs else []
    found = ((rest, rest[:BEHIND_CURSOR_TOKENS]) for rest in followers(context, runs, length))
    return [rest for rest, copied in found if copied != behind[: len(copied)]]


@settings(deadline=None)
@given(context=IDS, others=st.lists(FEW_IDS, max_size=2))
def test_draft_is_what_followed_the_newest_of_the_longest_matches(context: list[int], others: list[list[int]]) -> None:
    lengths = range(len(context), MIN_MATCH - 1, -1)
    found = next((rests for length in lengths if (rests := news(context, others, length))), [])
    if not found:
        found = followers(context, [], 1)  # the nearest place of the last token, before the cursor only

    draft = propose(context, others)

    assert list(draft) == (found[-1][:BUDGET] if found else [])


@settings(deadline=None)
@given(context=st.lists(st.integers(0, 1), max_size=200), others=st.lists(FEW_IDS, max_size=2))
def test_in_very_repetitive_text_a_draft_still_copies_a_match(context: list[int], others: list[list[int]]) -> None:
    draft = propose(context, [[9], *others])
    length = MIN_MATCH if longest_match_naive(context, others) else 1
    rests = followers(context, others if length > 1 else [], length)
    assert bool(draft) == bool(rests)
    assert not draft or any(list(draft) == rest[: len(draft)] for rest in rests)


def test_longer_match_beats_a_newer_one() -> None:
    assert propose([1, 2, 3, 7, 7, 9, 2, 3, 8, 8, 1, 2, 3])[:2] == (7, 7)


def test_among_equal_matches_the_newest_wins() -> None:
    assert propose([2, 3, 7, 7, 0, 2, 3, 8, 8, 1, 2, 3])[:2] == (8, 8)


def test_the_text_before_the_cursor_wins_over_the_text_after_it() -> None:
    assert propose([2, 3, 7, 7, 1, 2, 3], [[2, 3, 8, 8]])[:2] == (7, 7)


def test_drafts_from_the_text_after_the_cursor() -> None:
    assert propose([1, 2, 3], [[5, 2, 3, 8, 9, 4]])[:2] == (8, 9)


def test_two_runs_of_text_are_never_read_as_one() -> None:
    assert propose([1, 2, 3], [[5, 2], [3, 8, 9], [2, 3]]) == ()


def test_without_a_match_the_nearest_place_of_the_last_token_is_drafted_from() -> None:
    drafter = NGramDrafter()
    drafter.reset([3, 7, 0, 3, 8, 1, 3], [[3, 9]])

    draft = drafter.propose(2)
    assert (draft.token_ids, draft.origin, draft.match) == ((8, 1), "near", 1)


def test_a_match_reaches_over_the_seam_between_prompt_and_answer() -> None:
    drafter = NGramDrafter()
    drafter.reset([4, 5, 6, 7, 8, 4, 5])

    drafter.observe([6, 7])

    assert drafter.propose(BUDGET).token_ids[:1] == (8,)


def test_a_text_that_ends_in_its_only_occurrence_has_no_draft() -> None:
    assert (propose([1, 2, 3, 4]), propose([1]), propose([])) == ((), (), ())


def test_equal_pairs_in_a_row_draft_their_own_continuation() -> None:
    assert propose([1, 1, 1])[:1] == (1,)


@settings(deadline=None)
@given(context=IDS, budget=st.integers(-1, 5))
def test_a_draft_stays_within_its_budget_and_says_how_sure_it_is(context: list[int], budget: int) -> None:
    drafter = NGramDrafter()
    drafter.reset(context)

    draft = drafter.propose(budget)

    assert len(draft.token_ids) <= max(0, budget)
    assert len(draft.probabilities) == len(draft.token_ids)
    assert all(0.0 < probability <= 1.0 for probability in draft.probabilities)


def test_a_longer_match_is_trusted_with_a_longer_draft() -> None:
    run = list(range(40))
    lengths = []
    for tail in ([50, 1, 2], list(range(20))):
        drafter = NGramDrafter()
        drafter.reset([*run, *tail])
        lengths.append(len(FixedPolicy().trim(drafter.propose(BUDGET)).token_ids))

    assert 0 < lengths[0] < lengths[1]


@settings(deadline=None)
@given(context=IDS, answer=IDS, others=st.lists(FEW_IDS, max_size=1), cuts=st.sets(st.integers(0, MAX_PLACES)))
def test_observing_pass_by_pass_equals_reading_all_at_once(
    context: list[int], answer: list[int], others: list[list[int]], cuts: set[int]
) -> None:
    stepwise, at_once = NGramDrafter(), NGramDrafter()
    others = [[9], *others]  # behind the cursor, and nowhere else
    stepwise.reset(context, others)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(answer)), len(answer)]
    for begin, end in pairwise(bounds):
        if begin < end:
            stepwise.observe(answer[begin:end])

    at_once.reset([*context, *answer], others)

    assert stepwise.propose(BUDGET) == at_once.propose(BUDGET)


@settings(deadline=None)
@given(old=IDS, context=IDS)
def test_reset_forgets_the_last_answer(old: list[int], context: list[int]) -> None:
    used, fresh = NGramDrafter(), NGramDrafter()
    used.reset(old, [old])
    used.observe([1, 2])
    used.reset(context)
    fresh.reset(context)

    assert used.propose(BUDGET) == fresh.propose(BUDGET)


@settings(deadline=None)
@given(context=IDS, passes=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=6))
def test_proposing_twice_gives_the_same_and_changes_nothing(context: list[int], passes: list[list[int]]) -> None:
    index = TokenIndex()
    index.add([0, 1, 2, 3, 2, 1], "file")
    replaced = index.add([3, 1, 0, 2], "edit")
    once, twice = (NGramDrafter(DraftText(index, "a.py", replaced)) for _ in range(2))
    once.reset(context)
    twice.reset(context)
    for token_ids in passes:
        twice.propose(3)
        assert twice.propose(BUDGET) == twice.propose(BUDGET) == once.propose(BUDGET)
        once.observe(token_ids)
        twice.observe(token_ids)
    assert index.num_tokens == 10


def test_agreement_beyond_the_cap_says_nothing_more() -> None:
    run = [index % 50 + 10 for index in range(MAX_MATCH + 20)]

    # Both places agree for more than MAX_MATCH ids, the older one for longer: the newer wins.
    assert propose([1, *run, 7, 2, *run[5:], 8, 1, *run])[0] == 8


# Other text than the prompt


def index_of(*runs: Sequence[int]) -> TokenIndex:
    index = TokenIndex()
    for run in runs:
        index.add(run, "file")
    return index


def drafter_at(
    before: str,
    behind: str = "\n",
    *,
    file: str = "",
    replaced: str = "",
    words: Sequence[tuple[str, str]] = (),
    rank: Callable[[Draft], float] | None = None,
    spelling: TextTokenizer = BYTES,
) -> NGramDrafter:
    """A drafter for a cursor between two texts, with a document and what stood at the cursor."""
    index = index_of(spelling.encode(file))
    run = index.add(spelling.encode(replaced), "edit") if replaced else None
    text = DraftText(index, "a.py", run, tuple(words), (), spelling)
    drafter = NGramDrafter(text) if rank is None else NGramDrafter(text, rank)
    drafter.reset(spelling.encode(before), [spelling.encode(behind)])
    return drafter


def write(drafter: NGramDrafter, text: str, spelling: TextTokenizer = BYTES) -> None:
    """Token by token, as if no guess were checked."""
    for token_id in spelling.encode(text):
        drafter.propose(4)
        drafter.observe([token_id])


def drafted(drafter: NGramDrafter, spelling: TextTokenizer = BYTES) -> str:
    """The first line of the draft."""
    return spelling.decode(drafter.propose(64).token_ids).partition("\n")[0]


def accepted(drafter: NGramDrafter, answer: str, max_draft: int) -> list[int]:
    """Decode ``answer`` greedily; returns how many guesses each pass accepted."""
    rest = BYTES.encode(answer)
    counts = []
    while rest:
        guesses = drafter.propose(max_draft).token_ids
        agrees = (guess == token_id for guess, token_id in zip(guesses, rest, strict=False))
        counts.append(sum(takewhile(bool, agrees)))
        drafter.observe(rest[: counts[-1] + 1])
        rest = rest[counts[-1] + 1 :]
    return counts


def is_from(origin: str, draft: Draft) -> bool:
    return draft.origin == origin


def test_without_a_text_nothing_is_drafted_from_anywhere_but_the_prompt() -> None:
    index = index_of([1, 2, 3, 4, 5])
    without, with_text = NGramDrafter(None), NGramDrafter(DraftText(index))
    for drafter in (without, with_text):
        drafter.reset([9, 1, 2, 3])

    assert without.propose(BUDGET) == NO_DRAFT
    draft = with_text.propose(BUDGET)
    assert (draft.token_ids, draft.origin) == ((4, 5), "file")


def test_the_prompt_wins_over_other_text_that_agrees_as_long() -> None:
    drafter = NGramDrafter(DraftText(index_of([2, 3, 8, 8])))
    drafter.reset([2, 3, 7, 7, 1, 2, 3])

    assert drafter.propose(BUDGET).origin == "prompt"
    assert drafter.propose(2).token_ids == (7, 7)


def test_text_replaced_at_the_cursor_is_drafted_from_its_first_token_and_followed_though_no_guess_is_checked() -> None:
    drafter = drafter_at("x = ", replaced="old(a, b)")

    assert (drafter.propose(5).origin, drafted(drafter)) == ("replaced, agrees", "old(a, b)")
    write(drafter, "old(")
    assert drafted(drafter) == "a, b)"


def test_it_comes_back_to_replaced_text_behind_a_change() -> None:
    drafter = drafter_at("x = ", replaced="(a,b,c,d,e,f,g,h,i,j)")

    assert accepted(drafter, "(a,b,c,d,X,f,g,h,i,j)", max_draft=30) == [9, 11]


def test_it_comes_back_to_a_copied_place_behind_a_change() -> None:
    drafter = drafter_at("x = call(a,b,c,d,e,f,g)\n\nif 1:\n    y = call(")

    assert accepted(drafter, "a,b,X,d,e,f,g)", max_draft=30) == [4, 9]


def test_names_that_the_user_is_replacing_are_replaced_in_drafts() -> None:
    file = "if x: count = count + discount\n"
    drafter = drafter_at("if x:", file=file, words=[("count", "sum")], rank=partial(is_from, "file, renamed"))

    assert drafted(drafter) == " sum = sum + discount"
    # What was written with the new name is found as it was with the old one.
    assert drafted(drafter_at("f(sum)", file="f(count).one\n", words=[("count", "sum")])) == ".one"


def test_of_several_places_the_one_that_ranks_highest_is_drafted_from() -> None:
    for origin, expected in (("replaced, agrees", "old(1)"), ("prompt", "more = 2"), ("near", "any ")):
        drafter = drafter_at("any = 1; any more = 2; any ", replaced="old(1)", rank=partial(is_from, origin))
        assert drafted(drafter).startswith(expected)


# Lines like others, in the tokens of a real vocabulary. Ranked as in use: a place is worth what it is expected to save.

RATE = MeasuredPolicy(PassCosts({1: 10.0, 2: 12.0, 8: 20.0, 64: 90.0})).rate


@pytest.fixture(scope="module")
def real(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    file = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    GGUFSource(tiny_model).save_tokenizer(file)
    tokenizer = Tokenizer.from_file(str(file))
    return TextTokenizer(tokenizer, {}, tokenizer.get_vocab_size())


@pytest.mark.model
def test_a_line_goes_on_as_the_line_above_with_its_own_name(real: TextTokenizer) -> None:
    before = "def __init__(self, app):\n        secure = self.get_cookie_secure(app)\n        "
    drafter = drafter_at(before, "\n        return 1\n", spelling=real, rank=RATE)
    write(drafter, "partitioned =", real)

    assert drafted(drafter, real) == " self.get_cookie_partitioned(app)"


@pytest.mark.model
def test_a_line_that_is_rewritten_comes_back_inside_a_word(real: TextTokenizer) -> None:
    old = "class Headers(typing.Mapping[str, str]):"
    drafter = drafter_at("import typing\n\n\n", "\n    pass\n", replaced=old, spelling=real, rank=RATE)
    assert drafted(drafter, real) == old
    write(drafter, "class Headers(M", real)

    assert drafted(drafter, real) == "apping[str, str]):"


@pytest.mark.model
def test_a_rename_is_made_on_in_the_text_below(real: TextTokenizer) -> None:
    file = "def f(total):\n    print(total)\n    return total * 2\n"
    before = "def f(tally):\n    print(tally)\n    return"
    words, rank = [("total", "tally")], partial(is_from, "file, renamed")
    drafter = drafter_at(before, file=file, words=words, spelling=real, rank=rank)

    assert drafted(drafter, real) == " tally * 2"


@pytest.mark.model
def test_a_cursor_inside_a_token_of_the_copy_has_the_rest_of_it_drafted(real: TextTokenizer) -> None:
    file = "def f(a):\n    return value + a\n"
    drafter = drafter_at("def f(a):\n    return val", file=file, spelling=real, rank=RATE)

    assert drafted(drafter, real) == "ue + a"


# Whatever is there

TEXTS = st.lists(
    st.sampled_from(["a", "Ab", "secure", "_", "(", " ", "\t", "\n", "\n    ", "é", "\U0001f642", "\ufffd", "\x00"]),
    max_size=24,
).map("".join)
BYTE_IDS = st.lists(st.integers(0, 255), min_size=1, max_size=6)
WORDS = [("secure", "é"), ("a", "Ab")]


@settings(deadline=None, max_examples=200)
@given(
    file=TEXTS,
    replaced=TEXTS,
    context=st.lists(st.integers(0, 255), max_size=6) | TEXTS.map(BYTES.encode),
    behind=TEXTS,
    passes=st.lists(st.tuples(BYTE_IDS | TEXTS.map(BYTES.encode), st.integers(-1, 9)), max_size=6),
)
def test_whatever_is_at_hand_and_written_drafts_are_of_known_tokens_and_within_the_budget(
    file: str,
    replaced: str,
    context: list[int],
    behind: str,
    passes: list[tuple[list[int], int]],
) -> None:
    drafter = drafter_at("", file=file, replaced=replaced, words=WORDS, rank=lambda draft: sum(draft.token_ids) % 5)
    drafter.reset(context, [BYTES.encode(behind)])
    for token_ids, budget in passes:
        draft = drafter.propose(budget)
        assert len(draft.token_ids) == len(draft.probabilities) <= max(0, budget)
        assert all(0 <= token_id < 256 for token_id in draft.token_ids)
        assert draft == drafter.propose(budget)
        drafter.observe([*draft.token_ids[:3], *token_ids] if len(token_ids) % 2 else token_ids or [10])
