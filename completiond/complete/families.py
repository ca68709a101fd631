"""Fill-in-the-middle templates, recognised by the tokens a vocabulary has, never by a model's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["FAMILIES", "FimFamily", "FimTokens", "find_family"]


@dataclass(frozen=True, slots=True)
class FimFamily:
    """Control tokens around prefix and suffix. ``suffix_first`` families put the suffix before the prefix.

    ``middle`` is empty where the answer simply follows the prefix.
    """

    name: str
    prefix: str
    suffix: str
    middle: str
    suffix_first: bool = False


FAMILIES = (
    FimFamily("qwen", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # also CodeGemma and Granite 4
    FimFamily("starcoder", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # also Granite code and CodeQwen1.5
    FimFamily("santacoder", "<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    FimFamily("deepseek", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    FimFamily("codellama", "▁<PRE>", "▁<SUF>", "▁<MID>"),
    FimFamily("glm", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    FimFamily("seed", "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"),
    FimFamily("codestral", "[PREFIX]", "[SUFFIX]", "", suffix_first=True),
)


@dataclass(frozen=True, slots=True)
class FimTokens:
    """A family's ids in one vocabulary."""

    family: FimFamily
    prefix_id: int
    suffix_id: int
    middle_id: int | None


def find_family(token_id: Callable[[str], int | None]) -> FimTokens | None:
    """The first family all of whose tokens ``token_id`` knows; None means the model continues a prefix only."""
    for family in FAMILIES:
        prefix_id, suffix_id = token_id(family.prefix), token_id(family.suffix)
        middle_id = token_id(family.middle) if family.middle else None
        if prefix_id is not None and suffix_id is not None and (middle_id is not None or not family.middle):
            return FimTokens(family, prefix_id, suffix_id, middle_id)
    return None
