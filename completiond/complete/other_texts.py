"""What a request brings along of other files, as far as it may be drafted from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from completiond.complete.line_ends import with_line_feeds
from completiond.complete.request import CompletionRequest
from completiond.complete.tokens import TextTokenizer
from completiond.exclude.guard import Guard
from completiond.exclude.secret_text import secret_lines

__all__ = ["others_to_draft_from"]


MAX_CHARS: Final = 1 << 18
"""Of all of them: they are tokenised for each request. A text that does not fit any more is left out."""


def others_to_draft_from(request: CompletionRequest, guard: Guard, tokenizer: TextTokenizer) -> Iterator[Sequence[int]]:
    """Tokens of each text, without those of excluded files and without lines that hold a secret."""
    left = MAX_CHARS
    for other in request.others:
        if 0 < len(other.text) <= left and guard.why(request.client_id, other.path) is None:
            left -= len(other.text)
            lines = with_line_feeds(other.text).split("\n")
            secret = secret_lines(lines)
            yield tokenizer.encode("\n".join(line for number, line in enumerate(lines) if number not in secret))
