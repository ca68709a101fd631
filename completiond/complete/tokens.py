"""Text to token ids and back, with control tokens kept apart from text.

A user's file may spell ``<|fim_middle|>``. Encoded naively it would become the control token and rewrite the prompt,
so text is always encoded as text, control tokens are placed by id only, and a generated control token ends the
answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

__all__ = ["TextStream", "TextTokenizer"]

_MARKER = re.compile(r"▁?[<\[].*[>\]]", re.DOTALL)
"""What a control token looks like; other added tokens (runs of blanks, say) are ordinary text."""


class TextTokenizer:
    """A model's tokenizer. ``control_ids`` never come from text and are never shown; ``stop_ids`` end an answer."""

    def __init__(self, tokenizer: Tokenizer, config: Mapping[str, Any], vocab_size: int) -> None:
        added = tokenizer.get_added_tokens_decoder()
        controls = {
            index: token.content for index, token in added.items() if token.special or _is_marker(token.content)
        }
        if any(not added[index].special for index in controls):
            tokenizer = _with_special(tokenizer, controls)
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._controls = controls
        self._bos_ids = self._find_bos(config)
        self.control_ids = frozenset(controls)
        # Vocabularies are padded to round numbers; an id without a token cannot be shown either.
        self.stop_ids = self.control_ids | _eos_ids(config) | frozenset(range(tokenizer.get_vocab_size(), vocab_size))

    @property
    def bos_ids(self) -> list[int]:
        """What every prompt of this model begins with: one id, or none."""
        return list(self._bos_ids)

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text`` as text: never a control token, whatever it spells."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        if self.control_ids.isdisjoint(ids):
            return ids
        # A vocabulary may hold a marker as an ordinary entry too: break each spelling after its first character.
        spelled = "|".join(re.escape(content) for content in self._controls.values())
        pieces = re.split(f"(?<=(?=(?:{spelled})).)", text) if spelled else [text]
        return [index for piece in pieces for index in self._tokenizer.encode(piece, add_special_tokens=False).ids]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[int]]:
        """Token ids of ``text`` and, for each, the character offset where it begins."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, [start for start, _ in encoding.offsets]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of whole tokens; incomplete characters at the end become U+FFFD."""
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text

    def control_id(self, content: str) -> int | None:
        """Id of the token that is spelled ``content``, when it is one token of the vocabulary."""
        index: int | None = self._tokenizer.token_to_id(content)
        return index

    def stream(self) -> TextStream:
        """A decoder that is fed one token at a time."""
        return TextStream(self._tokenizer)

    def _find_bos(self, config: Mapping[str, Any]) -> list[int]:
        if "add_bos_token" in config:
            bos = config.get("bos_token_id")
            return [int(bos)] if config["add_bos_token"] and bos is not None else []
        ids: list[int] = self._tokenizer.encode("", add_special_tokens=True).ids
        return ids[:1]


class TextStream:
    """Text as tokens come: a character is released when its last byte is there."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)

    def push(self, token_id: int) -> str:
        """The text that ``token_id`` completes, possibly none."""
        return self._stream.step(self._tokenizer, token_id) or ""


def _is_marker(content: str) -> bool:
    return len(content) > 2 and _MARKER.fullmatch(content) is not None


def _with_special(tokenizer: Tokenizer, controls: Mapping[int, str]) -> Tokenizer:
    """A copy in which all of ``controls`` are special: some vocabularies declare FIM markers as ordinary added
    tokens.
    """
    data = json.loads(tokenizer.to_str())
    for token in data["added_tokens"]:
        token["special"] = token["id"] in controls
    return Tokenizer.from_str(json.dumps(data))


def _eos_ids(config: Mapping[str, Any]) -> frozenset[int]:
    eos = config.get("eos_token_id")
    if eos is None:
        return frozenset()
    return frozenset(eos) if isinstance(eos, list) else frozenset((int(eos),))
