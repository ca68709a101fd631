"""The Lookahead drafter: through the decode loop on models without weights and on a small real one, and its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from completiond.config import ModelConfig
from completiond.engine.generate import Step, generate
from completiond.engine.load import load_model
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft, Drafter, NoDrafter, Verified
from completiond.spec.lookahead import LookaheadDrafter, LookaheadSizes, choose_sizes
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import FixedPolicy, MeasuredPolicy, Policy
from tests.engine.random_models import make_folder
from tests.fake_model import FakeTarget, Script, babble, says

VOCAB_SIZE = 40
CAPACITY = 512
BUDGET = 64
SIZES = LookaheadSizes(3, 4, 3)
SOME_SIZES = st.builds(LookaheadSizes, st.integers(0, 4), st.integers(2, 5), st.integers(1, 4))


class AllPolicy(FixedPolicy):
    """Checks every guess."""

    def trim(self, draft: Draft) -> Draft:
        return draft


class TimedPolicy(MeasuredPolicy):
    """Measured costs that stay as they were measured."""

    def __init__(self) -> None:
        super().__init__(PassCosts({1: 10.0, 64: 11.0}), refresh_costs=False)


class Spy(LookaheadDrafter):
    """Takes down what was proposed and what a pass showed."""

    def __init__(self, sizes: LookaheadSizes, seed: int = 0, costs: PassCosts | None = None) -> None:
        super().__init__(sizes, seed, costs)
        self.budgets: list[int] = []
        self.drafts: list[Draft] = []
        self.shown: list[Verified] = []

    def propose(self, budget: int) -> Draft:
        self.budgets.append(budget)
        self.drafts.append(super().propose(budget))
        return self.drafts[-1]

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        assert verified is not None
        self.shown.append(verified)
        super().observe(token_ids, verified)


@dataclass
class Answer:
    tokens: list[int]
    steps: list[Step]


def never(token_id: int) -> str | None:
    return None


def answer(
    target: Any,
    prompt: Sequence[int],
    drafter: Drafter,
    max_tokens: int = 40,
    params: SamplingParams | None = None,
    policy: Policy | None = None,
    budget: int = BUDGET,
) -> Answer:
    drafter.reset(prompt)
    kv = target.new_cache(CAPACITY)
    sampler = Sampler(params or SamplingParams())
    steps = list(
        generate(target, kv, prompt, drafter, sampler, never, max_tokens, budget, policy if policy else AllPolicy())
    )
    return Answer([token_id for step in steps for token_id in step.token_ids], steps)


def fake(script: Script, vocab_size: int = VOCAB_SIZE, *, trees: bool = True) -> FakeTarget:
    target = FakeTarget(script, vocab_size)
    target.trees = trees
    return target


# Lossless


@settings(deadline=None, max_examples=80)
@given(
    prompt=st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=1, max_size=30),
    sizes=SOME_SIZES,
    memory=st.integers(1, 3),
    trees=st.booleans(),
    params=st.builds(SamplingParams, temperature=st.sampled_from([0.0, 0.8]), seed=st.integers(0, 1000)),
    policy=st.sampled_from([None, FixedPolicy, TimedPolicy]),
    budget=st.integers(0, 40),
)
def test_it_never_changes_an_answer(
    prompt: list[int],
    sizes: LookaheadSizes,
    memory: int,
    trees: bool,
    params: SamplingParams,
    policy: type[FixedPolicy] | type[TimedPolicy] | None,
    budget: int,
) -> None:
    # Few likely ids, so that sampled text repeats itself too.
    script = babble(VOCAB_SIZE, memory=memory, favoured=range(6))
    plain = answer(fake(script), prompt, NoDrafter(), 25, params)
    spy = Spy(sizes)

    drafted = answer(fake(script, trees=trees), prompt, spy, 25, params, policy() if policy else None, budget)

    assert drafted.tokens == plain.tokens
    for limit, draft in zip(spy.budgets, spy.drafts, strict=True):
        assert len(draft.token_ids) == len(draft.probabilities) <= max(0, limit)
        assert len(draft.parents) in (0, len(draft.token_ids))
        assert draft.num_carried == 0 or draft.num_carried % sizes.window == 0
        assert all(0.0 < chance < 1.0 for chance in draft.probabilities[: draft.num_guesses])
        assert draft.num_guesses <= sizes.guesses * (sizes.levels - 1)
        siblings = list(zip(map(draft.parent, range(draft.num_guesses)), draft.token_ids, strict=False))
        assert len(set(siblings)) == len(siblings)
        assert all(draft.parent(node) < node for node in range(len(draft.token_ids)))
        carried = range(draft.num_guesses, len(draft.token_ids))
        assert all(draft.parent(node) in (-1, *carried) for node in carried)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_it_never_changes_an_answer_of_a_real_decoder(temperature: float, tmp_path: Path) -> None:
    path = make_folder(tmp_path / "model", "qwen2")
    target = load_model(
        path, ModelConfig(device="cpu", dtype="int8"), tmp_path / "prepared", lambda share, what: None
    ).target
    assert target.trees
    prompt = [7, 8, 9, 10, 11, 12, 7, 8, 9, 10, 30, 31, 7, 8]
    for seed in range(3):
        # Of a model with random weights only the likeliest tokens, so that its text repeats itself.
        params = SamplingParams(temperature, top_k=2, seed=seed)
        plain = answer(target, prompt, NoDrafter(), 40, params)
        spy = Spy(SIZES, seed)

        drafted = answer(target, prompt, spy, 40, params)

        assert drafted.tokens == plain.tokens
        assert any(shown.draft.num_carried for shown in spy.shown)
        assert any(shown.draft.num_guesses for shown in spy.shown)


# What it guesses


def test_a_full_match_brings_every_guess_and_the_token_behind_it() -> None:
    line = [3, 1, 4, 15, 9, 2, 6, 5, 35, 8]
    target = fake(says(line, after=0, then=39, vocab_size=VOCAB_SIZE))

    # The first token of the line is the model's own, the n-gram that begins with it is in the prompt.
    drafted = answer(target, [*line, 0], LookaheadDrafter(SIZES, 0), 10)

    assert drafted.tokens == line
    assert [step.token_ids for step in drafted.steps] == [(3,), (1, 4, 15, 9), (2, 6, 5, 35), (8,)]
    assert [step.accepted for step in drafted.steps] == [0, 3, 3, 0]


@pytest.mark.parametrize(
    ("sizes", "trees"), [(SIZES, True), (SIZES, False), (LookaheadSizes(0, 4, 1), True)], ids=["window", "flat", "pool"]
)
def test_repeating_text_needs_fewer_passes_also_on_a_target_without_trees(sizes: LookaheadSizes, trees: bool) -> None:
    line = list(range(1, 11))
    target = fake(says(line * 4, after=0, then=39, vocab_size=VOCAB_SIZE), trees=trees)
    spy = Spy(sizes)

    drafted = answer(target, [20, 0], spy, 40)

    assert drafted.tokens == line * 4
    # The first line is new; of the others, a pass writes four tokens, guessed ones and its own.
    assert target.num_passes <= 10 + 10
    assert any(shown.draft.num_carried for shown in spy.shown) == (trees and sizes.window > 0)
    assert trees or not any(shown.draft.parents for shown in spy.shown)


def counting(ids: Sequence[int]) -> Tensor:
    """Never says a token twice, for as long as a test lasts."""
    logits = torch.zeros(1000)
    logits[(ids[-1] + 1) % 1000] = 9.0
    return logits


def test_the_window_finds_ngrams_that_were_never_written_and_the_pool_alone_does_not() -> None:
    prompt = [300, 310, 320, 330, 340, 300]
    passes = {}
    for sizes in (LookaheadSizes(0, 4, 3), LookaheadSizes(5, 4, 3)):
        target = fake(counting, 1000)
        assert answer(target, prompt, LookaheadDrafter(sizes, 1), 50).tokens == list(range(301, 351))
        passes[sizes.window] = target.num_passes

    assert passes[0] == 50
    assert passes[5] <= 30


def naive_windows(script: Script, spy: Spy, prompt: Sequence[int], steps: Sequence[Step]) -> list[list[int]]:
    """What the window holds in each pass, from its first row: every token's own path, run through the script."""
    num_levels = spy.sizes.levels - 1
    columns = [[token_id] for token_id in spy.drafts[0].token_ids[-spy.drafts[0].num_carried :]]
    known, windows = list(prompt), []
    for step in steps:
        windows.append([column[height] for height in range(len(columns[0])) for column in columns])
        first_row = [column[0] for column in columns]
        behind = [script([*known, *first_row[:i], *column]).argmax() for i, column in enumerate(columns)]
        for column, token_id in zip(columns, behind, strict=True):
            column.append(int(token_id))
            del column[:-num_levels]
        known += step.token_ids
    return windows


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_window_moves_on_by_what_the_target_says_behind_it_in_each_pass(temperature: float) -> None:
    script = babble(VOCAB_SIZE, memory=2, favoured=range(8))
    spy, prompt = Spy(SIZES), [1, 2, 3, 4, 5, 6]

    drafted = answer(fake(script), prompt, spy, 60, SamplingParams(temperature, seed=3))

    carried = [list(draft.token_ids[draft.num_guesses :]) for draft in spy.drafts]
    expected = naive_windows(script, spy, prompt, drafted.steps)
    num_whole = next((i for i, window in enumerate(carried) if not window), len(carried))
    assert num_whole > 10, "until the end of the answer leaves no room"
    assert carried[:num_whole] == expected[:num_whole]
    assert [len(window) for window in carried[:4]] == [3, 6, 9, 9]
    assert sum(step.accepted for step in drafted.steps) > 0


def test_a_window_that_does_not_fit_waits_as_it_is() -> None:
    drafter = LookaheadDrafter(LookaheadSizes(3, 3, 2), 0)
    drafter.reset([5, 6, 7, 8])
    first = drafter.propose(3)
    assert (len(first.token_ids), first.num_carried) == (3, 3)
    assert drafter.propose(2).token_ids == ()

    drafter.observe([9], Verified(drafter.propose(2), (), torch.zeros(1, VOCAB_SIZE)))

    assert drafter.propose(3) == first


def test_guesses_go_before_the_window() -> None:
    drafter = LookaheadDrafter(LookaheadSizes(3, 3, 2), 0)
    drafter.reset([5, 6, 7, 5])

    draft = drafter.propose(4)
    assert (draft.token_ids, draft.num_carried, draft.parents) == ((6, 7), 0, ())
    assert drafter.propose(5).num_carried == 3
    assert [drafter.propose(budget).token_ids for budget in (1, 0, -1)] == [(6,), (), ()]


def test_several_continuations_are_a_tree_that_shares_its_beginnings() -> None:
    drafter = LookaheadDrafter(LookaheadSizes(0, 3, 3), 0)
    drafter.reset([1, 2, 3, 1, 2, 4, 1, 5, 6, 1])

    draft = drafter.propose(BUDGET)

    paths = [[draft.token_ids[node]] for node in range(len(draft.token_ids)) if draft.parents[node] < 0]
    assert paths == [[5], [2]]
    below = {
        draft.token_ids[node]: draft.token_ids[draft.parents[node]] for node in range(5) if draft.parents[node] >= 0
    }
    assert below == {6: 5, 3: 2, 4: 2}
    assert sorted(draft.probabilities[:2], reverse=True) == list(draft.probabilities[:2]), "the newest is likeliest"


def test_what_was_written_is_known_over_the_seam_of_prompt_and_answer() -> None:
    drafter = LookaheadDrafter(LookaheadSizes(0, 3, 2), 0)
    drafter.reset([20, 1, 2])

    drafter.observe([3, 4])
    drafter.observe([2])

    assert drafter.propose(BUDGET).token_ids == (3, 4)
    drafter.observe([1])
    assert drafter.propose(BUDGET).token_ids == (2, 3)


def test_the_text_after_the_cursor_is_drafted_from_and_runs_are_never_read_as_one() -> None:
    drafter = LookaheadDrafter(LookaheadSizes(0, 3, 2), 0)
    drafter.reset([9, 1], [[1, 2, 3], [1, 2], [1, 4]])

    assert drafter.propose(BUDGET).token_ids == (2, 3)


def test_chances_follow_what_came_of_guesses_also_of_unchecked_ones() -> None:
    right, wrong = (LookaheadDrafter(LookaheadSizes(0, 3, 1), 0) for _ in range(2))
    for drafter in (right, wrong):
        drafter.reset([1, 2, 3, 1])
    before = right.propose(BUDGET).probabilities
    assert before[0] == pytest.approx(0.3)
    assert before[1] < before[0]

    for _ in range(20):
        for token_id in (2, 3, 1):
            right.propose(BUDGET)
            right.observe([token_id])
        wrong.propose(BUDGET)
        wrong.observe([30])
        wrong.observe([1, 2, 3, 1])

    assert right.propose(BUDGET).probabilities[0] > 0.6 > 0.2 > wrong.propose(BUDGET).probabilities[0]
    right.reset([5, 6, 7, 5])
    assert right.propose(BUDGET).probabilities[0] > 0.6, "what was learnt outlives an answer"


def test_reset_forgets_the_last_answer() -> None:
    used, fresh = (LookaheadDrafter(SIZES, 4) for _ in range(2))
    answer(fake(babble(VOCAB_SIZE, memory=1)), [1, 2, 3], used)

    for drafter in (used, fresh):
        drafter.reset([7, 8, 9, 7])
    assert used.propose(BUDGET).token_ids == fresh.propose(BUDGET).token_ids


def test_a_pass_of_another_drafter_leaves_the_window_as_it_is() -> None:
    drafter = LookaheadDrafter(SIZES, 0)
    drafter.reset(())
    assert drafter.propose(BUDGET).token_ids == (), "a window needs tokens to begin with"
    drafter.begin([1, 2, 3], 0)
    before = drafter.propose(BUDGET)
    assert before.num_carried == 3
    other = Draft((4, 5, 6), (0.5,) * 3, "other", parents=(-1, 0, 1), num_carried=3)

    drafter.observe([39], Verified(other, (), torch.eye(VOCAB_SIZE)[:4]))

    assert drafter.propose(BUDGET).token_ids == before.token_ids


def test_a_window_that_does_not_pay_is_left_out_and_tried_again() -> None:
    # Text in which every token depends on all before it: no guess is ever right but by chance.
    def noise(ids: Sequence[int]) -> Tensor:
        return babble(997, memory=len(ids))(ids)

    spy = Spy(LookaheadSizes(2, 3, 2), costs=PassCosts({1: 10.0, 17: 26.0}))

    answer(fake(noise, 997), [1, 2, 3, 4], spy, 32 + 64 + 40)

    carries = [bool(shown.draft.num_carried) for shown in spy.shown[:130]]
    changes = [number for number, (one, other) in enumerate(pairwise(carries), 1) if one != other]
    assert changes[:3] == [32, 96, 128]


# Sizes


def table(pass_ms_of_16: float, max_tokens: int = 64) -> PassCosts:
    """A straight line from one pass of one token."""
    return PassCosts({1: 1.0, max_tokens: 1.0 + (pass_ms_of_16 - 1.0) * (max_tokens - 1) / 15})


def test_where_rows_are_dear_there_is_no_window_and_where_they_are_free_a_large_one() -> None:
    assert choose_sizes(table(1.7)).window == 0
    assert choose_sizes(table(1.7)).num_rows <= 4
    flat = choose_sizes(table(1.0))
    assert (flat.window >= 6, flat.levels, flat.guesses) == (True, 5, 7)


def test_dearer_rows_and_paths_never_make_a_larger_draft() -> None:
    rows = [choose_sizes(table(cost)).num_rows for cost in (1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 1.7, 3.0)]
    assert rows == sorted(rows, reverse=True)
    assert len(set(rows)) > 3
    num_paths = [choose_sizes(table(1.0), path_ms).num_paths for path_ms in (0.0, 0.02, 0.05, 0.1, 0.3, 1.0)]
    assert num_paths == sorted(num_paths, reverse=True)
    assert num_paths[-1] == 0, "a chain"


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 8, 17, 30])
def test_the_largest_draft_is_a_pass_that_was_measured(max_tokens: int) -> None:
    costs = PassCosts({1: 1.0, max_tokens: 1.0})
    sizes = choose_sizes(costs)
    assert sizes.num_rows + 1 <= max(3, max_tokens)
    assert sizes.levels >= 3


def test_sizes_that_make_no_draft_are_refused() -> None:
    for sizes in ((-1, 3, 1), (0, 1, 1), (0, 3, 0)):
        with pytest.raises(ValueError, match="too small"):
            LookaheadSizes(*sizes)
