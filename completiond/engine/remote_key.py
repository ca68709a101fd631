"""The key of a remote engine: in the environment or in a file of its own, never in the settings, a log or an error."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from completiond.errors import ConfigError

__all__ = ["KEY_VARIABLE", "read_key"]

KEY_VARIABLE: Final = "COMPLETIOND_ENGINE_REMOTE_KEY"
MAX_KEY_CHARS: Final = 8192


def read_key(key_file: str, environment: Mapping[str, str]) -> str:
    """The key, "" where none is set. Raises ConfigError for a file that cannot be read, that others may read too, or
    for what cannot be a key.
    """
    if key := environment.get(KEY_VARIABLE, "").strip():
        return _checked(key, KEY_VARIABLE)
    if not key_file:
        return ""
    path = Path(key_file).expanduser()
    if not path.is_absolute():
        raise ConfigError(f"engine.remote_key_file is {key_file}.", "Write the whole path, from / or ~ on.")
    try:
        mode = path.stat().st_mode
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_KEY_CHARS + 1)
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"The key in {path} cannot be read: {what}.", "See engine.remote_key_file.") from None
    if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"Others may read the key in {path}.", f"chmod 600 {path}")
    return _checked(text.strip(), str(path))


def _checked(key: str, where: str) -> str:
    if not key or len(key) > MAX_KEY_CHARS or not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(f"What is in {where} is no key.", "It has to be one word of ASCII letters, digits and signs.")
    return key
