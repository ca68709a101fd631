"""Whether captured passes compute what eager ones do: logits against float32, greedy text with drafts and without."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from completiond.bench.gpu_shapes import make_reference
from completiond.cache.kv import KVCache
from completiond.engine.decoder import Decoder
from completiond.engine.generate import PREFILL_CHUNK_TOKENS, generate
from completiond.engine.graphs import GraphDecoder
from completiond.engine.sampling import Sampler
from completiond.engine.sampling_params import SamplingParams
from completiond.spec.drafter import Draft, Drafter, NoDrafter, TextDrafter, Verified

__all__ = ["GreedyCheck", "LogitsCheck", "check_greedy", "check_logits"]

CONTEXT_TOKENS = 460
"""The passes behind it cross the border between the first two buckets of keys."""
PASS_SIZES = (1, 2, 3, 4, 5, 8, 9, 16, 31, 32, 1, 2, 1)
ANSWER_TOKENS = 96
MAX_DRAFT_TOKENS = 31
WRONG_EVERY = (1, 3, 10, 1000)

MAX_ERROR_RATIO = 1.5
"""How much larger the graph's rounding error, root mean square, may be than the eager decoder's. Chosen, not
measured.
"""
NEAR_TIE_ERRORS = 8.0
"""Two logits are a near-tie when float32 has them no further apart than this many of the eager decoder's errors, root
mean square. Chosen, not measured on a GPU."""
FLOAT32_ERROR = 1e-5
"""What rounding may do in float32, of the logits' standard deviation: there the eager decoder has no error of its own.
"""


@dataclass(frozen=True, slots=True)
class LogitsCheck:
    """``rows`` rows of logits from passes of PASS_SIZES. Errors are root mean squares of the difference to float32.

    Of the ``differing_rows`` the greedy choice is another by graph than by eager pass; ``max_gap`` is how far float32
    has the two choices apart at most. ``near_tie`` is what may be; ``repeatable``: a pass again gives the same bits.
    """

    rows: int
    logits_std: float
    max_difference: float
    graph_error: float
    eager_error: float
    differing_rows: int
    max_gap: float
    near_tie: float
    repeatable: bool

    @property
    def passed(self) -> bool:
        """Graphs round no worse than eager passes, and where they choose otherwise it is a near-tie."""
        allowed = max(MAX_ERROR_RATIO * self.eager_error, FLOAT32_ERROR * self.logits_std)
        # The eager decoder is the yardstick, so it must be one: random logits would be off by more than all of them.
        return (
            self.graph_error <= allowed and self.eager_error < 0.5 * self.logits_std and self.max_gap <= self.near_tie
        )


def check_logits(graphs: GraphDecoder, decoder: Decoder) -> LogitsCheck:
    """Run the same random tokens through both in chains of PASS_SIZES, and at once in float32."""
    count = sum(PASS_SIZES)
    ids = random_ids(decoder.vocab_size, CONTEXT_TOKENS + count)
    wide = make_reference(decoder)
    expected = _logits(wide, wide.new_cache(len(ids)), ids, [count])
    eager = _logits(decoder, decoder.new_cache(2 * len(ids)), ids, PASS_SIZES)
    kv = graphs.new_cache(2 * len(ids))
    found = _logits(graphs, kv, ids, PASS_SIZES)
    kv.rollback(CONTEXT_TOKENS)
    repeatable = bool(torch.equal(found, _logits(graphs, kv, ids, PASS_SIZES)))
    std, eager_error = float(expected.std()), _rms(eager - expected)
    choices, other = found.argmax(-1, True), eager.argmax(-1, True)
    gaps = (expected.gather(-1, choices) - expected.gather(-1, other)).abs()
    return LogitsCheck(
        rows=count,
        logits_std=std,
        max_difference=float((found - eager).abs().max()),
        graph_error=_rms(found - expected),
        eager_error=eager_error,
        differing_rows=int((choices != other).sum()),
        max_gap=float(gaps.max()),
        near_tie=NEAR_TIE_ERRORS * max(eager_error, FLOAT32_ERROR * std),
        repeatable=repeatable,
    )


@dataclass(frozen=True, slots=True)
class GreedyCheck:
    """Plain text of ``tokens`` tokens, ``distinct`` ones among them, was decoded again with each drafter.

    Of ``accepted`` guesses out of ``drafted``; ``gaps`` are float32's differences of the two choices wherever a drafted
    run chose another token than the plain one, after which it was started again behind the plain one's token.
    """

    tokens: int
    distinct: int
    runs: int
    drafted: int
    accepted: int
    gaps: tuple[float, ...]
    near_tie: float

    @property
    def passed(self) -> bool:
        """Every difference was a near-tie, and guesses of both kinds occurred."""
        return all(gap <= self.near_tie for gap in self.gaps) and 0 < self.accepted < self.drafted


def check_greedy(graphs: GraphDecoder, decoder: Decoder, near_tie: float) -> GreedyCheck:
    """Plain decoding by graphs, and drafted decoding by graphs with drafts that are right to different degrees."""
    prompt = random_ids(decoder.vocab_size, CONTEXT_TOKENS, seed=1)
    kv = graphs.new_cache(CONTEXT_TOKENS + ANSWER_TOKENS + PREFILL_CHUNK_TOKENS)
    plain, _, _ = _answer(graphs, kv, prompt, NoDrafter(), ANSWER_TOKENS)
    wide = make_reference(decoder)
    rows: dict[int, Tensor] = {}  # float32 logits behind that many tokens of the plain text
    gaps: list[float] = []
    drafted = accepted = 0
    for wrong_every in WRONG_EVERY:
        place = 0
        while place < ANSWER_TOKENS:
            copyist = _Copyist(plain, place, wrong_every, decoder.vocab_size)
            found, num_drafted, num_accepted = _answer(
                graphs, kv, [*prompt, *plain[:place]], copyist, ANSWER_TOKENS - place
            )
            drafted, accepted = drafted + num_drafted, accepted + num_accepted
            pairs = zip(plain[place:], found, strict=True)
            same = next((index for index, (one, other) in enumerate(pairs) if one != other), len(found))
            if same < len(found):
                end = place + same
                if end not in rows:
                    text = [*prompt, *plain[:end]]
                    rows[end] = wide.forward(text, wide.new_cache(len(text)), 1).logits[0]
                gaps.append(abs(float(rows[end][found[same]] - rows[end][plain[end]])))
            place += same + 1
    return GreedyCheck(len(plain), len(set(plain)), len(WRONG_EVERY), drafted, accepted, tuple(gaps), near_tie)


class _Copyist(TextDrafter):
    """Guesses what follows in a known text, in random numbers, and each ``wrong_every``-th guess wrong."""

    def __init__(self, text: Sequence[int], place: int, wrong_every: int, vocab_size: int) -> None:
        self._text, self._place, self._wrong_every, self._vocab_size = text, place, wrong_every, vocab_size
        self._sizes = random.Random(wrong_every)

    def reset(self, context_ids: Sequence[int], other_ids: Sequence[Sequence[int]] = ()) -> None:
        """See Drafter.reset."""

    def propose(self, budget: int) -> Draft:
        """See Drafter.propose."""
        end = self._place + min(budget, self._sizes.randint(1, MAX_DRAFT_TOKENS))
        guesses = tuple(
            (self._text[place] + (place % self._wrong_every == 0)) % self._vocab_size
            for place in range(self._place, min(end, len(self._text)))
        )
        return Draft(guesses, (0.5,) * len(guesses), "copy")

    def observe(self, token_ids: Sequence[int], verified: Verified | None = None) -> None:
        """See Drafter.observe."""
        self._place += len(token_ids)


def random_ids(vocab_size: int, count: int, seed: int = 0) -> list[int]:
    """``count`` token ids, the same for the same arguments."""
    return random.Random(seed).choices(range(vocab_size), k=count)


def _answer(
    target: Decoder, kv: KVCache, prompt: Sequence[int], drafter: Drafter, max_tokens: int
) -> tuple[list[int], int, int]:
    """Greedy tokens, and how many guesses were drafted and accepted."""
    sampler = Sampler(SamplingParams())
    steps = list(generate(target, kv, prompt, drafter, sampler, lambda token_id: None, max_tokens, MAX_DRAFT_TOKENS))
    tokens = [token_id for step in steps for token_id in step.token_ids]
    return tokens, sum(step.drafted for step in steps), sum(step.accepted for step in steps)


def _logits(target: Decoder, kv: KVCache, ids: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Logits of all tokens behind the context, read in passes of ``sizes``."""
    if kv.num_tokens < CONTEXT_TOKENS:
        target.forward(ids[:CONTEXT_TOKENS], kv, 0)
    rows = []
    for size in sizes:
        rows.append(target.forward(ids[kv.num_tokens : kv.num_tokens + size], kv, size).logits)
    return torch.cat(rows)


def _rms(difference: Tensor) -> float:
    return float(difference.square().mean().sqrt())
