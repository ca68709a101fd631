"""How a token is chosen from the logits. Torch-free, so that adapters can carry it."""

from __future__ import annotations

from dataclasses import dataclass

from completiond.errors import UsageError

__all__ = ["SamplingParams"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """``temperature`` 0 is greedy. ``top_k`` 0 and ``top_p`` 1.0 keep every token. ``seed`` keys all random numbers.

    Raises UsageError for a value outside its range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature <= 10.0:
            raise UsageError(
                f"temperature is {self.temperature}.", "Use a number from 0 (greedy) to 10.", "temperature"
            )
        if self.top_k < 0:
            raise UsageError(f"top_k is {self.top_k}.", "Use 0 (all tokens) or a positive number.", "top_k")
        if not 0.0 < self.top_p <= 1.0:
            raise UsageError(f"top_p is {self.top_p}.", "Use a number above 0 and up to 1 (all tokens).", "top_p")
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"seed is {self.seed}.", "Use a whole number from 0 to 2^63 - 1.", "seed")
