"""How long passes take on a GPU, and how long the memory alone would take: weights read per pass, over bandwidth."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import torch

from completiond.engine.decoder import Decoder
from completiond.engine.generate import PREFILL_CHUNK_TOKENS
from completiond.engine.graphs import GraphDecoder
from completiond.engine.measure import PassTimer
from completiond.engine.static_pass import TOKEN_BUCKETS

__all__ = ["Times", "copy_bytes_per_s", "measure_times"]

CONTEXT_TOKENS = 440
"""With a pass, or PLAIN_TOKENS, behind it still in the smallest bucket of keys."""
PLAIN_TOKENS = 48
PREFILL_TOKENS = (512, 2048)
ROUNDS = 7
COPY_BYTES = {"cuda": 1 << 30, "cpu": 1 << 25}
COPY_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Times:
    """Medians of ROUNDS rounds. A pass ends when the host has the greedy choice at each of its tokens.

    ``pass_ms``: milliseconds of a graph by its tokens, T(M). ``prefill_tokens_per_s`` by length of prompt, read in
    pieces as the decode loop does. ``capture_ms``: the longest first pass of any bucket, with its capture.
    """

    graph_ms_per_token: float
    eager_ms_per_token: float
    pass_ms: dict[str, float]
    prefill_tokens_per_s: dict[str, float]
    capture_ms: float
    captured_passes: int


def copy_bytes_per_s(device: torch.device) -> float:
    """Device-to-device copy, bytes read plus bytes written per second: the fastest of COPY_ROUNDS copies."""
    source = torch.ones(COPY_BYTES[device.type], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    best_s = float("inf")
    for _ in range(COPY_ROUNDS):
        _synchronise(device)
        started = time.perf_counter()
        target.copy_(source)
        _synchronise(device)
        best_s = min(best_s, time.perf_counter() - started)
    return 2 * source.numel() / best_s


class _GpuTimer(PassTimer):
    """Plain decoding and prefill besides, all with one cache, because graphs belong to one."""

    def __init__(self, target: Decoder) -> None:
        super().__init__(target, CONTEXT_TOKENS, max(PREFILL_TOKENS) - CONTEXT_TOKENS + max(TOKEN_BUCKETS))

    def plain_ms_per_token(self) -> float:
        """PLAIN_TOKENS single passes, each of the token that the last one chose."""
        self.kv.rollback(self.context_tokens)

        def decode() -> None:
            token_id = 0
            for _ in range(PLAIN_TOKENS):
                token_id = int(self.target.forward([token_id], self.kv, num_logits=1).logits[0].argmax())

        return self.timed_ms(decode) / PLAIN_TOKENS

    def prefill_tokens_per_s(self, num_tokens: int) -> float:
        """A prompt of that length, on an empty cache, up to the logits behind it."""
        self.kv.rollback(0)
        ids = self.tokens(num_tokens)

        def read() -> None:
            for begin in range(0, num_tokens, PREFILL_CHUNK_TOKENS):
                piece = ids[begin : begin + PREFILL_CHUNK_TOKENS]
                self.target.forward(piece, self.kv, num_logits=int(begin + len(piece) == num_tokens))

        return num_tokens * 1e3 / self.timed_ms(read)


def measure_times(graphs: GraphDecoder, decoder: Decoder, rounds: int = ROUNDS) -> Times:
    """Time both on random tokens, in interleaved rounds behind one that warms up and captures."""
    timer, eager = _GpuTimer(graphs), _GpuTimer(decoder)
    eager.read_context()
    samples: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        samples.setdefault(name, []).append(value)

    for _ in range(rounds + 1):
        for num_tokens in PREFILL_TOKENS:
            note(f"prefill {num_tokens}", timer.prefill_tokens_per_s(num_tokens))
        timer.kv.rollback(CONTEXT_TOKENS)
        for bucket in TOKEN_BUCKETS:
            note(f"pass {bucket}", timer.verify_ms(bucket))
        note("graph", timer.plain_ms_per_token())
        note("eager", eager.plain_ms_per_token())
    medians = {name: statistics.median(values[1:]) for name, values in samples.items()}
    return Times(
        graph_ms_per_token=medians["graph"],
        eager_ms_per_token=medians["eager"],
        pass_ms={str(bucket): medians[f"pass {bucket}"] for bucket in TOKEN_BUCKETS},
        prefill_tokens_per_s={str(num_tokens): medians[f"prefill {num_tokens}"] for num_tokens in PREFILL_TOKENS},
        capture_ms=max(samples[f"pass {bucket}"][0] for bucket in TOKEN_BUCKETS),
        captured_passes=graphs.captured_passes,
    )


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
