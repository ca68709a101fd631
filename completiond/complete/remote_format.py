"""What a remote engine is sent: the text on both sides of the cursor in two fields, or one text in a template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from completiond.complete.families import FAMILIES, FimFamily, FimTokens, tokens_of
from completiond.complete.letters import LetterEncoder
from completiond.complete.repo_format import PLAIN

__all__ = ["RemoteFormat", "RemotePrompt"]

_TWO_FIELDS: Final = FimFamily("suffix", "<prompt>", "<suffix>", "", repo=(PLAIN,))
"""No server sees these markers: between them is what goes into the fields."""
_UNSAFE: Final = frozenset(
    token for family in FAMILIES for token in family.control_tokens if any(mark in token for mark in ("|", "｜", "fim"))
)
"""Spelled by no program but those about models; a server may take them for control tokens, or leave them in a text."""


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """``suffix`` None: it is part of ``text``, or not sent."""

    text: str
    suffix: str | None


class RemoteFormat:
    """``name``: ``suffix``, ``prefix``, or that of a family."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.family = next((family for family in FAMILIES if family.name == name), None)

    @cached_property
    def encoder(self) -> LetterEncoder:
        """Of the prompt's text."""
        if self.name == _TWO_FIELDS.name:  # the server has to tell text from control tokens
            return LetterEncoder(_TWO_FIELDS.required)
        return LetterEncoder(self.family.control_tokens if self.family is not None else (), _UNSAFE)

    @cached_property
    def fim(self) -> FimTokens | None:
        """None: the text before the cursor alone."""
        if self.name == _TWO_FIELDS.name:
            return tokens_of(_TWO_FIELDS, self.encoder.control_id)
        return None if self.family is None else tokens_of(_without_begin(self.family), self.encoder.control_id)

    @property
    def ends(self) -> frozenset[str]:
        """What ends an answer if a server leaves it in the text; HTML has its own use for some end tokens."""
        own = self.family.control_tokens if self.family is not None else ()
        return _UNSAFE | {token for token in own if token not in ("<s>", "</s>")}

    def prompt_of(self, ids: Sequence[int]) -> RemotePrompt:
        """What ``build_prompt`` made, as text."""
        if self.name != _TWO_FIELDS.name or self.fim is None:
            return RemotePrompt(self.encoder.decode(ids), None)
        border = list(ids).index(self.fim.suffix_id)
        return RemotePrompt(self.encoder.decode(ids[1:border]), self.encoder.decode(ids[border + 1 :]))


def _without_begin(family: FimFamily) -> FimFamily:
    """A single token is the begin of text, which servers put there themselves."""
    return replace(family, begin=()) if len(family.begin) == 1 else family
