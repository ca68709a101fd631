"""Decode at every event with every arm, and add up by class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from completiond.bench.edits.desk import ARMS, Desk
from completiond.bench.edits.event import EditEvent
from completiond.bench.edits.look_up import LookUp
from completiond.bench.edits.oracle import OracleTarget
from completiond.bench.model_run import Decode
from completiond.complete.completer import Completer
from completiond.complete.prompt import PromptBudget, build_prompt
from completiond.complete.tokens import TextTokenizer
from completiond.engine.generate import Step, generate
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import Drafter, NoDrafter
from completiond.spec.ngram import NGramDrafter
from completiond.spec.pass_costs import PassCosts
from completiond.spec.policy import MeasuredPolicy, Policy

__all__ = ["CPU", "CPU_COSTS_MS", "LOOK_UP", "Tallies", "Tally", "run_model", "run_oracle"]

MAX_DRAFT_TOKENS = 31
FLAT_COSTS_MS = {1: 1.0, 32: 1.0}
"""Passes that cost the same whatever they check, as on a GPU: oracle mode counts what drafts could gain."""
CPU_COSTS_MS = {1: 33.2, 2: 37.6, 4: 35.2, 8: 42.8, 16: 55.4, 32: 86.2}
"""Passes of the default model on two cores (docs/log.md): what drafts would gain in time there."""
LOOK_UP = "look-up"
"""Name of the tallies of a plain prompt look-up in the edited file, with the text deleted in it."""
CPU = "cpu"
"""Name of the tallies of the last arm with CPU_COSTS_MS."""

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """Sums over events. ``by_origin`` counts (drafted, accepted) by where drafts came from, ``depths`` accepted by
    position.
    """

    events: int = 0
    tokens: int = 0
    passes: int = 0
    decode_ms: float = 0.0
    drafted: int = 0
    accepted: int = 0
    by_origin: dict[str, tuple[int, int]] = field(default_factory=lambda: defaultdict(lambda: (0, 0)))
    depths: Counter[int] = field(default_factory=Counter)

    def add(self, steps: Sequence[Step]) -> None:
        """Count one answer."""
        self.events += 1
        for step in steps:
            self.tokens += len(step.token_ids)
            self.passes += 1
            self.decode_ms += step.pass_ms
            self.drafted += step.drafted
            self.accepted += step.accepted
            drafted, accepted = self.by_origin[step.origin]
            self.by_origin[step.origin] = (drafted + step.drafted, accepted + step.accepted)
            self.depths.update(range(1, step.accepted + 1))

    @property
    def tokens_per_pass(self) -> float:
        """Pooled over all events."""
        return self.tokens / self.passes if self.passes else 0.0

    @property
    def ms_per_token(self) -> float:
        """Pooled over all events."""
        return self.decode_ms / self.tokens if self.tokens else 0.0


Tallies = dict[tuple[str, str], Tally]
"""By (arm, class)."""


def run_oracle(events: Iterable[EditEvent], tokenizer: TextTokenizer, budget: PromptBudget) -> Tallies:
    """Tokens per pass if the model wrote what the person wrote, and, under ``CPU``, the time by measured costs."""
    desk = Desk(tokenizer)
    policies = {arm: MeasuredPolicy(PassCosts(FLAT_COSTS_MS), refresh_costs=False) for arm in ARMS}
    policies[CPU] = MeasuredPolicy(PassCosts(CPU_COSTS_MS), refresh_costs=False)
    tallies: Tallies = defaultdict(Tally)
    vocab_size = max(tokenizer.stop_ids) + 1
    end_ids = [vocab_size - 1] * (MAX_DRAFT_TOKENS + 1)
    for event in events:
        texts = desk.follow(event)
        prompt = build_prompt(event.prefix, event.suffix, tokenizer, None, budget)
        suffix_ids = tokenizer.encode(event.suffix[: budget.suffix_tokens * 8])[: budget.suffix_tokens]
        answer_ids = tokenizer.encode(event.expected)
        if not answer_ids:
            continue
        # What follows is the text behind the cursor: the drafter must not learn from its budget where to end.
        target = OracleTarget(prompt.token_ids, [*answer_ids, *suffix_ids, *end_ids], vocab_size)
        for arm, policy in policies.items():
            drafter = _drafter(arm, texts[ARMS[-1] if arm == CPU else arm], policy)
            drafter.reset(prompt.prefix_ids, (suffix_ids,))
            steps = _replay(target, prompt.token_ids, len(answer_ids), drafter, policy)
            costs = policy.costs
            tallies[arm, event.kind].add([replace(step, pass_ms=costs.pass_ms(step.drafted + 1)) for step in steps])
        look_up = LookUp()
        look_up.reset(
            tokenizer.encode(event.prefix), (tokenizer.encode(event.suffix), tokenizer.encode(event.deleted))
        )  # fmt: skip
        tallies[LOOK_UP, event.kind].add(_replay(target, prompt.token_ids, len(answer_ids), look_up, None))
    return tallies


def _replay(
    target: OracleTarget, prompt_ids: Sequence[int], num_tokens: int, drafter: Drafter, policy: Policy | None
) -> list[Step]:
    """Write what the person wrote, ``num_tokens`` of it."""
    max_tokens = num_tokens + MAX_DRAFT_TOKENS + 1
    kv = target.new_cache(len(prompt_ids) + max_tokens)
    steps = generate(
        target, kv, prompt_ids, drafter, Sampler(SamplingParams()), _end_after(num_tokens), max_tokens,
        MAX_DRAFT_TOKENS, policy,
    )  # fmt: skip
    return [step for step in steps if step.token_ids]


def _end_after(num_tokens: int) -> Callable[[int], str | None]:
    """A stop rule that knows where the person stopped."""
    left = iter(range(num_tokens - 1, -1, -1))
    return lambda token_id: "end" if next(left) == 0 else None


def run_model(
    events: Iterable[EditEvent],
    completer: Completer,
    max_tokens: int,
    temperature: float,
    decode: Decode[T],
    kind: str | None = None,
) -> Iterator[T]:
    """The real model's own answers, ``max_tokens`` each with no stop rule; to events of one ``kind``, if given, though
    all are followed.
    """
    desk = Desk(completer.tokenizer)
    sampler = Sampler(SamplingParams(temperature=temperature, seed=0))
    for event in events:
        text = desk.follow(event)[ARMS[-1]]
        assert text is not None, "the last arm has all sources"
        if kind not in (None, event.kind):
            continue
        yield decode(event.kind, event.prefix, event.suffix, text, completer, sampler, max_tokens)


def _drafter(arm: str, text: DraftText | None, policy: MeasuredPolicy) -> Drafter:
    return NoDrafter() if arm == "none" else NGramDrafter(text, policy.rate)
