"""What an editor's documents offer a drafter."""

from __future__ import annotations

from dataclasses import dataclass

from completiond.spec.parts import PartSwap
from completiond.spec.spelling import Spelling, WordSwap
from completiond.spec.token_index import Run, TokenIndex

__all__ = ["DraftText"]


@dataclass(frozen=True, slots=True)
class DraftText:
    """What there is to draft from besides the prompt. ``index`` is shared and not changed here.

    ``document`` names the one being completed; ``replaced`` is the run of text that stood at the cursor until it was
    deleted, which is the likeliest source of what is written in its place; ``words`` are replacements the user has
    begun; ``analogies`` what lines the user wrote have in the places of the lines above them. Without ``spelling``
    only whole tokens are copied.
    """

    index: TokenIndex
    document: str = ""
    replaced: Run | None = None
    words: tuple[WordSwap, ...] = ()
    analogies: tuple[PartSwap, ...] = ()
    spelling: Spelling | None = None
