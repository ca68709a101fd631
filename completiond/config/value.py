"""Whether one value is right for a setting, and in plain words why not."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from completiond.config.problem import shown
from completiond.config.setting import Setting, Value

__all__ = ["checked", "from_text"]

_SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def checked(setting: Setting, value: Any) -> Value:
    """``value``, with a list as a tuple. Nothing is taken for what it is not: true is no number, "1" is none either.

    Raises ValueError that names the setting, what it allows and what was found.
    """
    members = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(member, str) and not _is_plain(member) for member in members):
        raise ValueError(f"{setting} may not hold control characters (found {shown(value)})")
    try:
        return setting.check.validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    if first["type"] == "value_error":  # ours: it says itself what was found
        raise ValueError(f"{setting}: {first['ctx']['error']}".rstrip("."))
    raise ValueError(f"{setting} must be {setting.allowed()} (found {shown(value)})")


def from_text(setting: Setting, text: str) -> Value:
    """A value written as an environment variable, which has no types: lists are divided by commas.

    Raises ValueError as ``checked`` does.
    """
    value: Any = text
    if setting.kind == "switch":
        value = _SWITCH.get(text.strip().lower(), text)
    elif setting.kind == "number" and text.strip().lstrip("-").isdecimal() and len(text) < 20:
        value = int(text)
    elif setting.kind == "list":
        value = [part for part in map(str.strip, text.split(",")) if part]
    return checked(setting, value)


def _is_plain(text: str) -> bool:
    return not any(ord(character) < 32 or ord(character) == 127 for character in text)
