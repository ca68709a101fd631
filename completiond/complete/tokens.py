"""Text to token ids and back, with control tokens kept apart from text.

A user's file may spell ``<|fim_middle|>``. Encoded naively it would become the control token and rewrite the prompt,
so text is always encoded as text, control tokens are placed by id only, and a generated control token ends the
answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from tokenizers import Tokenizer

from completiond.complete.families import FAMILIES
from completiond.complete.spellings import begins_with_blank, token_spellings
from completiond.complete.text_stream import TextStream
from completiond.errors import UsageError

__all__ = ["CHARS_PER_TOKEN", "TextTokenizer"]

CHARS_PER_TOKEN = 8
"""More characters per token than code ever has: text farther away than this is not even tokenised."""

_ANCHOR: Final = "☺"
_MARKER = re.compile(r"▁?[<\[].+[>\]]", re.DOTALL)
_HTML_TAG = re.compile(r"</?[a-z]+[1-6]?>")
"""Added tokens that look like a marker are control tokens whatever they are declared to be; others, such as runs of
blanks and the HTML tags of some vocabularies, are ordinary text.
"""


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
        # Some vocabularies hold the markers of their fill-in-the-middle family as ordinary entries.
        markers = {token for family in FAMILIES for token in (family.prefix, family.suffix, family.middle) if token}
        for family in FAMILIES:
            if all(tokenizer.token_to_id(token) is not None for token in family.required):
                markers.update(family.control_tokens)
        controls |= {index: marker for marker in markers if (index := tokenizer.token_to_id(marker)) is not None}
        self._tokenizer = tokenizer
        self._controls = {index: content for index, content in controls.items() if index < vocab_size}
        self.control_ids = frozenset(controls)
        self._bos_ids = self._find_bos(config)
        self._anchor = self._plainly(_ANCHOR)
        self.puts_blank = begins_with_blank(tokenizer)
        """Whether what a text begins with is encoded with a blank in front of it that is not there."""
        # Vocabularies are padded to round numbers; an id without a token cannot be shown either.
        padding = set(range(vocab_size)).difference(tokenizer.get_vocab(with_added_tokens=True).values())
        self.vocab_size = vocab_size
        self.stop_ids = self.control_ids | _eos_ids(config) | padding

    @property
    def bos_ids(self) -> list[int]:
        """What every prompt of this model begins with: control tokens, mostly one or none."""
        return list(self._bos_ids)

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text`` as text: never a control token, whatever it spells."""
        return self._encode(text, self._plainly)

    def encode_inside(self, text: str) -> list[int]:
        """Token ids of ``text`` inside another one: without the blank that some tokenizers put before a text."""
        return self._encode(text, self._behind_anchor)

    def encode_with_controls(self, text: str) -> list[int]:
        """Token ids of ``text`` in which what spells a control token is that token."""
        by_spelling = {content: index for index, content in self._controls.items()}
        longest_first = sorted(by_spelling, key=len, reverse=True)
        if not longest_first:
            return self.encode(text)
        first, *rest = re.split(f"({'|'.join(map(re.escape, longest_first))})", text)
        ids = self.encode(first) if first else []
        for control, piece in zip(rest[::2], rest[1::2], strict=True):
            ids.append(by_spelling[control])
            ids += self.encode_inside(piece) if piece else []
        return ids

    def _encode(self, text: str, encode: Callable[[str], list[int]]) -> list[int]:
        ids = encode(text)
        if self.control_ids.isdisjoint(ids):
            return ids
        # A vocabulary can spell a marker by its ordinary entries too: break each spelling behind its second character.
        spelled = "|".join(re.escape(content).replace("▁", "[▁ ]") for content in self._controls.values())
        first, *others = re.split(f"(?s)(?<=(?=(?:{spelled}))..)", text)
        ids = [*encode(first), *(index for piece in others for index in self._behind_anchor(piece))]
        return [index for index in ids if index not in self.control_ids]

    def _plainly(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _behind_anchor(self, text: str) -> list[int]:
        """Behind a character that joins nothing, as CodeLlama and mistral-common encode what a marker opens."""
        if not self.puts_blank:
            return self._plainly(text)
        ids = self._plainly(_ANCHOR + text)
        if ids[: len(self._anchor)] == self._anchor:
            return ids[len(self._anchor) :]
        return self._plainly(text)

    def spellings(self) -> dict[int, bytes] | None:
        """The UTF-8 bytes that each token writes inside a text, of all that can stand in an answer; None where they
        depend on their neighbours.
        """
        spelled = token_spellings(self._tokenizer)
        if spelled is None:
            return None
        return {index: text for index, text in spelled.items() if text and index not in self.stop_ids}

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[int]]:
        """Token ids of ``text`` and, for each, the character offset where it begins."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, [start for start, _ in encoding.offsets]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of whole tokens; incomplete characters at the end become U+FFFD."""
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text

    def spell(self, token_ids: Sequence[int]) -> str:
        """The same with control tokens as they are spelled. Raises UsageError for an id that is no token's."""
        if unknown := [index for index in token_ids if not 0 <= index < self.vocab_size]:
            raise UsageError(f"There is no token {unknown[0]}.", f"This model's are below {self.vocab_size}.", "tokens")
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=False)
        return text

    def spell_each(self, token_ids: Sequence[int]) -> list[str]:
        """The text of each token by itself. Raises what ``spell`` does."""
        spelled = {index: self.spell([index]) for index in set(token_ids)}
        return [spelled[index] for index in token_ids]

    def control_id(self, content: str) -> int | None:
        """Id of the control token that is spelled ``content``, when the model has it."""
        return next((index for index, spelled in self._controls.items() if spelled == content), None)

    def stream(self, skipped_chars: int = 0) -> TextStream:
        """A decoder that is fed one token at a time. It leaves out the first ``skipped_chars``."""
        return TextStream(self._tokenizer, skipped_chars)

    def _find_bos(self, config: Mapping[str, Any]) -> list[int]:
        if "add_bos_token" in config:
            bos = config.get("bos_token_id")
            return [int(bos)] if config["add_bos_token"] and bos is not None else []
        # Not of an empty text: there, what stands behind a text could not be told from what stands before it.
        ids: list[int] = self._tokenizer.encode("a", add_special_tokens=True).ids
        return list(takewhile(self.control_ids.__contains__, ids))


def _is_marker(content: str) -> bool:
    return _MARKER.fullmatch(content) is not None and _HTML_TAG.fullmatch(content) is None


def _with_special(tokenizer: Tokenizer, controls: Mapping[int, str]) -> Tokenizer:
    """A copy in which all of ``controls`` are special: some vocabularies declare FIM markers as ordinary text."""
    data = json.loads(tokenizer.to_str())
    for token in data["added_tokens"]:
        token["special"] = token["id"] in controls
    return Tokenizer.from_str(json.dumps(data))


def _eos_ids(config: Mapping[str, Any]) -> frozenset[int]:
    eos = config.get("eos_token_id")
    if eos is None:
        return frozenset()
    return frozenset(eos) if isinstance(eos, list) else frozenset((int(eos),))
