"""The n-gram drafter against a scan of all text, on small alphabets where everything repeats."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.ngram import BEHIND_CURSOR_TOKENS, DraftText, NGramDrafter, longest_match_naive
from completiond.spec.policy import FixedPolicy
from completiond.spec.token_index import TokenIndex

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

    draft = propose(context, others)

    assert list(draft) == (found[-1][:BUDGET] if found else [])


@settings(deadline=None)
@given(context=st.lists(st.integers(0, 1), max_size=200), others=st.lists(FEW_IDS, max_size=2))
def test_in_very_repetitive_text_a_draft_still_copies_a_match(context: list[int], others: list[list[int]]) -> None:
    draft = propose(context, [[9], *others])

    assert bool(draft) == (longest_match_naive(context, others) > 0)
    assert not draft or any(list(draft) == rest[: len(draft)] for rest in followers(context, others, MIN_MATCH))


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


def test_a_match_reaches_over_the_seam_between_prompt_and_answer() -> None:
    drafter = NGramDrafter()
    drafter.reset([4, 5, 6, 7, 8, 4, 5])

    drafter.observe([6, 7])

    assert drafter.propose(BUDGET).token_ids[:1] == (8,)


def test_a_text_that_ends_in_its_only_occurrence_has_no_draft() -> None:
    assert propose([1, 2, 3, 4]) == ()
    assert propose([]) == ()
    assert propose([1]) == ()


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


def answer_with(drafter: NGramDrafter, answer: Sequence[int], max_draft: int = 6) -> list[int]:
    """Decode ``answer`` greedily; returns how many guesses each pass accepted."""
    accepted = []
    done = 0
    while done < len(answer):
        draft = drafter.propose(max_draft).token_ids
        rest = answer[done:]
        right = next(
            (i for i, (a, b) in enumerate(zip(draft, rest, strict=False)) if a != b), min(len(draft), len(rest))
        )
        accepted.append(right)
        drafter.observe(rest[: right + 1])
        done += right + 1
    return accepted


def test_without_a_text_nothing_is_drafted_from_anywhere_but_the_prompt() -> None:
    index = index_of([1, 2, 3, 4, 5])
    without, with_text = NGramDrafter(None), NGramDrafter(DraftText(index))
    for drafter in (without, with_text):
        drafter.reset([9, 1, 2, 3])

    assert without.propose(BUDGET) == NO_DRAFT
    assert with_text.propose(BUDGET).token_ids == (4, 5)
    assert with_text.propose(BUDGET).origin == "file"


def test_the_prompt_wins_over_other_text_that_agrees_as_long() -> None:
    drafter = NGramDrafter(DraftText(index_of([2, 3, 8, 8])))
    drafter.reset([2, 3, 7, 7, 1, 2, 3])

    assert drafter.propose(BUDGET).origin == "prompt"
    assert drafter.propose(2).token_ids == (7, 7)


def test_text_replaced_at_the_cursor_is_drafted_from_its_first_token() -> None:
    index = TokenIndex()
    replaced = index.add(range(50, 70), "edit")
    drafter = NGramDrafter(DraftText(index, "a.py", replaced))
    drafter.reset([1, 2, 3])

    draft = drafter.propose(5)
    assert (draft.token_ids, draft.origin) == ((50, 51, 52, 53, 54), "replaced")
    assert answer_with(drafter, [*range(50, 58), 7, *range(59, 70)]) == [6, 1, 6, 4]


def test_replaced_text_is_followed_though_no_guess_is_checked() -> None:
    index = TokenIndex()
    replaced = index.add([50, 51, 52, 53], "edit")
    drafter = NGramDrafter(DraftText(index, "a.py", replaced))
    drafter.reset([1, 2, 3])
    for token_id in (50, 51, 52):
        assert drafter.propose(1).token_ids == (token_id,)
        drafter.observe([token_id])  # the policy left the guess out
    assert drafter.propose(5).token_ids == (53,)


RUN = list(range(100, 140))


def passes_for(answer: Sequence[int]) -> list[int]:
    drafter = NGramDrafter()
    drafter.reset([*RUN, 1, 2, 3, *RUN[:4]])
    return answer_with(drafter, answer)


def test_it_comes_back_behind_a_substitution() -> None:
    assert passes_for([*RUN[4:12], 7, *RUN[13:24]]) == [6, 1, 6, 4]


def test_it_comes_back_behind_an_insertion() -> None:
    assert passes_for([*RUN[4:10], 7, *RUN[10:17]]) == [6, 0, 6]


def test_it_comes_back_behind_a_deletion() -> None:
    assert passes_for([*RUN[4:10], *RUN[12:19]]) == [6, 6]


def test_a_replacement_seen_once_is_made_at_the_next_place() -> None:
    source = [100, 101, 102, 103, 50, 105, 106, 107, 50, 109, 110, 50, 112]
    drafter = NGramDrafter()
    drafter.reset([*source, 1, 2, 3, *source[:4]])

    assert answer_with(drafter, [7, 105, 106, 107, 7, 109, 110, 7, 112], max_draft=16) == [0, 8]


class Words:
    """Each id is a letter, and ``|`` is id 0."""

    def decode(self, token_ids: Sequence[int]) -> str:
        return "".join(chr(96 + token_id) if token_id else "|" for token_id in token_ids)

    def encode(self, text: str) -> list[int]:
        return [0 if char == "|" else ord(char) - 96 for char in text]


def test_names_that_the_user_is_replacing_are_replaced_in_drafts() -> None:
    words = Words()
    index = index_of(words.encode("|x|count|is|count|and|discount|"))
    drafter = NGramDrafter(DraftText(index, words=(("count", "sum"),), spelling=words), lambda draft: len(draft.origin))
    drafter.reset(words.encode("|x|"))

    draft = drafter.propose(40)
    assert words.decode(draft.token_ids) == "sum|is|sum|and|discount|"
    assert draft.origin == "file, renamed"

    drafter.observe(words.encode("sum|is|"))
    assert words.decode(drafter.propose(40).token_ids) == "sum|and|discount|"


def is_from(origin: str, draft: Draft) -> float:
    return float(draft.origin == origin)


def test_of_several_places_the_one_that_ranks_highest_is_drafted_from() -> None:
    index = TokenIndex()
    replaced = index.add([50, 51], "edit")
    context = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4]
    for wanted in ("replaced", "prompt"):
        drafter = NGramDrafter(DraftText(index, "a.py", replaced), partial(is_from, wanted))
        drafter.reset(context)
        assert drafter.propose(2).token_ids == {"replaced": (50, 51), "prompt": (5, 6)}[wanted]


def test_what_stands_behind_the_cursor_already_is_no_draft_until_something_was_written() -> None:
    file = [1, 2, 3, 4, 5, 6, 7, 8]
    drafter = NGramDrafter(DraftText(index_of(file, [2, 3, 4, 9, 9])))
    drafter.reset(file[:4], [file[4:]])

    assert drafter.propose(2).token_ids == (9, 9)
    drafter.observe([5, 6])
    assert drafter.propose(2).token_ids == (7, 8)


TEXTS = st.lists(st.integers(0, 4), max_size=20)
NAMES = st.text("abcd", min_size=1, max_size=3)


@settings(deadline=None, max_examples=200)
@given(
    file=TEXTS,
    old=TEXTS,
    context=TEXTS,
    behind=TEXTS,
    names=st.lists(st.tuples(NAMES, NAMES), max_size=3),
    passes=st.lists(st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 6)), max_size=8),
)
def test_whatever_is_at_hand_and_written_drafts_are_of_known_tokens_and_within_the_budget(
    file: list[int],
    old: list[int],
    context: list[int],
    behind: list[int],
    names: list[tuple[str, str]],
    passes: list[tuple[list[int], int]],
) -> None:
    index = index_of(file)
    text = DraftText(index, "a.py", index.add(old, "edit") if old else None, tuple(names), Words())
    drafter = NGramDrafter(text, lambda draft: sum(draft.token_ids) % 5)
    drafter.reset(context, [behind])
    for token_ids, budget in passes:
        draft = drafter.propose(budget)
        assert len(draft.token_ids) == len(draft.probabilities) <= budget
        assert set(draft.token_ids) <= {0, 1, 2, 3, 4}
        drafter.observe(token_ids if len(token_ids) % 2 else [*draft.token_ids[:3], *token_ids])
