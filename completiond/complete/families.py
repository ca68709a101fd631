"""Fill-in-the-middle templates, recognised by the tokens a vocabulary has, never by a model's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from completiond.complete.repo_format import FILENAME_FORMATS, RepoFormat, RepoTokens, find_repo_format

__all__ = ["FAMILIES", "FimFamily", "FimTokens", "find_family", "tokens_of"]


@dataclass(frozen=True, slots=True)
class FimFamily:
    """Control tokens around prefix and suffix. ``suffix_first`` families put the suffix before the prefix.

    ``middle`` is empty where the answer simply follows the prefix. ``marks`` are further tokens by which it differs
    from families with the same spelling. A prompt begins with the control tokens ``begin``, where the vocabulary has
    all of them, else with what its tokenizer puts there; ``lead`` and ``ask`` are text behind them, on either side of
    what is told of other files, and ``end`` and ``tail`` close the prompt. ``stops``: further tokens that end an
    answer, whatever a vocabulary declares them to be. ``repo``: how it was shown several files, the first of these
    whose tokens there are.
    """

    name: str
    prefix: str
    suffix: str
    middle: str
    suffix_first: bool = False
    marks: tuple[str, ...] = ()
    begin: tuple[str, ...] = ()
    lead: str = ""
    ask: str = ""
    end: tuple[str, ...] = ()
    tail: str = ""
    stops: tuple[str, ...] = ()
    repo: tuple[RepoFormat, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        """What a vocabulary must have to be of this family."""
        return tuple(token for token in (self.prefix, self.suffix, self.middle, *self.marks, *self.end) if token)

    @property
    def control_tokens(self) -> tuple[str, ...]:
        """All tokens that are no text in a vocabulary of this family, as far as it has them."""
        between = [token for one in self.repo for token in one.control_tokens]
        return (*self.required, *self.begin, *self.stops, *between)


_GLM = ("[gMASK]", "<sop>")
_GLM_STOPS = ("<|endoftext|>", "<|user|>", "<|assistant|>", "<|observation|>")
_LLAMA = ("<s>",)
FAMILIES = (
    # Gemma's own begin of text is part of what it was trained on; its files were packed with a separator behind each.
    FimFamily(
        "codegemma", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", marks=("<|file_separator|>",),
        begin=("<bos>",), stops=("<eos>", "<end_of_turn>"),
        repo=(RepoFormat("{path}\n", "", "{path}\n", "<|file_separator|>", is_closed=True),),
    ),
    # Qwen2.5-Coder and Qwen3-Coder. Granite 4 too, which knows no separator between files.
    FimFamily(
        "qwen", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
        stops=("<|endoftext|>", "<|fim_pad|>", "<|im_start|>", "<|im_end|>", "<|end_of_text|>"),
        repo=FILENAME_FORMATS[:1],
    ),
    # StarCoder, StarCoder2, CodeQwen1.5, Granite code, Refact, StableCode
    FimFamily(
        "starcoder", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", stops=("<|endoftext|>", "<fim_pad>"),
        repo=FILENAME_FORMATS[1:],
    ),
    FimFamily("santacoder", "<fim-prefix>", "<fim-suffix>", "<fim-middle>", stops=("<|endoftext|>", "<fim-pad>")),
    FimFamily(
        "deepseek", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", begin=("<｜begin▁of▁sentence｜>",),
        stops=("<｜end▁of▁sentence｜>", "<|EOT|>"),
        repo=(RepoFormat("#{path}\n", "\n\n", "#{path}\n", inside="all"),),
    ),
    FimFamily("codellama", "▁<PRE>", "▁<SUF>", "▁<MID>", begin=_LLAMA, stops=("▁<EOT>", "</s>")),
    FimFamily("pre-suf-mid", "<PRE>", "<SUF>", "<MID>", stops=("<EOT>", "<|endoftext|>")),
    # aiXcoder was trained in both orders.
    FimFamily(
        "aixcoder", "▁<AIX-SPAN-PRE>", "▁<AIX-SPAN-POST>", "▁<AIX-SPAN-MIDDLE>", begin=_LLAMA, stops=("</s>",)
    ),
    # GLM-4.5 and later; it thinks, which CodeGeeX4 does not: that one fills as an answer to a user's message, in which
    # the suffix comes first and the language may be left open.
    FimFamily(
        "glm", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", marks=("<think>",), begin=_GLM, stops=_GLM_STOPS
    ),
    FimFamily(
        "codegeex", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", suffix_first=True, marks=("<|user|>",),
        begin=(*_GLM, "<|user|>"), lead="\n", ask="###LANGUAGE:\n###MODE:BLOCK\n", end=("<|assistant|>",), tail="\n",
        stops=_GLM_STOPS,
        repo=(RepoFormat("###REFERENCE:\n###PATH:{path}\n", "\n", "###PATH:{path}\n"),),
    ),
    FimFamily("code", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", stops=("<|endoftext|>",)),
    FimFamily("prefix-suffix-middle", "<|prefix|>", "<|suffix|>", "<|middle|>", stops=("<|endoftext|>",)),
    # Seed-Coder's paper has no other order.
    FimFamily(
        "seed", "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", suffix_first=True,
        begin=("<[begin▁of▁sentence]>",), stops=("<[end▁of▁sentence]>",),
    ),
    # Continue's convention for other files, which Codestral follows.
    FimFamily(
        "codestral", "[PREFIX]", "[SUFFIX]", "", suffix_first=True, begin=_LLAMA, stops=("</s>", "[MIDDLE]"),
        repo=(RepoFormat("+++++ {path}\n", "\n\n", "+++++ {path}\n", inside="all"),),
    ),
)  # fmt: skip
"""The first that fits is taken: what has ``marks`` comes before what shares its spelling."""


@dataclass(frozen=True, slots=True)
class FimTokens:
    """A family's ids in one vocabulary. ``begin_ids`` is empty where the vocabulary lacks any of its ``begin``."""

    family: FimFamily
    prefix_id: int
    suffix_id: int
    middle_id: int | None
    begin_ids: tuple[int, ...] = ()
    end_ids: tuple[int, ...] = ()
    repo: RepoTokens = field(default_factory=lambda: find_repo_format(lambda token: None, ()))


def find_family(token_id: Callable[[str], int | None]) -> FimTokens | None:
    """The first family all of whose tokens ``token_id`` knows; None means the model continues a prefix only."""
    for family in FAMILIES:
        if all(token_id(token) is not None for token in family.required):
            return tokens_of(family, token_id)
    return None


def tokens_of(family: FimFamily, token_id: Callable[[str], int | None]) -> FimTokens:
    """The ids of ``family``, whose required tokens ``token_id`` knows."""
    prefix_id, suffix_id = token_id(family.prefix), token_id(family.suffix)
    assert prefix_id is not None
    assert suffix_id is not None
    return FimTokens(
        family,
        prefix_id,
        suffix_id,
        token_id(family.middle) if family.middle else None,
        _all_of(family.begin, token_id),
        _all_of(family.end, token_id),
        find_repo_format(token_id, family.repo),
    )


def _all_of(contents: tuple[str, ...], token_id: Callable[[str], int | None]) -> tuple[int, ...]:
    ids = [index for index in map(token_id, contents) if index is not None]
    return tuple(ids) if len(ids) == len(contents) else ()
