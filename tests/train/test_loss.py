"""The loss and the tally, against both written out place by place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor, nn

from completiond.train.loss import AcceptanceTally, Batch, unrolled_loss
from completiond.train.unrolled import Inputs, Unrolled

SAMPLES, LENGTH, STEPS, DRAFT_VOCAB = 3, 11, 3, 5
PLACES = LENGTH - STEPS


class FixedNet:
    """Gives the same logits, [B, P, draft_vocab] for each step, whatever it reads."""

    def __init__(self, logits: Sequence[Tensor]) -> None:
        self.lm_head = nn.Linear(1, 1)
        self.logits = logits

    def unroll(self, inputs: Inputs, num_steps: int) -> Iterator[Unrolled]:
        assert num_steps == len(self.logits)
        for step, logits in enumerate(self.logits):
            yield Unrolled(step, logits)


WHOLE = (LENGTH,) * SAMPLES


def inputs_of(ids: Tensor, ends: Sequence[int] = WHOLE) -> Inputs:
    return Inputs(ids, torch.zeros(*ids.shape, 1), torch.zeros(*ids.shape, 1), torch.tensor(ends))


def randoms(seed: int) -> tuple[list[Tensor], Tensor, Tensor]:
    """Logits by step, the teacher's logarithms of probabilities, and which tokens are in the draft vocabulary."""
    generator = torch.Generator().manual_seed(seed)
    logits = [torch.randn(SAMPLES, PLACES, DRAFT_VOCAB, generator=generator) for _ in range(STEPS)]
    teacher = torch.randn(SAMPLES, LENGTH, DRAFT_VOCAB, generator=generator).mul_(2).log_softmax(-1)
    return logits, teacher, torch.rand(SAMPLES, LENGTH, generator=generator) < 0.7


def loss_of(logits: Sequence[Tensor], teacher: Tensor, inside: Tensor, ends: Sequence[int] = WHOLE) -> Tensor:
    ids = torch.zeros(SAMPLES, LENGTH, dtype=torch.int64)
    return unrolled_loss(FixedNet(logits), Batch(inputs_of(ids, ends), teacher, inside), STEPS)


def plain_loss(logits: Sequence[Tensor], teacher: Tensor, inside: Tensor, ends: Sequence[int] = WHOLE) -> float:
    """Entry p of step j guesses token p + 2 + j, about which the target knows at p + 1 + j."""
    total = 0.0
    for step in range(STEPS):
        terms = []
        for sample in range(SAMPLES):
            for place in range(PLACES):
                guessed = place + 2 + step
                if guessed < LENGTH and guessed <= ends[sample] and bool(inside[sample, guessed]):
                    wanted = teacher[sample, guessed - 1].exp()
                    given = torch.softmax(logits[step][sample, place], -1)
                    terms.append(-float((wanted * given.log()).sum()))
        total += 0.8**step * (sum(terms) / len(terms) if terms else 0.0)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_cross_entropy_with_the_target_step_by_step(seed: int) -> None:
    logits, teacher, inside = randoms(seed)
    assert loss_of(logits, teacher, inside).item() == pytest.approx(plain_loss(logits, teacher, inside), rel=1e-5)


def test_what_lies_behind_an_end_teaches_nothing() -> None:
    logits, teacher, inside = randoms(4)
    ends = [LENGTH, 6, 3]
    loss = loss_of(logits, teacher, inside, ends).item()
    assert loss == pytest.approx(plain_loss(logits, teacher, inside, ends), rel=1e-5)
    assert loss != pytest.approx(plain_loss(logits, teacher, inside), rel=1e-3)


def test_it_is_least_where_the_net_gives_what_the_target_does() -> None:
    logits, teacher, inside = randoms(0)
    right = [teacher[:, 1 + step : 1 + step + PLACES] for step in range(STEPS)]
    assert loss_of(right, teacher, inside) < loss_of(logits, teacher, inside)
    for moved in ([row.roll(1, 1) for row in right], [right[0], right[0], right[0]]):
        assert loss_of(right, teacher, inside) < loss_of(moved, teacher, inside)


def test_places_outside_of_the_vocabulary_teach_nothing() -> None:
    logits, teacher, inside = randoms(1)
    logits = [rows.requires_grad_() for rows in logits]
    loss_of(logits, teacher, inside).backward()  # type: ignore[no-untyped-call]
    for step, rows in enumerate(logits):
        assert rows.grad is not None
        moved = rows.grad.abs().sum(-1) > 0
        expected = torch.zeros_like(moved)
        reach = min(PLACES, LENGTH - 2 - step)
        expected[:, :reach] = inside[:, 2 + step : 2 + step + reach]
        assert torch.equal(moved, expected)
    assert not bool(logits[-1].grad[:, -1].any()), "the last place of the last step guesses what is not there"  # type: ignore[index]


def test_a_batch_all_outside_is_no_loss() -> None:
    logits, teacher, _ = randoms(2)
    assert loss_of(logits, teacher, torch.zeros(SAMPLES, LENGTH, dtype=torch.bool)).item() == 0.0


TOKEN_IDS = torch.tensor([0, 1, 2, 4, 6])
"""The target has seven tokens, the head guesses five."""


def plain_tally(
    logits: Sequence[Tensor], ids: Tensor, choices: Tensor, ends: Sequence[int]
) -> tuple[list[int], list[int]]:
    tried, right = [0] * STEPS, [0] * STEPS
    for sample in range(SAMPLES):
        for place in range(PLACES):
            for step in range(STEPS):
                if place + 1 + step >= ends[sample] or ids[sample, place + 1 + step] != choices[sample, place + step]:
                    break  # not what the target would have written
                tried[step] += 1
                if TOKEN_IDS[logits[step][sample, place].argmax()] != choices[sample, place + 1 + step]:
                    break
                right[step] += 1
    return tried, right


@pytest.mark.parametrize("seed", range(5))
def test_the_tally_counts_what_follows_on_from_right_guesses(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    choices = torch.randint(0, 7, (SAMPLES, LENGTH), generator=generator)
    strange = torch.rand(SAMPLES, LENGTH, generator=generator) < 0.15
    written = choices.roll(1, 1)  # the target's choice at p is token p + 1
    ids = torch.where(strange, (written + 1) % 7, written)
    logits = []
    for step in range(STEPS):
        rows = torch.randn(SAMPLES, PLACES, len(TOKEN_IDS), generator=generator)
        wanted = choices[:, 1 + step : 1 + step + PLACES, None] == TOKEN_IDS
        logits.append(rows + 4.0 * wanted * (torch.rand(SAMPLES, PLACES, 1, generator=generator) < 0.8))
    tally = AcceptanceTally(STEPS)
    ends = (LENGTH, 7, LENGTH)
    tally.add(FixedNet(logits), inputs_of(ids, ends), choices, TOKEN_IDS)
    tried, right = plain_tally(logits, ids, choices, ends)
    assert (tally.tried, tally.right) == (tried, right)
    assert all(tried)
    assert tally.acceptances == [r / t for r, t in zip(right, tried, strict=True)]
    tally.add(FixedNet(logits), inputs_of(ids, ends), choices, TOKEN_IDS)
    assert tally.tried == [2 * count for count in tried]


def test_where_nothing_was_tried_the_acceptance_is_none_at_all() -> None:
    tally = AcceptanceTally(STEPS)
    assert tally.acceptances == [0.0] * STEPS
    logits, _, _ = randoms(3)
    ids, choices = torch.zeros(SAMPLES, LENGTH, dtype=torch.int64), torch.ones(SAMPLES, LENGTH, dtype=torch.int64)
    tally.add(FixedNet(logits), inputs_of(ids), choices, TOKEN_IDS)
    assert (tally.tried, tally.right, tally.acceptances) == ([0] * STEPS, [0] * STEPS, [0.0] * STEPS)
