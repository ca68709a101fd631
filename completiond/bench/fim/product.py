"""What completiond answers at a hole, and what the same model would have written there without its stop rules."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from completiond.bench.fim.cut import cut_to_reference, has_reference_lines
from completiond.bench.fim.hole import FimHole
from completiond.bench.fim.score import FimAnswer
from completiond.complete.completer import Completer
from completiond.complete.place import Place
from completiond.complete.request import Completion, CompletionRequest
from completiond.engine.generate import generate
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Drafter

__all__ = ["ORACLE", "PRODUCT", "ask_completer"]

PRODUCT: Final = "completiond"
ORACLE: Final = "oracle cut"
_CLIENT: Final = "fim"
_GREEDY: Final = SamplingParams(temperature=0.0)


def ask_completer(hole: FimHole, completer: Completer, max_tokens: int) -> Mapping[str, FimAnswer]:
    """The product's answer, with the file open in an editor, and the raw text cut where the reference ends.

    Both have at most ``max_tokens``. Raises UsageError where so many do not fit.
    """
    key = (_CLIENT, hole.name)
    completer.dictionary.open(key, (hole.prefix + hole.suffix).split("\n"))
    try:
        request = CompletionRequest(
            hole.prefix, hole.suffix, client_id=_CLIENT, document_id=hole.name, max_tokens=max_tokens, sampling=_GREEDY
        )
        *_, completion = completer.run(request, time.perf_counter())
        assert isinstance(completion, Completion)
        drafter = completer.drafters.get("auto", completer.dictionary.draft_text(key, hole.prefix.count("\n")))
        raw = _write_raw(hole, request, completer, drafter, max_tokens)
    finally:
        completer.dictionary.close(key)
    # A single pass has no time per token: it also read the prompt.
    shown = FimAnswer(completion.text, len(completion.token_ids), completion.ms_per_token or None)
    return {PRODUCT: shown, ORACLE: FimAnswer(cut_to_reference(raw, hole))}


def _write_raw(
    hole: FimHole, request: CompletionRequest, completer: Completer, drafter: Drafter, max_tokens: int
) -> str:
    """Up to an end token or ``max_tokens``, but no further than ``cut_to_reference`` looks.

    Blanks that are too many at the beginning are dropped as the product drops them: that is no stop rule.
    """
    prompt = completer.prompt(request, max_tokens)
    drops_margin = Place.of(hole.prefix, hole.suffix).drops_margin
    stream = completer.tokenizer.stream()
    text = ""

    def push(token_id: int) -> str | None:
        nonlocal text
        if token_id in completer.tokenizer.stop_ids:
            return "eos"
        text += stream.push(token_id)
        text = text.lstrip(" \t") if drops_margin else text
        return "lines" if has_reference_lines(text, hole) else None

    drafter.reset(prompt.prefix_ids, (prompt.suffix_ids,))
    for _ in generate(
        completer.target, completer.kv, prompt.token_ids, drafter, Sampler(_GREEDY), push, max_tokens,
        completer.config.spec.max_draft_tokens, completer.policy,
    ):  # fmt: skip
        pass
    return text
