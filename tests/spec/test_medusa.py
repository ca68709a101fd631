"""The Medusa drafter in the decode loop: heads that were fitted to a small decoder's own text, in chains and trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from completiond.cache.shift import Move
from completiond.config import ModelConfig
from completiond.engine.decoder import Decoder
from completiond.engine.generate import Step, generate
from completiond.engine.linear import FloatKernels, Kernels, Weight, pack_weight
from completiond.engine.load import load_model
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.engine.target import NORMED
from completiond.spec.drafter import NO_DRAFT, Draft, Drafter, NoDrafter, Verified
from completiond.spec.medusa import MedusaDrafter
from completiond.spec.medusa_heads import MedusaHeads, MedusaWeights, load_medusa
from completiond.spec.policy import FixedPolicy
from tests.engine.random_models import VOCAB_SIZE, make_folder

HIDDEN = 96
NUM_HEADS = 3
CAPACITY = 128
NUM_NEW = 24
PROMPT = [5, 77, 130, 9, 41, 200, 17, 88]
FLOAT = FloatKernels(torch.float32)
CPU = torch.device("cpu")


class CheckAll(FixedPolicy):
    """No guess is left out."""

    def trim(self, draft: Draft) -> Draft:
        return draft


class Watched(MedusaDrafter):
    """Keeps its drafts."""

    def __init__(self, heads: MedusaHeads, width: int = 1) -> None:
        super().__init__(heads, width)
        self.drafts: list[Draft] = []

    def propose(self, budget: int) -> Draft:
        self.drafts.append(super().propose(budget))
        return self.drafts[-1]


# In the decode loop


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("model") / "model", "llama")


@pytest.fixture(scope="module", params=["float32", "int8"])
def target(request: pytest.FixtureRequest, folder: Path) -> Decoder:
    settings = ModelConfig(device="cpu", dtype=request.param)
    loaded = load_model(folder, settings, folder.parent / "prepared", lambda share, what: None).target
    assert isinstance(loaded, Decoder)
    return loaded


@dataclass
class Stream:
    """Answers of one drafter on one cache."""

    target: Decoder
    drafter: Drafter
    params: SamplingParams
    kv: Any = None
    steps: list[Step] = field(default_factory=list)

    def answer(self, prompt: Sequence[int], max_tokens: int = NUM_NEW, num_steps: int | None = None) -> list[int]:
        """The tokens that follow ``prompt``; the caller loses interest after ``num_steps``."""
        self.kv = self.kv or self.target.new_cache(CAPACITY)
        self.steps = []
        self.drafter.reset(prompt)
        passes = generate(
            self.target, self.kv, prompt, self.drafter, Sampler(self.params), lambda token_id: None, max_tokens, 12,
            CheckAll(),
        )  # fmt: skip
        for step in passes:
            self.steps.append(step)
            if len(self.steps) == num_steps:
                passes.close()  # type: ignore[attr-defined]
                break
        return [token_id for step in self.steps for token_id in step.token_ids]


def states_of(target: Decoder, ids: Sequence[int]) -> Tensor:
    features = target.forward(ids, target.new_cache(CAPACITY), 0, (NORMED,)).features
    assert features is not None
    return features


Text = tuple[Sequence[int], Sequence[int]]
"""A prompt and what the target writes behind it."""


def fitted(
    target: Decoder, texts: Sequence[Text], folder: Path, kernels: Kernels = FLOAT, rank: int = 0
) -> MedusaHeads:
    """Heads for which the tokens of the answers of ``texts`` are of ``rank`` 0 or 1, loaded from a file.

    Their residual blocks add nothing, and their products are the least-squares solutions for the states that the target
    has when it writes the answers.
    """
    chosen = [
        states_of(target, [*prompt, *answer])[len(prompt) - 1 : -NUM_HEADS - 1].double() for prompt, answer in texts
    ]
    states = torch.cat(chosen)
    tensors: dict[str, Tensor] = {}
    for head in range(NUM_HEADS):
        wanted = torch.zeros(states.shape[0], VOCAB_SIZE, dtype=torch.float64)
        right = [answer[place + 1 + head] for _, answer in texts for place in range(len(answer) - NUM_HEADS)]
        for row, token_id in enumerate(right):
            wanted[row, token_id] = 40.0
            if rank:
                wanted[row, (token_id + 1) % VOCAB_SIZE] = 42.0
        solution = torch.linalg.lstsq(states, wanted, driver="gelsd").solution.T.float()
        tensors[f"{head}.0.linear.weight"] = torch.zeros(HIDDEN, HIDDEN)
        tensors[f"{head}.0.linear.bias"] = torch.zeros(HIDDEN)
        tensors[f"{head}.1.weight"] = solution.contiguous()
    folder.mkdir()
    torch.save(tensors, folder / "medusa_lm_head.pt")
    return load_medusa(folder, HIDDEN, VOCAB_SIZE, kernels, CPU, no_rows)


def no_rows(token_ids: Tensor | None) -> Weight:
    raise AssertionError("heads with products of their own")


def plain_texts(target: Decoder, params: SamplingParams) -> tuple[list[int], list[int], list[int]]:
    """Two prompts that begin alike, and what follows them; the second goes on from the middle of the first's answer."""
    first = Stream(target, NoDrafter(), params).answer(PROMPT, NUM_NEW + NUM_HEADS)
    second = [*PROMPT, *first[: NUM_NEW // 2], 250, 3]
    return first, second, Stream(target, NoDrafter(), params).answer(second, NUM_NEW + NUM_HEADS)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_perfect_heads_are_accepted_and_change_no_answer(
    target: Decoder, temperature: float, width: int, tmp_path: Path
) -> None:
    params = SamplingParams(temperature, seed=11)
    first, second_prompt, second = plain_texts(target, params)
    heads = fitted(target, [(PROMPT, first), (second_prompt, second)], tmp_path / "heads")
    drafter = Watched(heads, width)
    stream = Stream(target, drafter, params)

    for prompt, plain in ((PROMPT, first), (second_prompt, second)):
        drafter.drafts.clear()
        assert stream.answer(prompt) == plain[:NUM_NEW]
        assert stream.kv.token_ids == [*prompt, *plain][: stream.kv.num_tokens]
        # The first pass reads the prompt and has nothing to draft from; each later one gives the most there can be.
        written = [len(step.token_ids) for step in stream.steps]
        assert written == [1, 4, 4, 4, 4, 4, 3]
        assert [step.accepted for step in stream.steps] == [count - 1 for count in written]
        assert drafter.drafts[0] == NO_DRAFT
        assert all(draft.confident and draft.source == "medusa" for draft in drafter.drafts[1:])
        # The last has room for two guesses only.
        assert all(bool(draft.parents) == (width > 1) for draft in drafter.drafts[1:-1])
    assert stream.steps[0].cached_tokens == len(PROMPT) + NUM_NEW // 2, "the second began with what it shares"
    assert drafter.draft_ms > 0.0


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_tree_holds_right_guesses_that_no_head_puts_first(
    target: Decoder, temperature: float, tmp_path: Path
) -> None:
    params = SamplingParams(temperature, seed=4)
    first, second_prompt, second = plain_texts(target, params)
    heads = fitted(target, [(PROMPT, first), (second_prompt, second)], tmp_path / "heads", rank=1)
    chains = Stream(target, MedusaDrafter(heads), params)
    trees = Stream(target, MedusaDrafter(heads, width=2), params)

    for prompt, plain in ((PROMPT, first), (second_prompt, second)):
        assert chains.answer(prompt) == trees.answer(prompt) == plain[:NUM_NEW]
    assert sum(step.accepted for step in chains.steps) == 0
    assert len(trees.steps) == 7, "as few passes as with perfect heads, now that the counts have learned"


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_random_heads_change_no_answer(target: Decoder, temperature: float, width: int) -> None:
    params = SamplingParams(temperature, seed=2)
    stream = Stream(target, MedusaDrafter(random_heads(target), width), params)

    first, second_prompt, second = plain_texts(target, params)

    assert stream.answer(PROMPT) == first[:NUM_NEW]
    assert stream.answer(second_prompt) == second[:NUM_NEW]


def random_heads(target: Decoder) -> MedusaHeads:
    """With the target's own kernels and its own product with the vocabulary."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(NUM_HEADS * HIDDEN, HIDDEN, generator=generator)
    weights = MedusaWeights(
        first=pack_weight(target.kernels, first, CPU),
        later=(),
        lm_heads=(target.weights.lm_head,),
        token_ids=None,
    )
    return MedusaHeads(NUM_HEADS, HIDDEN, VOCAB_SIZE, weights, target.kernels, CPU)


def test_heads_with_the_targets_arithmetic_are_mostly_right_too(target: Decoder, tmp_path: Path) -> None:
    params = SamplingParams()
    first, _, _ = plain_texts(target, params)
    heads = fitted(target, [(PROMPT, first)], tmp_path / "heads", target.kernels)
    stream = Stream(target, MedusaDrafter(heads), params)

    assert stream.answer(PROMPT) == first[:NUM_NEW]
    assert sum(step.accepted for step in stream.steps) > NUM_NEW // 2


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("num_steps", [1, 2, 3])
def test_after_an_answer_that_was_given_up_the_next_is_right(
    target: Decoder, num_steps: int, width: int, tmp_path: Path
) -> None:
    params = SamplingParams()
    first, second_prompt, second = plain_texts(target, params)
    heads = fitted(target, [(PROMPT, first), (second_prompt, second)], tmp_path / "heads")
    drafter = Watched(heads, width)
    stream = Stream(target, drafter, params)
    stream.answer(PROMPT, num_steps=num_steps)

    for prompt, plain in ((second_prompt, second), (PROMPT, first)):
        drafter.drafts.clear()
        assert stream.answer(prompt) == plain[:NUM_NEW]
        assert drafter.drafts[0] == NO_DRAFT, "no state of the answer before"
        assert len(stream.steps) == 7


# On its own


class Table(MedusaHeads):
    """Heads with the same logits for every state."""

    def __init__(self, logits: Tensor, token_ids: Tensor | None = None) -> None:
        nothing = Weight(torch.zeros(1, 1))
        weights = MedusaWeights(nothing, (), (nothing,), token_ids)
        super().__init__(logits.shape[0], 2, logits.shape[1], weights, FLOAT, CPU)
        self.table = logits
        self.states: list[Tensor] = []
        self.asked: list[int | None] = []

    def logits(self, state: Tensor, num_heads: int | None = None) -> Tensor:
        self.states.append(state)
        self.asked.append(num_heads)
        return self.table[:num_heads]


# Head 0 ranks 2, 0, 1; head 1 ranks 1, 2, 0.
LOGITS = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
STATE = torch.tensor([[0.5, -0.5]])


def ready(width: int, token_ids: Tensor | None = None) -> MedusaDrafter:
    """Behind a prompt that was read and one token that followed it."""
    drafter = MedusaDrafter(Table(LOGITS, token_ids), width)
    drafter.begin([1, 2, 3], 0)
    drafter.read(torch.zeros(3, 2))
    drafter.observe([4], nothing_verified())
    return drafter


def nothing_verified(draft: Draft = NO_DRAFT) -> Verified:
    return Verified(draft, (), torch.zeros(1, 3))


def test_a_chain_is_the_first_of_each_head_with_its_probability() -> None:
    draft = ready(1).propose(8)

    assert (draft.token_ids, draft.parents) == ((2, 1), ())
    assert draft.probabilities == pytest.approx(LOGITS.softmax(-1).amax(-1).tolist())
    assert draft.confident
    assert draft.source == "medusa"


def test_ids_of_a_reduced_vocabulary_become_the_targets() -> None:
    draft = ready(1, torch.tensor([100, 200, 300])).propose(8)

    assert draft.token_ids == (300, 200)


def test_a_tree_has_every_combination_if_the_budget_allows() -> None:
    draft = ready(2).propose(100)

    paths = {tuple(draft.token_ids[node] for node in path) for path in paths_of(draft)}
    assert paths == {(2,), (0,), (2, 1), (2, 2), (0, 1), (0, 2)}
    chances = LOGITS.softmax(-1)
    for path, node in zip(paths_of(draft), range(6), strict=True):
        assert draft.probabilities[node] == pytest.approx(float(chances[len(path) - 1, draft.token_ids[node]]))


def paths_of(draft: Draft) -> list[list[int]]:
    paths: list[list[int]] = []
    for node, parent in enumerate(draft.parents):
        paths.append([*(paths[parent] if parent >= 0 else []), node])
    return paths


@pytest.mark.parametrize("width", [1, 2, 3, 9])
@pytest.mark.parametrize("budget", range(-1, 7))
def test_a_budget_is_kept_and_heads_beyond_it_are_not_run(width: int, budget: int) -> None:
    drafter = ready(width)
    assert isinstance(drafter.heads, Table)

    draft = drafter.propose(budget)

    most = 2 if width == 1 else 12
    assert len(draft.token_ids) == min(max(budget, 0), most)
    assert drafter.heads.asked == ([min(budget, 2)] if budget > 0 else [])
    if draft.parents:
        assert all(parent < node for node, parent in enumerate(draft.parents))


def test_a_tree_without_branches_is_given_as_a_chain() -> None:
    assert ready(3).propose(1).parents == ()


def test_a_width_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="0 tokens"):
        MedusaDrafter(Table(LOGITS), 0)


def test_it_drafts_from_the_last_state_only_and_only_when_that_is_the_newest() -> None:
    heads = Table(LOGITS)
    drafter = MedusaDrafter(heads)
    assert drafter.propose(4) == NO_DRAFT, "before anything"
    drafter.begin([1, 2, 3, 4], 0)
    assert drafter.propose(4) == NO_DRAFT
    drafter.read(torch.zeros(2, 2))
    assert drafter.propose(4) == NO_DRAFT, "half of the prompt"
    drafter.read(torch.cat((torch.ones(1, 2), STATE)))
    drafter.observe([5], nothing_verified())
    assert drafter.propose(4).token_ids == (2, 1)
    assert torch.equal(torch.cat(heads.states), STATE)
    drafter.observe([6])
    assert drafter.propose(4) == NO_DRAFT, "written without a pass"
    drafter.read(STATE)
    assert drafter.propose(4).token_ids == (2, 1)


@pytest.mark.parametrize("num_cached", [0, 2, 3])
def test_a_state_from_before_the_prompt_is_not_used(num_cached: int) -> None:
    drafter = ready(1)

    drafter.begin([1, 2, 3, 4], num_cached)

    assert drafter.propose(4) == NO_DRAFT


def test_tokens_that_are_moved_count_as_read() -> None:
    drafter = ready(1)
    drafter.begin([1, 2, 3, 4, 5], 1, Move(source=1, start=2, length=2, last=1))
    drafter.read(STATE)
    drafter.read(STATE)
    drafter.observe([6])
    assert drafter.propose(4).num_guesses


def test_it_learns_from_what_was_written_also_where_it_was_not_checked() -> None:
    drafter = ready(2)
    before = drafter.counts.chances(2)

    for _ in range(100):
        for written in ([0, 1], [0, 7], [5, 1]):
            drafter.propose(1)
            drafter.propose(4)
            drafter.observe(written, nothing_verified())
            drafter.read(torch.zeros(len(written), 2))
    after = drafter.counts.chances(2)

    assert before[0][0] > before[0][1]
    assert after[0] == pytest.approx([0.0, 2 / 3], abs=0.02), "0 was its second, 5 is none of its ranks"
    assert after[1] == pytest.approx([1 / 2, 0.0], abs=0.02), "not asked below 5"


def test_text_that_was_not_drafted_for_teaches_nothing() -> None:
    drafter = ready(2)
    drafter.propose(4)
    before = drafter.counts.chances(2)

    drafter.observe([0, 1])  # no pass
    drafter.observe([0, 1], nothing_verified())  # no draft
    drafter.begin([1, 2], 1)
    drafter.observe([0, 1], nothing_verified())

    assert drafter.counts.chances(2) == before
