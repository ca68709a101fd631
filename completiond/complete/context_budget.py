"""How much of a document is read for an answer: all that the settings want, or what can be read in time.

On a slow machine a large context makes the first answer in a file wait for many seconds. So of a few sizes the largest
is taken whose unread part takes no longer than allowed; what the cache holds costs nothing. The rest is read in a quiet
moment (quiet.py), after which the largest is the one that is taken. What other files have to say is given up first: the
text around the cursor says more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from completiond.complete.prompt import Prompt, PromptBudget

__all__ = ["LEVELS", "ReadingTime", "fit_prompt"]

LEVELS = (1.0, 0.5, 0.25, 0.125)
"""Sizes of context, as shares of what the settings want: few, because another size begins at another line, and is then
read from its first token. Chosen, not measured.
"""
MIN_OBSERVED_TOKENS = 64
"""A shorter pass costs more per token than a prompt does."""
STEP = 0.2
"""Weight of a new pass in the running mean."""


class ReadingTime:
    """Milliseconds that a token of a prompt takes on this machine: first as measured, then a running mean."""

    def __init__(self, ms_per_token: float) -> None:
        """Raises ValueError unless ``ms_per_token`` is positive."""
        if not ms_per_token > 0.0:
            raise ValueError(f"{ms_per_token} ms per token")
        self.ms_per_token = ms_per_token

    def observe(self, num_tokens: int, pass_ms: float) -> None:
        """A pass of ``num_tokens`` of a prompt took ``pass_ms``; a short one tells nothing."""
        if num_tokens >= MIN_OBSERVED_TOKENS:
            self.ms_per_token += STEP * (pass_ms / num_tokens - self.ms_per_token)

    def ms(self, num_tokens: int) -> float:
        """Expected time to read ``num_tokens``."""
        return num_tokens * self.ms_per_token


def fit_prompt(
    build: Callable[[PromptBudget], Prompt],
    most: PromptBudget,
    num_unread: Callable[[Prompt], int],
    reading: ReadingTime,
    max_read_ms: float,
) -> Prompt:
    """The prompt of the largest level of ``most`` that can be read in ``max_read_ms``, or of the smallest one.

    ``num_unread``: how many of a prompt's tokens the cache does not hold.
    """
    own_share = 1.0
    levels = [(most, 1.0)]
    if most.context_tokens:
        own_tokens = most.prefix_tokens + most.suffix_tokens
        own_share = own_tokens / (own_tokens + most.context_tokens)
    for level in LEVELS[0 if most.context_tokens else 1 :]:
        budget = PromptBudget(int(most.prefix_tokens * level), int(most.suffix_tokens * level))
        levels.append((budget, level * own_share))
    for budget, share in levels:
        prompt = replace(build(budget), context_share=share)
        # What the cache holds need only be looked for where all would take too long.
        if reading.ms(len(prompt.token_ids)) <= max_read_ms or reading.ms(num_unread(prompt)) <= max_read_ms:
            break
    return prompt
