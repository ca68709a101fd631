"""What a service asks about a model on this machine (AnyCompleter), read off what was loaded."""

from __future__ import annotations

from typing import Any

from completiond.cache.kv import SequenceCache
from completiond.complete.memory_plan import MemoryPlan
from completiond.config import Config

__all__ = ["OwnModel"]


class OwnModel:
    """Base of Completer, which says what these are."""

    writes_ahead = True
    config: Config
    target: Any
    kv: SequenceCache
    memory: MemoryPlan | None

    @property
    def name(self) -> str:
        """See AnyCompleter.name."""
        return self.config.model.name

    @property
    def device_name(self) -> str:
        """See AnyCompleter.device_name."""
        return str(self.target.device)

    @property
    def dtype_name(self) -> str:
        """See AnyCompleter.dtype_name."""
        return str(self.target.dtype_name)

    @property
    def context_tokens(self) -> int:
        """See AnyCompleter.context_tokens."""
        return self.kv.capacity_tokens

    @property
    def given_up(self) -> tuple[str, ...]:
        """See AnyCompleter.given_up."""
        return self.memory.given_up if self.memory is not None else ()

    def connect(self) -> None:
        """See AnyCompleter.connect. What was loaded stays."""

    def close(self) -> None:
        """See AnyCompleter.close. There are no connections."""

    def forget_texts(self) -> None:
        """See AnyCompleter.forget_texts."""
        self.kv.forget()
