"""What a prompt tells of other files, as token ids, in the format that the model's family was shown repositories in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from completiond.complete.encoder import Encoder
from completiond.complete.families import FimTokens
from completiond.complete.repo_format import FILENAME_FORMATS, RepoFormat, find_repo_format
from completiond.complete.tokens import CHARS_PER_TOKEN

__all__ = ["NO_CONTEXT", "ContextFile", "RepoContext", "build_context", "shown_name"]

MAX_NAME_CHARS = 256
"""Of a path, the end is what tells files apart."""


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file, or a part of one, with line ends ``\\n``; ``path`` is what the repository calls it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class RepoContext:
    """``front`` stands before the fill, ``inside`` between its first marker and the text before the cursor."""

    front: tuple[int, ...] = ()
    inside: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.front) + len(self.inside)


NO_CONTEXT: Final = RepoContext()


def build_context(
    files: Sequence[ContextFile],
    repo_name: str,
    path: str,
    tokenizer: Encoder,
    fim: FimTokens | None,
    max_tokens: int,
) -> RepoContext:
    """``files`` in their order, then the name of the file at ``path``, which is worked on; ``max_tokens`` at most.

    The first file that does not fit is cut behind a line and is the last; without room for a line of any, there is no
    context. So the caller gives those first that matter most and change least: a prompt's beginning has to be the same
    from key to key, or it is read anew. Control tokens are placed by id; a file's text and names never become one.
    """
    repo = fim.repo if fim else find_repo_format(tokenizer.control_id, FILENAME_FORMATS)
    form = repo.format
    separator = [] if repo.separator_id is None else [repo.separator_id]
    opening, closing = ([], separator) if form.is_closed else (separator, [])
    head = (
        [] if repo.repo_id is None else [repo.repo_id, *tokenizer.encode_inside(shown_name(repo_name) + form.repo_tail)]
    )
    current = tokenizer.encode_inside(form.current_head.format(path=shown_name(path)))
    room = max_tokens - len(head) - len(opening) - len(current) - len(closing)
    # Where the context is text of the fill, it begins as the model's text does; all else is text inside a text.
    encode = tokenizer.encode if form.inside == "all" else tokenizer.encode_inside
    told: list[int] = []
    for file in files:
        size = room - len(told) - len(separator)
        ids, is_whole = _file_ids(file, form, encode, tokenizer, size)
        if ids:
            told += [*opening, *ids, *closing]
            encode = tokenizer.encode_inside
        if not is_whole:
            break
    if not told:
        return NO_CONTEXT
    if form.inside == "all":
        return RepoContext((), (*told, *current))
    front, inside = ([], current) if form.inside == "path" else (current, [])
    return RepoContext((*head, *told, *opening, *front), tuple(inside))


def _file_ids(
    file: ContextFile, form: RepoFormat, encode: Callable[[str], list[int]], tokenizer: Encoder, max_tokens: int
) -> tuple[list[int], bool]:
    """The tokens of as many of its lines as fit, with what stands around them, and whether that is all of it."""
    head = form.head.format(path=shown_name(file.path))
    text = file.text[: max(0, max_tokens) * CHARS_PER_TOKEN]
    ids = encode(head + text + form.tail)
    if len(ids) <= max_tokens:
        return ids, len(text) == len(file.text)
    _, starts = tokenizer.encode_with_offsets(text)
    too_many = len(ids) - max_tokens
    text = text[: starts[-too_many]] if too_many < len(starts) else ""
    # How a text falls into tokens depends a little on where it ends.
    while (end := text.rfind("\n")) >= 0:
        ids = encode(head + text[: end + 1] + form.tail)
        if len(ids) <= max_tokens:
            return ids, False
        text = text[:end]
    return [], False


def shown_name(name: str) -> str:
    """The end of ``name`` in one line, of characters that can be seen."""
    return "".join(char if char.isprintable() else "?" for char in name[-MAX_NAME_CHARS:])
