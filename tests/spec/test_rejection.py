"""Speculative sampling rules against the target's own distribution, over several tokens jointly; and wrong rules, which
the same statistics must tell from right ones.

A toy text has no more memory than its last token: ``target[a]`` and ``draft[a]`` are what the two models say after
token a. A rule writes the first tokens of many answers, and how often each sequence came out is compared with what the
target alone gives.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from completiond.engine.sampling import Sampler, uniform
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft
from completiond.spec.rejection import accept_sampled_chain, accept_sampled_children
from completiond.spec.verify import verify

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIALS = 200_000
START = 0
"""The token that all answers follow."""


@dataclass(frozen=True)
class Toy:
    """Row-stochastic [vocab_size, vocab_size]: what follows a token."""

    target: Floats
    draft: Floats


def toy(vocab_size: int, seed: int) -> Toy:
    """Two models that agree in part."""
    numbers = np.random.default_rng(seed)
    common = numbers.normal(size=(vocab_size, vocab_size))
    rows = [np.exp(common + 0.7 * numbers.normal(size=common.shape)) for _ in range(2)]
    return Toy(*(row / row.sum(axis=1, keepdims=True) for row in rows))


def draw(rows: Floats, numbers: Floats) -> Ints:
    """One token from each of ``rows`` [T, vocab_size]; a row that does not sum to one is read as if it did."""
    found: Ints = (rows.cumsum(axis=1) <= numbers[:, None]).sum(axis=1)
    return found.clip(max=rows.shape[1] - 1)


def upper_tail(chi_square: float, freedom: int) -> float:
    """P(X > chi_square), after Wilson and Hilferty."""
    spread = 2.0 / (9.0 * freedom)
    return 0.5 * math.erfc(((chi_square / freedom) ** (1 / 3) - 1.0 + spread) / math.sqrt(2.0 * spread))


def follows(tokens: Ints, target: Floats) -> bool:
    """Whether answers [T, places] are distributed as the target's own, all places jointly."""
    vocab_size = len(target)
    cells, expected = np.zeros(len(tokens), np.int64), np.ones(1)
    for place in range(tokens.shape[1]):
        cells = cells * vocab_size + tokens[:, place]
        before = np.arange(len(expected)) % vocab_size if place else np.array([START])
        expected = (expected[:, None] * target[before]).ravel()
    observed = np.bincount(cells, minlength=len(expected)) / len(tokens)
    distance = float(np.abs(observed - expected).sum()) / 2.0
    # Cells that are too rare for the statistic are one.
    rare = expected * len(tokens) < 5.0
    shares = [np.append(one[~rare], one[rare].sum()) for one in (observed, expected)]
    shares = [one[shares[1] > 0.0] for one in shares]
    chi_square = len(tokens) * float(((shares[0] - shares[1]) ** 2 / shares[1]).sum())
    is_near = distance < 3.0 * math.sqrt(len(expected) / len(tokens))
    return is_near and upper_tail(chi_square, len(shares[0]) - 1) > 1e-3


def write_on(tokens: Ints, num_places: int, model: Toy, numbers: np.random.Generator) -> Ints:
    """Decode plainly where -1 stands, and cut."""
    for place in range(num_places):
        before = tokens[:, place - 1] if place else np.full(len(tokens), START)
        plain = draw(model.target[before], numbers.random(len(tokens)))
        tokens[:, place] = np.where(tokens[:, place] < 0, plain, tokens[:, place])
    return tokens[:, :num_places]


def test_the_statistics_accept_the_target_and_refuse_the_draft() -> None:
    model, numbers = toy(8, 0), np.random.default_rng(0)
    nothing = np.full((TRIALS, 3), -1)
    near = Toy(0.97 * model.target + 0.03 * model.draft, model.draft)

    assert follows(write_on(nothing.copy(), 3, model, numbers), model.target)
    assert not follows(write_on(nothing.copy(), 3, near, numbers), model.target)
    assert upper_tail(1074.68, 1000) == pytest.approx(0.05, abs=1e-3)


# Chains

ChainRule = Callable[[Toy, Ints, Floats], Ints]
"""(models, guesses [T, K], uniforms [T, K + 1, 2]) to tokens [T, K + 1], -1 where the pass wrote none."""


def sampled_chains(rule: ChainRule, model: Toy, num_places: int, num_guesses: int) -> Ints:
    """The first tokens of answers that begin with a draft sampled from the draft model."""
    numbers = np.random.default_rng(1)
    guesses = np.zeros((TRIALS, num_guesses), np.int64)
    before = np.full(TRIALS, START)
    for place in range(num_guesses):
        before = guesses[:, place] = draw(model.draft[before], numbers.random(TRIALS))
    tokens = np.full((TRIALS, max(num_places, num_guesses + 1)), -1)
    tokens[:, : num_guesses + 1] = rule(model, guesses, numbers.random((TRIALS, num_guesses + 1, 2)))
    return write_on(tokens, num_places, model, numbers)


def real_chain(model: Toy, guesses: Ints, uniforms: Floats) -> Ints:
    tokens = np.full((len(guesses), guesses.shape[1] + 1), -1)
    befores = np.hstack([np.full((len(guesses), 1), START), guesses])
    for trial, draft_ids in enumerate(guesses.tolist()):
        before = befores[trial]
        written = accept_sampled_chain(model.target[before], model.draft[before[:-1]], draft_ids, uniforms[trial])
        tokens[trial, : len(written)] = written
    return tokens


def by_ratio(target: Floats, draft: Floats, guess: Ints, number: Floats) -> NDArray[np.bool_]:
    rows = np.arange(len(guess))
    taken: NDArray[np.bool_] = number * draft[rows, guess] < target[rows, guess]
    return taken


def uncovered(target: Floats, draft: Floats) -> Floats:
    return (target - draft).clip(min=0.0)


def renormalised(target: Floats, draft: Floats) -> Floats:
    left = uncovered(target, draft)
    left /= left.sum(axis=1, keepdims=True)
    return left


def chain_rule(
    accepts: Callable[[Floats, Floats, Ints, Floats], NDArray[np.bool_]] = by_ratio,
    residual: Callable[[Floats, Floats], Floats] = renormalised,
    bonus: Callable[[Toy], Floats] = lambda model: model.target,
) -> ChainRule:
    """The rule written once more, for all trials at a time; any of its parts can be put in wrong."""

    def rule(model: Toy, guesses: Ints, uniforms: Floats) -> Ints:
        count, num_guesses = guesses.shape
        tokens = np.full((count, num_guesses + 1), -1)
        goes_on, before = np.ones(count, np.bool_), np.full(count, START)
        for place in range(num_guesses):
            target, draft, guess = model.target[before], model.draft[before], guesses[:, place]
            accepted = accepts(target, draft, guess, uniforms[:, place, 0])
            corrected = draw(residual(target, draft), uniforms[:, place, 1])
            tokens[goes_on, place] = np.where(accepted, guess, corrected)[goes_on]
            goes_on, before = goes_on & accepted, guess
        tokens[goes_on, num_guesses] = draw(bonus(model)[before], uniforms[:, num_guesses, 1])[goes_on]
        return tokens

    return rule


def takes_the_likeliest(target: Floats, draft: Floats, guess: Ints, number: Floats) -> NDArray[np.bool_]:
    taken: NDArray[np.bool_] = target.argmax(axis=1) == guess
    return taken


def likeliest_only(target: Floats, draft: Floats) -> Floats:
    likeliest: Floats = np.eye(target.shape[1])[target.argmax(axis=1)]
    return likeliest


def takes_what_the_target_prefers(target: Floats, draft: Floats, guess: Ints, number: Floats) -> NDArray[np.bool_]:
    rows = np.arange(len(guess))
    taken: NDArray[np.bool_] = target[rows, guess] > draft[rows, guess]
    return taken


@pytest.mark.parametrize(("vocab_size", "num_places", "num_guesses"), [(8, 3, 2), (32, 2, 1)])
def test_a_sampled_chain_leaves_the_target_s_distribution(vocab_size: int, num_places: int, num_guesses: int) -> None:
    model = toy(vocab_size, vocab_size)
    assert follows(sampled_chains(real_chain, model, num_places, num_guesses), model.target)


def test_the_rule_and_its_vectorised_twin_write_the_same() -> None:
    model, numbers = toy(8, 2), np.random.default_rng(2)
    guesses, uniforms = numbers.integers(0, 8, (3000, 2)), numbers.random((3000, 3, 2))

    assert (real_chain(model, guesses, uniforms) == chain_rule()(model, guesses, uniforms)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        chain_rule(takes_the_likeliest, likeliest_only),
        chain_rule(takes_the_likeliest),
        chain_rule(residual=uncovered),
        chain_rule(residual=lambda target, draft: target),
        chain_rule(bonus=lambda model: model.draft),
        chain_rule(takes_what_the_target_prefers),
    ],
    ids=["compare with argmax", "accept argmax", "no renormalisation", "no residual", "bonus from draft", "p > q"],
)
def test_wrong_rules_for_chains_are_found(wrong: ChainRule) -> None:
    model = toy(8, 8)
    assert follows(sampled_chains(chain_rule(), model, 3, 2), model.target), "and the right one is not"

    assert not follows(sampled_chains(wrong, model, 3, 2), model.target)


# Children of a place in a tree

ChildrenRule = Callable[[Floats, Floats, list[int], Floats], tuple[int, int | None]]


def gumbel_top(rows: Floats, count: int, numbers: np.random.Generator) -> Ints:
    """``count`` tokens from each of ``rows``, drawn one after the other without replacement."""
    return (-np.log(rows) - numbers.gumbel(size=rows.shape)).argsort(axis=1)[:, :count]


def likeliest_children(rows: Floats, count: int, numbers: np.random.Generator) -> Ints:
    """No draw at all."""
    return (-rows).argsort(axis=1)[:, :count]


def sampled_trees(
    rule: ChildrenRule, model: Toy, choose: Callable[[Floats, int, np.random.Generator], Ints] = gumbel_top
) -> Ints:
    """The first two tokens, with two children at each place as long as one is accepted."""
    numbers = np.random.default_rng(3)
    tokens = np.full((TRIALS, 2), -1)
    before, goes_on = np.full(TRIALS, START), np.arange(TRIALS)
    for place in range(2):
        children = choose(model.draft[before], 2, numbers).tolist()
        uniforms = numbers.random((len(before), 3))
        accepted: list[bool] = []
        for trial, last, siblings, drawn in zip(goes_on, before, children, uniforms, strict=True):
            tokens[trial, place], child = rule(model.target[last], model.draft[last], siblings, drawn)
            accepted.append(child is not None)
        goes_on = goes_on[accepted]
        before = tokens[goes_on, place]
    return write_on(tokens, 2, model, numbers)


def keeps_the_draft(target: Floats, draft: Floats, children: list[int], uniforms: Floats) -> tuple[int, int | None]:
    """Wrong: a refused child stays in the draft's distribution."""
    for index, child in enumerate(children):
        if uniforms[index] * draft[child] < target[child]:
            return child, index
        left = np.maximum(target - draft, 0.0)
        target = left / left.sum()
    return int(target.cumsum().searchsorted(uniforms[-1])), None


def test_children_drawn_without_replacement_leave_the_target_s_distribution_and_wrong_rules_do_not() -> None:
    model = toy(8, 4)
    assert follows(sampled_trees(accept_sampled_children, model), model.target)
    assert not follows(sampled_trees(keeps_the_draft, model), model.target)
    # The right rule for the wrong children: the likeliest are not drawn from the softmax they come with.
    assert not follows(sampled_trees(accept_sampled_children, model, likeliest_children), model.target)


# What verify() does with drafts that are not random


class TableSampler(Sampler):
    """Sampler at temperature 1 without its arithmetic: the rows of ``logits`` [R, vocab_size] are summed up once."""

    def __init__(self, logits: Tensor, seed: int) -> None:
        super().__init__(SamplingParams(1.0, seed=seed))
        self.sums: list[list[float]] = torch.softmax(logits.double(), -1).cumsum(-1).tolist()
        self.seed = seed

    def sample(self, logits: Tensor, position: int) -> int:
        sums = self.sums[logits.storage_offset() // len(self.sums[0])]
        return min(bisect_right(sums, self.number(position) * sums[-1]), len(sums) - 1)

    def number(self, position: int) -> float:
        return uniform(self.seed, position)


class OneNumber(TableSampler):
    """Wrong: all places draw with the same number."""

    def number(self, position: int) -> float:
        return uniform(self.seed, 0)


Verify = Callable[[Tensor, Draft, Sampler, int], tuple[list[int], list[int]]]


def accepts_the_top_two(logits: Tensor, draft: Draft, sampler: Sampler, position: int) -> tuple[list[int], list[int]]:
    """Wrong: a guess is good enough when it is one of the two likeliest tokens."""
    tokens: list[int] = []
    path: list[int] = []
    at = -1
    while True:
        likely = logits[at + 1].topk(2).indices.tolist()
        guess = next((child for token in likely if (child := draft.child(at, token)) is not None), None)
        if guess is None:
            return [*tokens, sampler.sample(logits[at + 1], position + len(path))], path
        tokens.append(draft.token_ids[guess])
        path.append(at := guess)


def two_tokens(
    rule: Verify, model: Toy, draft: Draft, table: type[TableSampler] = TableSampler, trials: int = TRIALS
) -> Ints:
    """The first two tokens of answers with seeds from 0 on, of which the first pass checks ``draft``."""
    position = 17
    # What follows the known text, each token of the draft, and then any token, for plain decoding behind a short pass.
    logits = torch.from_numpy(np.log(model.target[[START, *draft.token_ids, *range(len(model.target))]])).float()
    sampler = table(logits, 0)
    rows = logits[: 1 + len(draft.token_ids)]
    plain = list(logits[len(rows) :])
    tokens = np.zeros((trials, 2), np.int64)
    for seed in range(trials):
        sampler.seed = seed
        written, _ = rule(rows, draft, sampler, position)
        if len(written) == 1:
            written = [*written, sampler.sample(plain[written[0]], position + 1)]
        tokens[seed] = written[:2]
    return tokens


def likely_draft(model: Toy, *, tree: bool) -> Draft:
    """The likeliest guesses, which a wrong rule would take too often."""
    ranked = np.argsort(-model.target, axis=1)
    first, second = ranked[START, :2].tolist()
    if not tree:
        return Draft((first, int(ranked[first, 0])), (0.5,) * 2, "test")
    ids = (first, second, int(ranked[first, 0]), int(ranked[first, 1]), int(ranked[second, 0]), 3)
    return Draft(ids, (0.5,) * 6, "test", parents=(-1, -1, 0, 0, 1, -1), num_carried=1)


@pytest.mark.parametrize("tree", [False, True], ids=["chain", "tree"])
def test_a_fixed_draft_leaves_the_target_s_distribution_to_verify_and_wrong_ways_do_not(tree: bool) -> None:
    model = toy(8, 5)
    draft = likely_draft(model, tree=tree)
    assert follows(two_tokens(verify, model, draft), model.target)
    assert not follows(two_tokens(accepts_the_top_two, model, draft, trials=TRIALS // 4), model.target)
    assert not follows(two_tokens(verify, model, draft, OneNumber, TRIALS // 4), model.target)


def test_the_table_draws_what_the_sampler_draws() -> None:
    logits = torch.from_numpy(np.log(toy(16, 6).target)).float()
    for seed in range(1500):
        row = logits[seed % 16]
        table = TableSampler(logits, seed)
        assert table.sample(row, seed + 3) == Sampler(SamplingParams(1.0, seed=seed)).sample(row, seed + 3)


def test_equal_models_accept_every_guess() -> None:
    model = toy(8, 7)
    before = [START, 3, 5]
    uniforms = np.full((3, 2), 1.0 - 1e-9)
    assert accept_sampled_chain(model.target[before], model.target[before[:-1]], [3, 5], uniforms) == [3, 5, 7]


def test_where_nothing_is_left_to_draw_from_it_is_still_a_token_the_target_has() -> None:
    # A guess whose chance in the draft is rounded up can be refused, and then nothing may be left of the target.
    target, draft = np.array([0.25, 0.75, 0.0]), np.array([0.25 + 1e-9, 0.75, 0.0])
    assert accept_sampled_children(target, draft, [0], [1.0 - 1e-12, 0.9]) == (1, None)
    # And where refused children use up the draft, all is the target's.
    target, draft = np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.0])
    assert accept_sampled_children(target, draft, [0, 1], [0.0, 0.0, 0.3]) == (2, None)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), order=st.permutations(range(6)), number=st.floats(0, 1, exclude_max=True))
def test_a_token_without_probability_is_never_written(seed: int, order: Sequence[int], number: float) -> None:
    numbers = np.random.default_rng(seed)
    target, draft = numbers.random(6), numbers.random(6)
    target[order[0]] = target[order[1]] = 0.0
    target /= target.sum()
    draft /= draft.sum()
    token, _ = accept_sampled_children(target, draft, list(order), [*numbers.random(6), number])
    assert target[token] > 0.0


def test_what_does_not_fit_together_is_refused() -> None:
    row, zero = np.full(4, 0.25), np.array([0.0, 0.5, 0.5, 0.0])
    with pytest.raises(ValueError, match="do not fit"):
        accept_sampled_chain(np.tile(row, (3, 1)), row[None], [1], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="do not fit"):
        accept_sampled_children(row, row, [1, 2], [0.5, 0.5])
    with pytest.raises(ValueError, match="token 0 has no probability"):
        accept_sampled_chain(np.tile(row, (2, 1)), zero[None], [0], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="token 1 has no probability"):
        accept_sampled_children(np.array([1.0, 0.0, 0.0, 0.0]), row, [1, 1], [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="token -1 has no probability"):
        accept_sampled_children(row, row, [-1], [0.5, 0.5])
