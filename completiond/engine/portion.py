"""A portion of an answer as a server of OpenAI's completions sends it, in a stream or all at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

__all__ = ["FAILED", "Portion", "portion_of"]

FAILED: Final = "error"
"""How an answer ends that a server cannot go on with."""


@dataclass(frozen=True, slots=True)
class Portion:
    """``finish``: why the answer ends behind it, as the server calls that; "" where it goes on."""

    text: str
    finish: str


def portion_of(data: str) -> Portion | None:
    """From one JSON object; None for one without text, such as the counts at the end.

    ``choices[0].text``, or where a server has its fill-in-the-middle from chat, ``delta`` or ``message``. Raises
    ValueError for what is none of these.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deep") from None
    choices = value.get("choices") if isinstance(value, dict) else None
    if isinstance(value, dict) and value.get("error"):
        return Portion("", FAILED)
    if not isinstance(choices, list):
        raise ValueError("no choices")
    if not choices:
        return None
    first = choices[0]
    if not isinstance(first, dict):
        raise ValueError("a choice is no object")
    text = first.get("text")
    if text is None:
        chat = first.get("delta") or first.get("message") or {}
        text = chat.get("content") if isinstance(chat, dict) else None
    finish = first.get("finish_reason")
    if not isinstance(text, str | None) or not isinstance(finish, str | None):
        raise ValueError("text or finish_reason is no string")
    # Half a character of UTF-16 can be sent, and nothing be done with it.
    text = (text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Portion(text, finish or "")
