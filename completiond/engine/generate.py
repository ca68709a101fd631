"""The decode loop: draft, verify, accept, emit, roll back, observe. Token ids only; it knows no text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from completiond.cache.shift import SuffixShift
from completiond.engine.sampling import Sampler, log_probabilities
from completiond.engine.target import CacheT, TargetModel
from completiond.spec.drafter import Drafter, Verified
from completiond.spec.policy import FixedPolicy, Policy
from completiond.spec.usable import usable
from completiond.spec.verify import verify

__all__ = ["PREFILL_CHUNK_TOKENS", "Step", "generate", "read_prompt"]

PREFILL_CHUNK_TOKENS = 256
"""A long prompt is read in pieces of this size, so that a cancelled request stops within one of them."""

QUIET_CHUNK_TOKENS = 64
"""A prompt that nobody waits for is read in pieces of this size, so that who asks meanwhile does not wait for long."""

StopCheck = Callable[[int], str | None]
"""Told each new token in order; a reason ends the answer. ``eos``-like reasons keep that token out of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one pass did. ``token_ids`` are the new tokens of the answer; the first ``accepted`` came from the draft.

    ``cached_tokens`` of the prompt were there, and ``moved_tokens`` more were moved to their places and not read.
    ``computed_tokens`` were read or checked in this pass. ``draft_ms`` is the part of ``pass_ms`` in which the draft
    was made. ``stop_reason`` is set on the last step. A piece of prefill has no tokens. ``logprobs``: of each of
    ``token_ids``, what the model gave it (natural logarithm), at temperature 1.
    """

    token_ids: tuple[int, ...]
    source: str
    drafted: int
    accepted: int
    pass_ms: float
    cached_tokens: int
    stop_reason: str | None = None
    origin: str = ""
    draft_ms: float = 0.0
    moved_tokens: int = 0
    computed_tokens: int = 0
    logprobs: tuple[float, ...] = ()


def generate(
    target: TargetModel[CacheT],
    kv: CacheT,
    prompt_ids: Sequence[int],
    drafter: Drafter,
    sampler: Sampler,
    stop: StopCheck,
    max_tokens: int,
    max_draft_tokens: int,
    policy: Policy | None = None,
    shift: SuffixShift | None = None,
    movable: range = range(0),
) -> Iterator[Step]:
    """Continue ``prompt_ids``, reusing what ``kv`` already holds of them; one Step per pass of the target.

    ``policy`` decides how much of a draft is checked; None checks all of it. With ``shift``, the rows of the prompt's
    places ``movable`` may be those of the last prompt, moved. The caller ends an answer early by closing the iterator:
    the cache then holds only tokens that are part of the sequence. Raises ValueError for an empty prompt or answer, and
    when both cannot fit into the cache.
    """
    if not prompt_ids or max_tokens < 1:
        raise ValueError(f"{len(prompt_ids)} tokens of prompt and {max_tokens} of answer are not enough")
    if len(prompt_ids) + max_tokens > kv.capacity_tokens:
        raise ValueError(f"{len(prompt_ids)} + {max_tokens} tokens do not fit into {kv.capacity_tokens}")
    policy = policy or FixedPolicy()
    cached_tokens, move = (kv.reuse(prompt_ids), None) if shift is None else shift.reuse(prompt_ids, movable)
    drafter.begin(prompt_ids, cached_tokens, move)
    start, moved_tokens = cached_tokens, 0
    if shift is not None and move is not None:
        yield from _read(target, kv, drafter, prompt_ids[start : move.start], cached_tokens, PREFILL_CHUNK_TOKENS)
        shift.place(move)
        start, moved_tokens = move.end, move.length
    num_whole = (len(prompt_ids) - 1 - start) // PREFILL_CHUNK_TOKENS * PREFILL_CHUNK_TOKENS
    yield from _read(target, kv, drafter, prompt_ids[start : start + num_whole], cached_tokens, PREFILL_CHUNK_TOKENS)
    pending = list(prompt_ids[start + num_whole :])
    num_emitted = 0

    while True:
        started = time.perf_counter()
        # Draft: never past the answer's length (the pass itself adds one token), never an id the target does not have,
        # and no more than is worth checking.
        budget = min(max_draft_tokens, max_tokens - num_emitted - 1)
        proposed = usable(drafter.propose(budget), budget, target.vocab_size, target.trees)
        draft = policy.trim(proposed)
        draft_ms = (time.perf_counter() - started) * 1e3

        # Verify: one pass over what the cache lacks and the draft.
        num_pending = len(pending)
        result = target.forward(
            [*pending, *draft.token_ids], kv, len(draft.token_ids) + 1, drafter.feature_layers, draft.parents
        )

        # Accept: the target's own token at each place, as long as the draft guessed it.
        num_known = kv.num_tokens - (0 if draft.parents else len(draft.token_ids))
        tokens, path = verify(result.logits, draft, sampler, position=num_known)

        # Emit: token by token, inside a block too; what lies past a stop does not exist.
        emitted, reason = _emit(tokens, stop, max_tokens - num_emitted)
        num_emitted += len(emitted)
        rows = [0, *(node + 1 for node in path)][: len(emitted)]
        logprobs = log_probabilities(result.logits, rows, emitted) if emitted else []

        # Roll back: keep the rows of accepted tokens; the newest token, the target's own, has none yet.
        del path[len(emitted) :]
        if draft.parents:
            kv.accept(path, emitted[: len(path)])
        else:
            kv.rollback(num_known + len(path))
        pending = tokens[-1:]

        # Observe. A pass that also read prompt says nothing about the time of checking.
        if result.features is not None:
            drafter.read(result.features[[*range(num_pending), *(num_pending + node for node in path)]])
        if emitted:
            drafter.observe(emitted, Verified(draft, tuple(path), result.logits))
        pass_ms = (time.perf_counter() - started) * 1e3
        policy.observe(proposed, draft, tokens, pass_ms, timed=num_pending == 1)
        yield Step(
            tuple(emitted), draft.source, draft.num_guesses, len(path), pass_ms, cached_tokens, reason, draft.origin,
            draft_ms, moved_tokens, num_pending + len(draft.token_ids), tuple(logprobs),
        )  # fmt: skip
        if reason is not None:
            return


def read_prompt(
    target: TargetModel[CacheT],
    kv: CacheT,
    prompt_ids: Sequence[int],
    drafter: Drafter,
    shift: SuffixShift | None = None,
    movable: range = range(0),
) -> Iterator[Step]:
    """Have ``kv`` hold all of a prompt but its last token, none of it moved, in small pieces; one Step for each.

    The caller may close the iterator: the cache then holds a beginning. Raises ValueError for an empty prompt.
    """
    if not prompt_ids:
        raise ValueError("there is nothing to read")
    cached_tokens = kv.reuse(prompt_ids) if shift is None else shift.reuse_exact(prompt_ids)
    drafter.begin(prompt_ids, cached_tokens, None)
    yield from _read(target, kv, drafter, prompt_ids[cached_tokens:-1], cached_tokens, QUIET_CHUNK_TOKENS)
    if shift is not None:
        shift.note(prompt_ids, movable)


def _read(
    target: TargetModel[CacheT],
    kv: CacheT,
    drafter: Drafter,
    token_ids: Sequence[int],
    cached_tokens: int,
    piece_tokens: int,
) -> Iterator[Step]:
    """Read a part of the prompt, piece by piece."""
    for begin in range(0, len(token_ids), piece_tokens):
        started = time.perf_counter()
        piece = token_ids[begin : begin + piece_tokens]
        result = target.forward(piece, kv, 0, drafter.feature_layers)
        if result.features is not None:
            drafter.read(result.features)
        pass_ms = (time.perf_counter() - started) * 1e3
        yield Step((), "model", 0, 0, pass_ms, cached_tokens, computed_tokens=len(piece))


def _emit(tokens: Sequence[int], stop: StopCheck, room: int) -> tuple[list[int], str | None]:
    """The tokens that become part of the answer, and why it ends there, if it does."""
    emitted: list[int] = []
    for token_id in tokens:
        reason = stop(token_id)
        if reason == "eos":
            return emitted, reason
        emitted.append(token_id)
        if reason is not None:
            return emitted, reason
        if len(emitted) == room:
            return emitted, "length"
    return emitted, None
