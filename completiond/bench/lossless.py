"""Proof by running that speculation changes nothing: tokens against plain decoding, logits against a fresh prefill.

The oracle is plain decoding, one token a pass, on an empty cache.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from completiond.bench.prompts import CodePlace, code_places
from completiond.complete.completer import Completer
from completiond.complete.prompt import Prompt, PromptBudget, build_prompt
from completiond.complete.request import LineEdit
from completiond.engine.generate import generate
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.engine.target import TargetModel
from completiond.spec.draft_text import DraftText
from completiond.spec.drafter import Drafter, NoDrafter
from completiond.spec.drafter_names import DrafterChoice
from completiond.spec.policy import Policy
from completiond.spec.tree import ancestors_of

__all__ = ["BlockCheck", "TokenCheck", "check_blocks", "check_tokens"]

BUDGET = PromptBudget(prefix_tokens=256, suffix_tokens=96)
CLIENT = "lossless"
TREES = (2, 7, 16, 31)
PREFILL_PIECES = (1, 2, 3, 5, 8, 13, 21, 32)


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """One prompt decoded plainly and with ``drafter``. ``equal`` compares all token ids."""

    drafter: str
    mode: str
    temperature: float
    equal: bool
    tokens: int
    passes: int
    drafted: int
    accepted: int


def check_tokens(
    completer: Completer,
    num_prompts: int,
    max_tokens: int,
    drafters: Sequence[DrafterChoice] = ("ngram",),
    on_check: Callable[[TokenCheck], None] = lambda check: None,
) -> list[TokenCheck]:
    """Decode ``num_prompts`` places, alternately as a fill and prefix-only, at temperature 0 and at 0.8 with a fixed
    seed.

    Fills draft from the open document too, in which what followed on the line was just deleted. Drafted runs start on
    whatever the cache holds from the runs before them, the plain one on an empty cache; no stop rule ends any, so that
    all ``max_tokens`` are compared. Copies are checked as far as the measured policy wants, a model's guesses as far as
    they are likely at all: a guess that is left out proves nothing.
    """
    checks = []
    for index, place in enumerate(code_places(num_prompts)):
        fim = completer.fim if index % 2 == 0 else None
        mode = "fill" if fim else "prefix-only"
        prompt = build_prompt(place.prefix, place.suffix, completer.tokenizer, fim, BUDGET)
        for temperature in (0.0, 0.8):
            sampler = Sampler(SamplingParams(temperature=temperature, seed=index))
            drafted = {}
            for name in drafters:
                text = _open(completer, place) if fim else None
                policy = completer.policy if name in ("ngram", "auto") else None
                drafter = completer.drafters.get(name, text)
                drafted[name] = _decode(completer, prompt, drafter, sampler, max_tokens, policy)
                completer.dictionary.close_client(CLIENT)
            completer.kv.forget()
            plain_ids, _ = _decode(completer, prompt, NoDrafter(), sampler, max_tokens, None)
            for name, (token_ids, figures) in drafted.items():
                equal = token_ids == plain_ids
                checks.append(TokenCheck(name, mode, temperature, equal, len(plain_ids), *figures))
                on_check(checks[-1])
    return checks


def _open(completer: Completer, place: CodePlace) -> DraftText:
    """What an editor's dictionary has for the place, the line at the cursor having just been emptied."""
    key, line = (CLIENT, place.path), place.prefix.count("\n")
    lines = (place.prefix + place.suffix).split("\n")
    completer.dictionary.open(key, lines)
    rest = place.suffix.partition("\n")[0]
    emptied = lines[line].removesuffix(rest)
    completer.dictionary.edit(key, [LineEdit(line, 1, (emptied,))])
    return completer.dictionary.draft_text(key, line)


def _decode(
    completer: Completer, prompt: Prompt, drafter: Drafter, sampler: Sampler, max_tokens: int, policy: Policy | None
) -> tuple[list[int], tuple[int, int, int]]:
    """Token ids, and passes, drafted, accepted."""
    drafter.reset(prompt.prefix_ids, (prompt.suffix_ids,))
    steps = [
        step
        for step in generate(
            completer.target, completer.kv, prompt.token_ids, drafter, sampler, lambda token_id: None, max_tokens,
            completer.config.spec.max_draft_tokens, policy,
        )
        if step.token_ids
    ]  # fmt: skip
    token_ids = [token_id for step in steps for token_id in step.token_ids]
    return token_ids, (len(steps), sum(step.drafted for step in steps), sum(step.accepted for step in steps))


@dataclass(frozen=True, slots=True)
class BlockCheck:
    """One way to compute rows, against the same rows of a fresh one-by-one run: largest difference of any logit."""

    name: str
    max_difference: float


def check_blocks(target: TargetModel[Any], num_tokens: int = 160, seed: int = 0) -> list[BlockCheck]:
    """Compare logits bit for bit: blocks of 1 to 32, trees, random chunking, rollback, a cache hit."""
    randomness = random.Random(seed)
    ids = [randomness.randrange(target.vocab_size // 2) for _ in range(num_tokens)]
    kv = target.new_cache(num_tokens + 64)
    reference = torch.cat([target.forward([token_id], kv, 1).logits for token_id in ids])

    def difference(rows: Tensor, start: int) -> float:
        return float((rows - reference[start : start + rows.shape[0]]).abs().max())

    def whole(chunks: Sequence[int]) -> float:
        fresh, start, worst = target.new_cache(num_tokens + 64), 0, 0.0
        for size in chunks:
            if not (piece := ids[start : start + size]):
                break
            worst = max(worst, difference(target.forward(piece, fresh, len(piece)).logits, start))
            start += len(piece)
        return worst

    checks = []
    for size in range(1, 33):
        kv.rollback(start := num_tokens - 32 - size % 7)  # odd and even starts
        checks.append(
            BlockCheck(
                f"block of {size}", difference(target.forward(ids[start : start + size], kv, size).logits, start)
            )
        )
    if target.trees:
        checks += [BlockCheck(f"tree of {size}", _tree_difference(target, ids, size, randomness)) for size in TREES]
    checks.append(BlockCheck("one prefill", whole([num_tokens])))
    checks.append(BlockCheck("random chunks", whole(randomness.choices(PREFILL_PIECES, k=num_tokens))))
    wrong = [(token_id + 1) % target.vocab_size for token_id in ids]
    kv.rollback(start := num_tokens // 2)
    target.forward(wrong[start : start + 24], kv, 24)
    kv.rollback(start)
    checks.append(
        BlockCheck("after a rollback", difference(target.forward(ids[start:], kv, num_tokens - start).logits, start))
    )
    start = kv.reuse([*ids[: num_tokens - 8], *wrong[num_tokens - 8 :], ids[0]])
    checks.append(
        BlockCheck("after a cache hit", difference(target.forward(ids[start:], kv, num_tokens - start).logits, start))
    )
    return checks


def _tree_difference(target: TargetModel[Any], ids: Sequence[int], size: int, randomness: random.Random) -> float:
    """Rows of a random tree behind ``ids``, and the row behind one of its paths, against their paths as text."""
    token_ids = [randomness.randrange(target.vocab_size // 2) for _ in range(size)]
    parents = [randomness.randint(-1, node - 1) for node in range(size)]
    kv = target.new_cache(len(ids) + size + 1)
    target.forward(ids[:-1], kv, 0)
    rows = target.forward([ids[-1], *token_ids], kv, size, (), parents).logits
    worst = 0.0
    for node in range(size):
        path = [*ancestors_of(node, parents), node]
        fresh = target.new_cache(len(ids) + size + 1)
        row = target.forward([*ids, *(token_ids[index] for index in path)], fresh, 1).logits[0]
        worst = max(worst, float((rows[node] - row).abs().max()))
    kv.accept(path, [token_ids[index] for index in path])
    behind = target.forward(ids[:1], kv, 1).logits
    return max(worst, float((behind - target.forward(ids[:1], fresh, 1).logits).abs().max()))
