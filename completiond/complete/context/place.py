"""Where in a document something is to be told of others, and what of it the prompt shows in any case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from completiond.complete.dictionary import DocumentKey
from completiond.complete.prompt import PromptBudget
from completiond.complete.request import CompletionRequest
from completiond.complete.tokens import CHARS_PER_TOKEN

__all__ = ["ContextPlace"]


class _Lines(Protocol):
    @property
    def first_line(self) -> int: ...

    @property
    def end_line(self) -> int: ...


@dataclass(frozen=True, slots=True)
class ContextPlace:
    """``line`` is the cursor's, from 0. ``visible_before`` and ``visible_after``: what the prompt shows of the text on
    both sides of the cursor, or more, with line ends ``\\n``.
    """

    client_id: str
    document: str
    path: str
    line: int
    visible_before: str
    visible_after: str

    @classmethod
    def of(cls, request: CompletionRequest, prefix: str, suffix: str, budget: PromptBudget) -> ContextPlace:
        """``prefix`` and ``suffix`` are the request's, with line ends ``\\n``."""
        num_chars = budget.prefix_tokens * CHARS_PER_TOKEN
        return cls(
            request.client_id,
            request.document_id,
            request.path,
            prefix.count("\n"),
            prefix[max(0, len(prefix) - num_chars) :],
            suffix[: budget.suffix_tokens * CHARS_PER_TOKEN],
        )

    @property
    def key(self) -> DocumentKey:
        """The document's, in the dictionary."""
        return self.client_id, self.document

    def shows(self, lines: _Lines) -> bool:
        """Whether some of these lines of the document are in the prompt anyway."""
        first = self.line - self.visible_before.count("\n")
        return lines.first_line <= self.line + self.visible_after.count("\n") and first < lines.end_line
