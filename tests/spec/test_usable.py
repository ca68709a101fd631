"""What is left of a draft that breaks the rules: never an id the target lacks, never more than the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.spec.drafter import Draft
from completiond.spec.usable import usable

VOCAB_SIZE = 10
IDS = st.integers(-2, VOCAB_SIZE + 1) | st.just(2**40)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    token_ids = tuple(draw(st.lists(IDS, max_size=12)))
    parents = tuple(draw(st.integers(-1, node + 1)) for node in range(len(token_ids))) if draw(st.booleans()) else ()
    carried = draw(st.integers(0, len(token_ids))) if parents else 0
    return Draft(token_ids, (0.5,) * len(token_ids), "test", parents=parents, num_carried=carried)


@given(draft=drafts(), budget=st.integers(-3, 12), trees=st.booleans())
def test_whatever_a_drafter_proposes_the_pass_is_a_right_one(draft: Draft, budget: int, trees: bool) -> None:
    used = usable(draft, budget, VOCAB_SIZE, trees)

    assert len(used.token_ids) == len(used.probabilities) <= max(0, budget)
    assert all(0 <= token_id < VOCAB_SIZE for token_id in used.token_ids)
    assert used.parents == () or len(used.parents) == len(used.token_ids)
    for node, parent in enumerate(used.parents):
        assert -1 <= parent < node
        is_carried = node >= used.num_guesses
        assert parent == -1 or (parent >= used.num_guesses) == is_carried, "guesses and carried tokens do not mix"
    siblings = [(used.parent(node), used.token_ids[node]) for node in range(used.num_guesses)]
    assert len(siblings) == len(set(siblings))
    if not trees:
        assert used.parents == ()


@pytest.mark.parametrize(
    ("token_ids", "parents", "budget", "kept"),
    [
        ((1, 2, 3), (), 2, (1, 2)),
        ((1, VOCAB_SIZE, 3), (), 9, (1,)),
        ((1, 2, 3, 4), (-1, -1, 0, 1), 9, (1, 2, 3, 4)),
        ((1, 2, 3, 4), (-1, -1, 0, 1), 2, (1, 2)),
        ((1, 99, 3, 4), (-1, -1, 1, 0), 9, (1, 4)),  # 3 hangs below what the target does not have
        ((1, 1, 3, 4), (-1, -1, 1, 0), 9, (1, 4)),  # a second 1, with its children
    ],
)
def test_what_is_kept(token_ids: tuple[int, ...], parents: tuple[int, ...], budget: int, kept: tuple[int, ...]) -> None:
    draft = Draft(token_ids, (0.5,) * len(token_ids), "test", parents=parents)
    assert usable(draft, budget, VOCAB_SIZE, trees=True).token_ids == kept


def test_a_target_without_trees_gets_the_first_path() -> None:
    draft = Draft((1, 2, 3, 4), (0.9, 0.8, 0.7, 0.6), "test", parents=(-1, -1, 0, 2))
    assert usable(draft, 9, VOCAB_SIZE, trees=False) == Draft((1, 3, 4), (0.9, 0.7, 0.6), "test")


def test_what_is_carried_is_taken_whole_or_not_at_all() -> None:
    draft = Draft((1, 2, 7, 8), (0.5,) * 4, "test", parents=(-1, 0, -1, 2), num_carried=2)
    assert usable(draft, 3, VOCAB_SIZE, trees=True) == Draft(
        (1, 7, 8), (0.5,) * 3, "test", parents=(-1, -1, 1), num_carried=2
    )
    assert usable(draft, 1, VOCAB_SIZE, trees=True) == Draft((1,), (0.5,), "test", parents=(-1,))
    assert usable(draft, 9, VOCAB_SIZE, trees=False).token_ids == (1, 2)


@given(draft=drafts(), num_guesses=st.integers(0, 12))
def test_a_cut_keeps_the_first_guesses_and_what_is_carried(draft: Draft, num_guesses: int) -> None:
    sound = usable(draft, 12, VOCAB_SIZE, trees=True)
    cut = sound.cut(num_guesses)
    assert cut.num_guesses == min(num_guesses, sound.num_guesses)
    assert cut.num_carried == sound.num_carried
    assert cut.token_ids[: cut.num_guesses] == sound.token_ids[: cut.num_guesses]
    assert cut.token_ids[cut.num_guesses :] == sound.token_ids[sound.num_guesses :]
    assert usable(cut, 12, VOCAB_SIZE, trees=True) == cut
