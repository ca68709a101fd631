"""Which class an edit belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from completiond.bench.edits.calls import ChangedCalls
from completiond.bench.edits.copies import is_test_copy
from completiond.bench.edits.edit import Edit
from completiond.bench.edits.event import EditKind
from completiond.bench.edits.hunks import FileDiff, Hunk
from completiond.bench.edits.moves import Moves
from completiond.bench.edits.renames import Renames
from completiond.bench.edits.tokens import are_formatted_alike

__all__ = ["Classifier"]

_MIN_BLOCK_LINES: Final = 4
_MAX_REPLACE_LINES: Final = 10
_MAX_CHARS: Final = 4000
_WORD: Final = re.compile(r"\w")
_ENTRY: Final = re.compile(r"name( \. name)* [:=] .+|(string|number) : .+|string( ,)?$|(name|number) ,$")


class Classifier:
    """Knows all hunks of two releases, and, as they are made one after the other, which came before."""

    def __init__(self, diffs: Sequence[FileDiff]) -> None:
        self._moves = Moves(diffs)
        self._renames = Renames(diffs)
        self._calls = ChangedCalls()

    def kind_of(self, diff: FileDiff, hunk: Hunk, edit: Edit, prefix: str) -> EditKind | None:
        """The class of the next hunk, which is typed behind ``prefix``. Each hunk is to be asked for once.

        None when there is nothing to complete: pure deletions and moves, changes of formatting or signs only, long
        replacements, more than 4,000 characters.
        """
        is_rename = self._renames.note(diff, hunk)
        self._calls.note(diff, hunk)
        if not _WORD.search(edit.expected) or len(edit.expected) > _MAX_CHARS:
            return None
        if are_formatted_alike(diff.old_tokens(hunk), diff.new_tokens(hunk)) or self._moves.is_move(hunk):
            return None
        if _is_import(diff, hunk):
            return "import"
        num_lines = edit.expected.count("\n") + 1
        if edit.is_insertion:
            if num_lines >= _MIN_BLOCK_LINES:
                return "test_copy" if is_test_copy(edit.expected, prefix) else "block"
            return "entry" if num_lines == 1 and _is_entry(diff, hunk) else "short"
        if is_rename:
            return "rename"
        if self._calls.is_changed_call(diff, hunk):
            return "signature"
        return "replace" if max(num_lines, edit.deleted.count("\n") + 1) <= _MAX_REPLACE_LINES else None


def _is_import(diff: FileDiff, hunk: Hunk) -> bool:
    return diff.new.import_lines.issuperset(_text_lines(hunk))


def _is_entry(diff: FileDiff, hunk: Hunk) -> bool:
    """Say whether the one added line is a line of a table: it looks like one, and like the line above or below."""
    line = _text_lines(hunk)[0]
    above, shape, below = ([token.shape for token in diff.new.tokens(at, at + 1)] for at in range(line - 1, line + 2))
    return bool(_ENTRY.match(" ".join(shape))) and shape in (above, below)


def _text_lines(hunk: Hunk) -> list[int]:
    """The added lines that are not blank, by their number in the new file."""
    return [line for line, text in enumerate(hunk.new_lines, hunk.new_start) if text.strip()]
