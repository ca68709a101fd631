"""Choosing between copies and a model's guesses: who is asked, what is checked, and what a losing drafter costs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from completiond.cache.shift import Move
from completiond.spec.best import FIRST_PAUSE, BestDrafter, Trials
from completiond.spec.drafter import NO_DRAFT, Draft, TextDrafter, Verified
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy

COSTS = {1: 30.0, 2: 33.0, 4: 35.0, 8: 42.0, 16: 56.0, 32: 90.0}


def chain(length: int, chance: float, source: str) -> Draft:
    return Draft(tuple(range(length)), (chance,) * length, source, confident=source == "model")


class Fixed(TextDrafter):
    """Always proposes the same, and counts how often it was asked."""

    source = "model"
    max_depth = 4

    def __init__(self, draft: Draft = NO_DRAFT, step_ms: float = 2.0) -> None:
        self.draft = draft
        self.step_ms = step_ms
        self.asked = 0
        self.seen: list[object] = []

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        self.seen.append(("reset", tuple(context_ids)))

    def begin(self, prompt_ids: Sequence[int], num_cached_tokens: int, move: Move | None = None) -> None:
        self.seen.append(("begin", tuple(prompt_ids), num_cached_tokens))

    def read(self, features: Tensor) -> None:
        self.seen.append(("read", features.shape[0]))

    def propose(self, budget: int) -> Draft:
        self.asked += 1
        return self.draft.cut(budget)

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        self.seen.append(("observe", tuple(token_ids)))


def policy_with(acceptance: float, num_passes: int = 200) -> MeasuredPolicy:
    """One that has seen the model's guesses be right so often."""
    policy = MeasuredPolicy(PassCosts(COSTS), refresh_costs=False)
    draft = chain(4, 0.5, "model")
    for number in range(num_passes):
        right = number % 100 < 100 * acceptance
        policy.observe(draft, draft, (*draft.token_ids, 9) if right else (9,), 40.0, timed=False)
    return policy


def test_a_strong_copy_is_taken_without_asking_the_model() -> None:
    copies, model = Fixed(chain(16, 0.97, "ngram")), Fixed(chain(4, 0.9, "model"))
    assert BestDrafter(copies, model, policy_with(0.6), Trials()).propose(31).source == "ngram"
    assert model.asked == 0


def test_without_a_copy_the_model_is_asked_while_it_pays() -> None:
    model = Fixed(chain(4, 0.5, "model"))
    assert BestDrafter(Fixed(), model, policy_with(0.6), Trials()).propose(31).source == "model"
    assert model.asked == 1


def test_a_weak_copy_gives_way_to_a_better_guess() -> None:
    copies, model = Fixed(chain(4, 0.2, "ngram")), Fixed(chain(4, 0.5, "model"))
    assert BestDrafter(copies, model, policy_with(0.9), Trials()).propose(31).source == "model"


def test_a_model_that_does_not_pay_is_tried_ever_more_rarely() -> None:
    model = Fixed(chain(4, 0.05, "model"))
    best = BestDrafter(Fixed(), model, policy_with(0.0), Trials())
    asked = []
    for _ in range(40 * FIRST_PAUSE):
        before = model.asked
        best.propose(31)
        asked.append(model.asked > before)
    times = [number for number, was_asked in enumerate(asked) if was_asked]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert times[0] < FIRST_PAUSE
    assert pauses == [2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE, 16 * FIRST_PAUSE][: len(pauses)]
    assert len(pauses) > 2


def test_a_model_that_is_never_sure_of_anything_is_asked_ever_more_rarely() -> None:
    model = Fixed(NO_DRAFT)
    best = BestDrafter(Fixed(), model, MeasuredPolicy(PassCosts(COSTS), refresh_costs=False), Trials())
    for _ in range(600):
        best.propose(31)
    assert model.asked < 100


def test_a_pause_outlives_the_answers() -> None:
    model, policy, trials = Fixed(chain(4, 0.05, "model")), policy_with(0.0), Trials()
    for _ in range(FIRST_PAUSE):
        BestDrafter(Fixed(), model, policy, trials).propose(31)
    assert model.asked == 1


def test_a_costly_step_is_not_worth_what_a_cheap_one_is() -> None:
    cheap, dear = Fixed(chain(4, 0.5, "model"), step_ms=1.0), Fixed(chain(4, 0.5, "model"), step_ms=60.0)
    policy = policy_with(0.6)
    assert BestDrafter(Fixed(), cheap, policy, Trials()).propose(31).source == "model"
    assert BestDrafter(Fixed(), dear, policy, Trials()).propose(31).source == "none"
    assert dear.asked == 0


def test_both_follow_the_text_whoever_drafts() -> None:
    copies, model = Fixed(chain(16, 0.97, "ngram")), Fixed()
    best = BestDrafter(copies, model, policy_with(0.6), Trials())
    best.reset([1, 2])
    best.begin([0, 1, 2], 1)
    best.read(torch.zeros(2, 8))
    best.propose(8)
    best.observe([5, 6])
    assert model.seen == [("reset", (1, 2)), ("begin", (0, 1, 2), 1), ("read", 2), ("observe", (5, 6))]
    assert copies.seen == [("reset", (1, 2)), ("observe", (5, 6))]


@pytest.mark.parametrize(("chance", "goes_on"), [(0.9, True), (0.05, False)])
def test_one_more_guess_is_made_while_it_is_expected_to_pay(chance: float, goes_on: bool) -> None:
    assert policy_with(0.7).goes_on(chain(1, chance, "model"), step_ms=2.0) is goes_on


def test_where_a_longer_pass_is_the_shorter_one_a_guess_more_is_made() -> None:
    policy = MeasuredPolicy(PassCosts({1: 35.0, 2: 40.0, 4: 35.0, 32: 90.0}), refresh_costs=False)
    assert policy.goes_on(chain(1, 0.5, "model"), step_ms=2.0)  # a pass of 3 takes 2.5 ms less than one of 2
    assert policy.goes_on(chain(1, 0.5, "model"), step_ms=2.5), "the same time in all"


def test_no_guess_is_worth_any_step() -> None:
    policy = policy_with(0.9)
    assert not policy.goes_on(chain(1, 0.9, "model"), step_ms=500.0)
    assert not policy.goes_on(chain(31, 0.99, "model"), step_ms=0.0), "the largest pass that was measured"
