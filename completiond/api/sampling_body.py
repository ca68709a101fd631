"""The fields that say how tokens are chosen and where an answer ends; all families of clients share most of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from completiond.api.body import Body
from completiond.api.fields import StopField
from completiond.complete.limits import Limits
from completiond.engine.sampling_params import SamplingParams

__all__ = ["MAX_CHOICES", "SamplingBody", "choices"]

MAX_CHOICES: Final = 8
"""Who asks for more different answers gets so many."""

_NEUTRAL: Final = MappingProxyType({
    "frequency_penalty": 0, "presence_penalty": 0, "repeat_penalty": 1, "min_p": 0, "typical_p": 1, "mirostat": 0,
    "logit_bias": None, "grammar": "", "json_schema": None, "lora": None, "xtc_probability": 0, "dry_multiplier": 0,
})  # fmt: skip
"""Fields that are not followed, with the values, besides 0 and empty ones, at which that changes nothing."""


class SamplingBody(Body):
    """Without a temperature the likeliest token is taken, and always the same without a seed."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    stop: StopField = ()
    stream: bool = False
    frequency_penalty: Any = None
    presence_penalty: Any = None
    repeat_penalty: Any = None
    min_p: Any = None
    typical_p: Any = None
    mirostat: Any = None
    logit_bias: Any = None
    grammar: Any = None
    json_schema: Any = None
    lora: Any = None
    xtc_probability: Any = None
    dry_multiplier: Any = None

    @property
    def sampling(self) -> SamplingParams:
        """Raises UsageError for a value that cannot be."""
        drawn = SamplingParams(self.temperature, self.top_k, self.top_p, max(0, self.seed) % 2**63)
        # At 0 whatever the rest says, so that equal questions are seen to be equal.
        return drawn if self.temperature else SamplingParams()

    @property
    def stops(self) -> tuple[str, ...]:
        """Those that are not empty, with our line ends."""
        return tuple(word.replace("\r\n", "\n") for word in self.stop if word)

    def limits(self, max_tokens: int | None, min_indent: int = 0, max_write_ms: float = 0.0) -> Limits:
        """With what the fields here say. ``max_tokens`` -1 is the same as None."""
        most = None if max_tokens is None or max_tokens < 0 else max_tokens
        return Limits(most, self.stops, max(0, min_indent), max(0.0, max_write_ms))

    @property
    def ignored(self) -> list[str]:
        """Fields that were sent, would change the answer, and do not."""
        sent = {name: getattr(self, name) for name in _NEUTRAL}
        unused = [name for name, value in sent.items() if value and value != _NEUTRAL[name]]
        return [*unused, *(name for name, count in self.counts.items() if count is not None and count > MAX_CHOICES)]

    @property
    def counts(self) -> Mapping[str, int | None]:
        """Fields that say how many answers are wanted; of more than MAX_CHOICES the rest is ignored."""
        return {}


def choices(wanted: int) -> int:
    """How many different answers are looked for."""
    return min(max(1, wanted), MAX_CHOICES)
