"""The EAGLE drafter on its own: when it drafts, how much, what a step costs, and how far back it sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from completiond.cache.shift import Move
from completiond.spec.drafter import NO_DRAFT, Draft
from completiond.spec.eagle import MAX_DEPTH, EagleDrafter
from completiond.spec.eagle_checkpoint import load_eagle
from completiond.spec.eagle_head import EagleHead
from completiond.spec.head_cache import HeadCache
from completiond.spec.tree import ancestors_of, depths_of
from tests.spec.eagle_files import Sizes, config_of, eagle3, head_target, write

SIZES = Sizes()
CAPACITY = 48
IDS = torch.randint(SIZES.vocab, (30,), generator=torch.Generator().manual_seed(1)).tolist()
FEATURES = torch.randn(30, 3 * SIZES.hidden, generator=torch.Generator().manual_seed(2))


def head_of(folder: Path, max_positions: int = 512) -> EagleHead:
    config = config_of(SIZES, max_position_embeddings=max_positions)
    return load_eagle(write(folder, eagle3(SIZES), config), head_target(SIZES))


@pytest.fixture
def head(tmp_path: Path) -> EagleHead:
    return head_of(tmp_path)


def reading(drafter: EagleDrafter, num_tokens: int) -> EagleDrafter:
    """Told the first ``num_tokens`` of the text, and the features of all but the newest."""
    drafter.begin(IDS[:num_tokens], 0)
    drafter.read(FEATURES[: num_tokens - 1])
    return drafter


def by_hand(head: EagleHead, num_tokens: int, num_guesses: int) -> Draft:
    """Row by row, each of which sees no more than ``max_positions`` rows."""
    cache = head.new_cache(CAPACITY)
    states = head.fuse(FEATURES[: num_tokens - 1])
    tokens: list[int] = []
    chances: list[float] = []

    def enter(token_id: int, state: Tensor, row: int) -> Tensor:
        first_key = max(0, row + 1 - head.shape.max_positions)
        return head.step([token_id], state, cache, row, [row], None, first_key)

    for row in range(num_tokens - 1):
        state = enter(IDS[row + 1], states[row : row + 1], row)
    for row in range(num_tokens - 1, num_tokens - 1 + num_guesses):
        probabilities = head.logits(state)[0].softmax(-1)
        chances.append(float(probabilities.max()))
        tokens.append(head.target_id(int(probabilities.argmax())))
        state = enter(tokens[-1], state, row)
    return Draft(tuple(tokens), tuple(chances), "eagle", confident=True)


def assert_same(draft: Draft, expected: Draft) -> None:
    assert draft.token_ids == expected.token_ids
    assert draft.probabilities == pytest.approx(expected.probabilities, abs=1e-4)
    assert (draft.source, draft.parents, draft.confident) == ("eagle", (), True)


@pytest.mark.parametrize("num_tokens", [2, 3, 12, 30])
def test_a_draft_is_the_likeliest_token_of_each_step(num_tokens: int, head: EagleHead) -> None:
    draft = reading(EagleDrafter(head, CAPACITY), num_tokens).propose(5)

    assert_same(draft, by_hand(head, num_tokens, 5))
    assert {*draft.token_ids} <= {head.target_id(index) for index in range(SIZES.draft_vocab)}
    assert 0.0 < min(draft.probabilities) < max(draft.probabilities) <= 1.0


@pytest.mark.parametrize("max_positions", [1, 2, 5, 11, 29, 512])
def test_it_sees_as_much_of_the_text_as_it_was_trained_on(max_positions: int, tmp_path: Path) -> None:
    head = head_of(tmp_path, max_positions)
    at_once = reading(EagleDrafter(head, CAPACITY), 24).propose(5)

    in_pieces = reading(EagleDrafter(head, CAPACITY), 4)
    known = 4
    for count in (1, 9, 2, 7, 1):
        in_pieces.read(FEATURES[known - 1 : known - 1 + count])
        in_pieces.observe(IDS[known : known + count])
        known += count
        assert_same(in_pieces.propose(3), by_hand(head, known, 3))

    assert_same(at_once, by_hand(head, 24, 5))
    assert_same(in_pieces.propose(5), at_once)


@pytest.mark.parametrize(
    ("budget", "max_depth", "expected"), [(3, 8, 3), (8, 4, 4), (1, 8, 1), (0, 8, 0), (-1, 8, 0), (100, MAX_DEPTH, 8)]
)
def test_budget_and_depth_bound_a_draft(budget: int, max_depth: int, expected: int, head: EagleHead) -> None:
    drafter = reading(EagleDrafter(head, CAPACITY, max_depth=max_depth), 12)

    draft = drafter.propose(budget)

    assert draft.token_ids == by_hand(head, 12, 8).token_ids[:expected]
    assert len(draft.probabilities) == expected


@pytest.mark.parametrize("width", [2, 3, 99])
@pytest.mark.parametrize("budget", [-1, 0, 1, 4, 30])
def test_a_tree_keeps_to_the_budget_too(budget: int, width: int, head: EagleHead) -> None:
    draft = reading(EagleDrafter(head, CAPACITY, max_depth=3, width=width), 12).propose(budget)

    assert len(draft.token_ids) <= max(0, budget)
    assert bool(draft.token_ids) == (budget > 0)
    assert all(parent < node for node, parent in enumerate(draft.parents))
    likeliest = by_hand(head, 12, 1)
    assert draft.token_ids[:1] == likeliest.token_ids[: max(0, budget)]


@pytest.mark.parametrize("width", [2, 3])
def test_a_node_of_a_tree_has_the_chance_it_has_behind_its_ancestors_alone(width: int, head: EagleHead) -> None:
    draft = reading(EagleDrafter(head, CAPACITY, max_depth=4, width=width), 12).propose(20)

    depths = depths_of(draft.parents)
    assert max(depths) == 3
    assert len(set(draft.parents)) > 4, "it has branches"
    for node in range(len(draft.token_ids)):
        path = [*ancestors_of(node, draft.parents), node]
        expected = chance_behind(head, 12, [draft.token_ids[step] for step in path])
        assert draft.probabilities[node] == pytest.approx(expected, abs=1e-4)


def chance_behind(head: EagleHead, num_tokens: int, token_ids: Sequence[int]) -> float:
    """Of the last of ``token_ids`` when the others follow the text."""
    cache = head.new_cache(CAPACITY)
    states = head.fuse(FEATURES[: num_tokens - 1])
    for row in range(num_tokens - 1):
        state = head.step([IDS[row + 1]], states[row : row + 1], cache, row, [row], None, 0)
    for row, token_id in enumerate(token_ids[:-1], num_tokens - 1):
        state = head.step([token_id], state, cache, row, [row], None, 0)
    draft_ids = {head.target_id(index): index for index in range(SIZES.draft_vocab)}
    return float(head.logits(state)[0].softmax(-1)[draft_ids[token_ids[-1]]])


def test_asked_again_it_says_the_same(head: EagleHead) -> None:
    drafter = reading(EagleDrafter(head, CAPACITY), 12)

    assert_same(drafter.propose(6), by_hand(head, 12, 6))
    assert_same(drafter.propose(3), by_hand(head, 12, 3))
    assert_same(drafter.propose(6), by_hand(head, 12, 6))


def test_without_the_features_of_all_but_the_newest_token_it_drafts_nothing(head: EagleHead) -> None:
    drafter = EagleDrafter(head, CAPACITY)
    assert drafter.propose(5) == NO_DRAFT, "before anything"
    drafter.begin(IDS[:8], 0)
    assert drafter.propose(5) == NO_DRAFT, "a prompt that was not read"
    drafter.read(FEATURES[:5])
    assert drafter.propose(5) == NO_DRAFT, "half of it was"
    drafter.read(FEATURES[5:8])
    drafter.observe(IDS[8:9])
    assert_same(drafter.propose(5), by_hand(head, 9, 5))
    drafter.observe(IDS[9:11])
    assert drafter.propose(5) == NO_DRAFT, "text that was written without a pass"
    drafter.read(FEATURES[8:10])
    assert_same(drafter.propose(5), by_hand(head, 11, 5))


def test_a_single_token_has_no_entry_to_draft_from(head: EagleHead) -> None:
    drafter = reading(EagleDrafter(head, CAPACITY), 1)
    assert drafter.propose(5) == NO_DRAFT

    drafter.read(FEATURES[:1])
    drafter.observe(IDS[1:2])
    assert_same(drafter.propose(5), by_hand(head, 2, 5))


def test_guesses_leave_no_trace_in_what_is_known(head: EagleHead) -> None:
    drafter = reading(EagleDrafter(head, CAPACITY), 10)
    known = 10
    for count in (1, 4, 1):
        drafter.propose(8)
        drafter.read(FEATURES[known - 1 : known - 1 + count])
        drafter.observe(IDS[known : known + count])
        known += count
        assert_same(drafter.propose(4), by_hand(head, known, 4))


def test_the_whole_cache_can_be_text(head: EagleHead) -> None:
    drafter = EagleDrafter(head, capacity_tokens=29, max_depth=8)

    assert_same(reading(drafter, 30).propose(8), by_hand(head, 30, 8))


# What of a cached prompt is known


def test_a_prompt_that_shares_less_than_was_missed_before_is_known_from_there(head: EagleHead) -> None:
    drafter = EagleDrafter(head, CAPACITY)
    drafter.begin(IDS[:20], 15)
    drafter.read(FEATURES[15:19])
    behind_15 = drafter.propose(4)
    assert behind_15.num_guesses == 4
    assert drafter.propose(4) != by_hand(head, 20, 4), "it lacks the beginning"

    drafter.begin(IDS[:12], 6)
    drafter.read(FEATURES[6:11])
    assert drafter.propose(4).num_guesses == 4, "behind row 6, before 15"

    assert_same(reading(drafter, 20).propose(4), by_hand(head, 20, 4))


def test_right_behind_what_it_missed_it_drafts_nothing(head: EagleHead) -> None:
    drafter = EagleDrafter(head, CAPACITY)
    drafter.begin(IDS[:16], 15)
    assert drafter.propose(4) == NO_DRAFT

    drafter.read(FEATURES[15:16])
    drafter.observe(IDS[16:17])
    assert drafter.propose(4).num_guesses == 4


def test_a_row_that_was_made_with_another_next_token_is_made_again(head: EagleHead) -> None:
    drafter = EagleDrafter(head, CAPACITY)
    other = [*IDS[:11], (IDS[11] + 1) % SIZES.vocab, 3, 4]
    drafter.begin(other, 0)
    drafter.read(FEATURES[:14])
    drafter.observe([5])
    drafter.propose(4)

    drafter.begin(IDS[:18], 11)
    drafter.read(FEATURES[11:17])

    assert_same(drafter.propose(4), by_hand(head, 18, 4))


# Moved text: 6 tokens, 3 typed, 12 that lie behind the cursor, a marker


def mixed(*places: tuple[int, int]) -> tuple[list[int], Tensor]:
    """Ids and features of these stretches of the text, one behind the other."""
    parts = [slice(*place) for place in places]
    return [token for part in parts for token in IDS[part]], torch.cat([FEATURES[part] for part in parts])


def test_moved_text_takes_its_features_along(head: EagleHead) -> None:
    before, features = mixed((0, 6), (9, 21), (29, 30))
    drafter = EagleDrafter(head, CAPACITY)
    drafter.begin(before, 0)
    drafter.read(features)
    drafter.observe([5])
    drafter.propose(3)
    for typed, last in ((1, 6), (3, 7), (0, 9)):
        ids, features = mixed((0, 6), (21, 21 + typed), (9, 21), (29, 30))
        same = 6 + min(typed, last - 6)
        drafter.begin(ids, same, Move(source=6, start=6 + typed, length=12, last=last))
        drafter.read(features[same : 6 + typed])
        drafter.read(features[-1:])
        drafter.observe([7])

        fresh = EagleDrafter(head, CAPACITY)
        fresh.begin(ids, 0)
        fresh.read(features)
        fresh.observe([7])
        assert_same(drafter.propose(4), fresh.propose(4))


def test_moved_text_that_it_knows_nothing_of_is_what_it_begins_behind(head: EagleHead) -> None:
    ids, features = mixed((0, 6), (21, 24), (9, 21), (28, 30))
    move = Move(source=6, start=9, length=12, last=6)
    drafter = reading(EagleDrafter(head, CAPACITY), 4)
    drafter.begin(ids, 4, move)
    drafter.read(features[4:9])
    drafter.read(features[-2:])
    drafter.observe([7])

    fresh = EagleDrafter(head, CAPACITY)
    fresh.begin(ids, 21)
    fresh.read(features[-2:])
    fresh.observe([7])
    assert_same(drafter.propose(4), fresh.propose(4))


# Time


def test_it_stops_when_another_guess_is_not_worth_its_time(head: EagleHead) -> None:
    asked: list[tuple[Draft, float]] = []

    def goes_on(draft: Draft, step_ms: float) -> bool:
        asked.append((draft, step_ms))
        return draft.num_guesses < 3

    draft = reading(EagleDrafter(head, CAPACITY, goes_on), 12).propose(6)

    assert_same(draft, by_hand(head, 12, 3))
    assert [so_far.token_ids for so_far, _ in asked] == [draft.token_ids[:count] for count in (1, 2, 3)]
    assert asked[0][1] == 0.0, "reading the prompt says nothing about a step"
    assert asked[1][1] > 0.0


class Timed(EagleHead):
    """A step takes 3 ms by its own clock, and the product with the vocabulary ``logits_ms``."""

    now = 0.0
    logits_ms = 4.0

    def step(
        self, token_ids: Sequence[int], states: Tensor, cache: HeadCache, row: int, positions: Sequence[int],
        mask: Tensor | None, first_key: int,
    ) -> Tensor:  # fmt: skip
        self.now += 3e-3 * len(token_ids)
        return super().step(token_ids, states, cache, row, positions, mask, first_key)

    def logits(self, states: Tensor) -> Tensor:
        self.now += self.logits_ms * 1e-3
        return super().logits(states)


@pytest.fixture
def timed(head: EagleHead, monkeypatch: pytest.MonkeyPatch) -> Timed:
    timed = Timed(head.shape, head.weights, head.kernels, head.device)
    monkeypatch.setattr("completiond.spec.eagle.time", SimpleNamespace(perf_counter=lambda: timed.now))
    return timed


def test_the_time_of_a_step_is_that_of_a_guess(timed: Timed) -> None:
    drafter = reading(EagleDrafter(timed, CAPACITY), 12)
    drafter.propose(1)
    assert drafter.step_ms == 0.0

    drafter.propose(4)
    assert drafter.step_ms == pytest.approx(7.0)


def test_the_time_of_a_step_can_be_measured_beforehand(timed: Timed, head: EagleHead) -> None:
    drafter = EagleDrafter(timed, CAPACITY)

    assert drafter.measure_step_ms() == drafter.step_ms == pytest.approx(7.0)
    assert_same(reading(drafter, 12).propose(5), by_hand(head, 12, 5))
    assert drafter.step_ms == pytest.approx(7.0)


def test_the_time_of_a_step_is_a_running_mean(timed: Timed) -> None:
    drafter = reading(EagleDrafter(timed, CAPACITY), 12)
    drafter.propose(2)
    timed.logits_ms = 18.0
    drafter.propose(2)
    assert drafter.step_ms == pytest.approx(14.0), "a plain mean at first"
    for _ in range(60):
        drafter.propose(2)
    assert drafter.step_ms == pytest.approx(21.0, abs=1.0)


@pytest.mark.parametrize("width", [1, 3])
def test_a_head_that_computes_nonsense_drafts_nothing(width: int, tmp_path: Path) -> None:
    tensors = eagle3(SIZES)
    tensors["norm.weight"] = torch.full_like(tensors["norm.weight"], math.nan)
    head = load_eagle(write(tmp_path, tensors, config_of(SIZES)), head_target(SIZES))

    assert reading(EagleDrafter(head, CAPACITY, width=width), 12).propose(5).token_ids == ()
