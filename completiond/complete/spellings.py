"""What bytes the tokens of a vocabulary write, read off the entries and the way they are decoded."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tokenizers import Tokenizer

__all__ = ["begins_with_blank", "token_spellings"]

_BYTE_FALLBACK: Final = re.compile(r"<0x([0-9A-F]{2})>")
_BLANK: Final = "▁"


def token_spellings(tokenizer: Tokenizer) -> dict[int, bytes] | None:
    """For each id, the bytes of UTF-8 text that it writes behind other text: a part of a character is possible.

    Of vocabularies with byte-level entries, and of those that write blanks as ``▁``; None for any other, in which what
    a token writes depends on its neighbours.
    """
    added = {index: token.content for index, token in tokenizer.get_added_tokens_decoder().items()}
    entries = {index: content for content, index in tokenizer.get_vocab(with_added_tokens=True).items()}
    steps = _steps(json.loads(tokenizer.decoder.__getstate__())) if tokenizer.decoder is not None else []
    kinds = {step["type"] for step in steps}
    spelled: dict[int, bytes] = {}
    if "ByteLevel" in kinds:
        table = _byte_table()
        for index, content in entries.items():
            try:
                spelled[index] = content.translate(table).encode("latin-1")
            except UnicodeEncodeError:  # nothing that a text encodes to
                continue
    elif "Metaspace" in kinds or any(step["type"] == "Replace" and step["content"] == " " for step in steps):
        for index, content in entries.items():
            byte = _BYTE_FALLBACK.fullmatch(content) if "ByteFallback" in kinds else None
            spelled[index] = bytes([int(byte[1], 16)]) if byte else content.replace(_BLANK, " ").encode()
    else:
        return None
    return spelled | {index: content.encode() for index, content in added.items()}


def begins_with_blank(tokenizer: Tokenizer) -> bool:
    """Whether a blank that is not there is put in front of a text."""
    ids = tokenizer.encode("a", add_special_tokens=False).ids
    first = tokenizer.id_to_token(ids[0]) if ids else None
    return first is not None and first.startswith((_BLANK, "Ġ"))


def _steps(decoder: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for one in decoder["decoders"] for step in _steps(one)] if "decoders" in decoder else [decoder]


def _byte_table() -> dict[int, str]:
    """From the characters that stand for bytes to characters of the byte's number: those that can be seen stand for
    themselves, all others for one of the characters from 256 on, in their order (GPT-2, ``bytes_to_unicode``).
    """
    seen = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    hidden = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {256 + place: chr(byte) for place, byte in enumerate(hidden)}
