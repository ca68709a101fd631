"""The lesson's dictionary: its worked example, and the rules that example leaves open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.spec.drafter import NO_DRAFT, Drafter
from completiond.spec.lesson import LessonDrafter

TEXT = "for ( int i = 0 ; i < n ; i ++ ) { total += values [ i ] ; }"
WORDS = TEXT.split()
VOCABULARY = [*dict.fromkeys(WORDS), "j", "while"]
IDS = st.lists(st.integers(0, 5), max_size=30)


def ids(words: str) -> list[int]:
    return [VOCABULARY.index(word) for word in words.split()]


@pytest.fixture
def drafter() -> LessonDrafter:
    drafter = LessonDrafter(run_tokens=4)
    drafter.reset(ids(TEXT))
    return drafter


def test_it_is_a_drafter() -> None:
    drafter: Drafter = LessonDrafter()
    assert drafter.propose(4) == NO_DRAFT


def test_the_worked_example_has_16_entries(drafter: LessonDrafter) -> None:
    assert len(WORDS) == 23
    assert len(drafter.runs) == 16
    # ``]`` and ``}`` have no full run behind them; the other words, the first time they were seen, do.
    assert {VOCABULARY[key] for key in drafter.runs} == set(WORDS) - {"]", "}"}


@pytest.mark.parametrize(
    ("word", "draft"),
    [
        ("for", "( int i ="),
        ("total", "+= values [ i"),
        ("i", "= 0 ; i"),  # of its four places the first
        ("j", ""),
        ("while", ""),
        ("]", ""),
    ],
)
def test_drafts_of_the_worked_example(drafter: LessonDrafter, word: str, draft: str) -> None:
    drafter.observe(ids(word))
    assert [VOCABULARY[token_id] for token_id in drafter.propose(16).token_ids] == draft.split()


def test_a_draft_stays_within_its_budget_and_says_how_sure_it_is(drafter: LessonDrafter) -> None:
    drafter.observe(ids("for"))
    for budget, words in ((-1, ""), (0, ""), (2, "( int"), (4, "( int i ="), (9, "( int i =")):
        draft = drafter.propose(budget)
        assert list(draft.token_ids) == ids(words)
        assert draft == NO_DRAFT or (draft.source == "lesson" and len(draft.probabilities) == len(draft.token_ids))
        assert all(0 < probability < 1 for probability in draft.probabilities)


def test_the_answer_completes_the_runs_at_the_end_of_the_prompt(drafter: LessonDrafter) -> None:
    drafter.observe(ids("while"))
    drafter.observe(ids("("))  # now four words stand behind ``]``
    drafter.observe(ids("]"))
    assert list(drafter.propose(4).token_ids) == ids("; } while (")


def test_texts_are_read_in_order_and_never_as_one() -> None:
    drafter = LessonDrafter(run_tokens=2)
    drafter.reset([1, 2, 3, 4], [[5, 6], [1, 8, 9], [7, 8, 9]])
    assert dict(drafter.runs) == {1: (2, 3), 2: (3, 4), 7: (8, 9)}


def test_a_run_has_at_least_one_token() -> None:
    with pytest.raises(ValueError, match="runs of 0"):
        LessonDrafter(run_tokens=0)


@given(context=IDS, others=st.lists(IDS, max_size=2), run_tokens=st.integers(1, 5))
def test_every_run_is_what_first_followed_its_key(context: list[int], others: list[list[int]], run_tokens: int) -> None:
    drafter = LessonDrafter(run_tokens)
    drafter.reset(context, others)

    expected: dict[int, tuple[int, ...]] = {}
    for text in (context, *others):
        for place, key in enumerate(text):
            if len(run := text[place + 1 : place + 1 + run_tokens]) == run_tokens and key not in expected:
                expected[key] = tuple(run)
    assert dict(drafter.runs) == expected
    assert list(drafter.propose(9).token_ids) == list(expected.get(context[-1], ()) if context else ())


@given(context=IDS, answer=IDS, cut=st.integers(0, 30))
def test_observing_pass_by_pass_equals_reading_all_at_once(context: list[int], answer: list[int], cut: int) -> None:
    stepwise, at_once = LessonDrafter(), LessonDrafter()
    stepwise.reset(context)
    stepwise.observe(answer[:cut])
    stepwise.observe(answer[cut:])
    at_once.reset([*context, *answer])
    assert stepwise.runs == at_once.runs
    assert stepwise.propose(9) == at_once.propose(9)


@given(old=IDS, context=IDS)
def test_reset_forgets_the_last_answer_and_leaves_its_argument(old: list[int], context: list[int]) -> None:
    used, fresh, given_ids = LessonDrafter(), LessonDrafter(), list(context)
    used.reset(old)
    used.observe([1, 2])
    used.reset(given_ids)
    fresh.reset(context)
    assert used.runs == fresh.runs
    assert used.propose(9) == fresh.propose(9)
    used.observe([3])
    assert given_ids == context
