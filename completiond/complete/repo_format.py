"""How models were shown several files of a repository in one text: which tokens and words stand between the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FILENAME_FORMATS", "PLAIN", "RepoFormat", "RepoTokens", "find_repo_format"]


@dataclass(frozen=True, slots=True)
class RepoFormat:
    """``repo`` the repository's name ``repo_tail``, then for each file ``separator``, ``head``, its text and ``tail``.

    ``repo`` and ``separator`` are control tokens, "" for none; without ``repo`` the name is left out. ``head`` and
    ``current_head``, which stands before the file that is worked on, are text with ``{path}`` for a file's path.
    ``is_closed``: the separator stands behind each file instead. ``inside``: what stands behind the marker of the text
    before the cursor, and not in front of all: nothing, the current file's head, or all of it, where for the model it
    is more text of the same file.
    """

    head: str
    tail: str
    current_head: str
    separator: str = ""
    repo: str = ""
    repo_tail: str = ""
    is_closed: bool = False
    inside: Literal["nothing", "path", "all"] = "nothing"

    @property
    def control_tokens(self) -> tuple[str, ...]:
        """What a vocabulary has to have."""
        return tuple(token for token in (self.repo, self.separator) if token)


PLAIN: Final = RepoFormat("# {path}\n", "\n\n", "# {path}\n", inside="all")
"""For models that were shown single files: paths as comments."""

FILENAME_FORMATS: Final = (
    # Qwen2.5-Coder (arXiv 2409.12186); with a fill as confirmed in QwenLM/Qwen3-Coder#343.
    RepoFormat("{path}\n", "\n", "{path}\n", "<|file_sep|>", "<|repo_name|>", "\n"),
    # CodeQwen1.5
    RepoFormat("{path}\n", "\n", "{path}\n", "<file_sep>", "<reponame>", "\n"),
    # StarCoder2 (arXiv 2402.19173, section 5.4): a fill's path lies behind the fill's first marker. SmolLM.
    RepoFormat("{path}\n", "", "{path}\n", "<file_sep>", "<repo_name>", inside="path"),
)
"""Formats that any vocabulary with their tokens was trained in, whether or not it knows a fill."""


@dataclass(frozen=True, slots=True)
class RepoTokens:
    """A format's ids in one vocabulary; None for a token it does without."""

    format: RepoFormat
    repo_id: int | None = None
    separator_id: int | None = None


def find_repo_format(token_id: Callable[[str], int | None], formats: Sequence[RepoFormat]) -> RepoTokens:
    """The first of ``formats`` all of whose tokens ``token_id`` knows, else PLAIN."""
    for one in formats:
        if all(token_id(token) is not None for token in one.control_tokens):
            return RepoTokens(one, *(token_id(token) if token else None for token in (one.repo, one.separator)))
    return RepoTokens(PLAIN)
