"""Whether what was read of the text behind the cursor is moved while the user types, or read again."""

from __future__ import annotations

from completiond.cache.kv import KVCache, SequenceCache
from completiond.cache.shift import SuffixShift
from completiond.config import Config
from completiond.errors import ConfigError

__all__ = ["suffix_shift"]


def suffix_shift(kv: SequenceCache, config: Config, device_type: str) -> SuffixShift | None:
    """What moves it in ``kv``; None where it is read again.

    Raises ConfigError where shifting is asked for and cannot be done.
    """
    if config.cache.suffix == "exact" or (config.cache.suffix == "auto" and device_type != "cpu"):
        return None
    if isinstance(kv, KVCache) and kv.rope_theta is not None:
        return SuffixShift(kv)
    if config.cache.suffix == "auto":
        return None
    raise ConfigError(
        f"cache.suffix is shift, and {config.model.name} does not run on the fast decoder.", "Set it to auto or exact."
    )
