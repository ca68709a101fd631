"""A small part of ``completiond bench lossless``, and that it can fail."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from completiond.bench.lossless import check_blocks, check_tokens
from completiond.complete.completer import Completer
from completiond.engine.generate import generate
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft, NoDrafter, TextDrafter, Verified
from completiond.spec.drafter_names import DrafterChoice

pytestmark = pytest.mark.model


@pytest.mark.parametrize(("model", "num_prompts", "max_tokens"), [("default", 4, 32), ("tiny", 6, 32)])
def test_drafts_change_no_token(model: str, num_prompts: int, max_tokens: int, request: pytest.FixtureRequest) -> None:
    completer: Completer = request.getfixturevalue(f"{model}_completer")
    checks = check_tokens(completer, num_prompts, max_tokens)
    assert len(checks) == 2 * num_prompts
    assert {check.temperature for check in checks} == {0.0, 0.8}
    assert [check for check in checks if not check.equal] == []
    assert all(check.tokens == max_tokens for check in checks)
    assert sum(check.accepted for check in checks) > 0, "something was drafted, or nothing is proved"


def test_no_drafter_changes_a_token(tiny_completer: Completer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need no head; with heads of random weights, tests/spec compare the others."""
    monkeypatch.setattr(tiny_completer.drafters, "policy", None)  # all is checked, whatever it costs on a busy machine
    names: tuple[DrafterChoice, ...] = ("draft", "lookahead", "ngram")
    checks = check_tokens(tiny_completer, 4, 24, names)
    assert len(checks) == len(names) * 2 * 4
    assert [check for check in checks if not check.equal] == []
    for name in names:
        assert sum(check.drafted for check in checks if check.drafter == name) > 0, name


@pytest.mark.parametrize("model", ["default", "tiny"])
def test_no_bit_depends_on_the_shape_of_a_pass(model: str, request: pytest.FixtureRequest) -> None:
    completer: Completer = request.getfixturevalue(f"{model}_completer")
    assert completer.target.exact
    assert [check for check in check_blocks(completer.target, 96) if check.max_difference != 0] == []


class Oracle(TextDrafter):
    """A drafter that knows the answer: all of its guesses are right, so every pass takes a whole block."""

    def __init__(self, answer: Sequence[int]) -> None:
        self._rest = list(answer)

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        pass

    def propose(self, budget: int) -> Draft:
        guess = tuple(self._rest[:budget])
        return Draft(guess, (1.0,) * len(guess), "oracle")

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        del self._rest[: len(token_ids)]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_whole_blocks_give_the_same_tokens(temperature: float, tiny_completer: Completer) -> None:
    target = tiny_completer.target
    prompt = tiny_completer.tokenizer.encode("def fibonacci(n):\n    if n < 2:\n")
    sampler = Sampler(SamplingParams(temperature=temperature, seed=3))

    def run(drafter: NoDrafter | Oracle) -> tuple[list[int], int]:
        steps = list(generate(target, target.new_cache(256), prompt, drafter, sampler, lambda token: None, 48, 15))
        return [token_id for step in steps for token_id in step.token_ids], len(steps)

    plain, plain_passes = run(NoDrafter())
    drafted, drafted_passes = run(Oracle(plain))
    assert drafted == plain
    assert plain_passes == 48
    assert drafted_passes == 3, "16 tokens a pass"
