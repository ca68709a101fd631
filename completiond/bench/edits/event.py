"""One request of the edit benchmark, and what the editor did before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["EDIT_KINDS", "DocumentChange", "EditEvent", "EditKind", "apply_changes"]

EditKind = Literal["rename", "signature", "entry", "test_copy", "import", "block", "replace", "short"]

EDIT_KINDS: Final[tuple[EditKind, ...]] = get_args(EditKind)
"""rename: the second and later places at which one name becomes another, as in at least three.
signature: a changed call of a function whose arguments changed before.
entry: a new line of a table, with a neighbour of the same shape.
test_copy: a new test function much like one above it.
import: only imports. block: other insertions of 4 to 40 lines; short: of 1 to 3.
replace: other replacements, of at most 10 lines by at most 10."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """``text`` takes the place of the characters from ``start_chars`` up to ``end_chars`` of the document ``path``, as
    the change before left it: the ``contentChanges`` of one didChange.
    """

    path: str
    start_chars: int
    end_chars: int
    text: str


@dataclass(frozen=True, slots=True)
class EditEvent:
    """A person is about to type ``expected`` at ``offset_chars`` of the document ``path``.

    ``session`` is a pair of releases; ``index`` counts its events from 0, also those that were not asked for, so a
    missing number is an edit without a request. ``changes`` is everything typed and deleted in the session since its
    event before (for the first: since the old release), what that one expected included. A consumer closes all
    documents when the session changes; at each event it makes ``changes`` in the documents it has open, then opens
    those of ``open_files`` that it has not. ``open_files`` holds their texts as they are then: without ``deleted``,
    which stood at ``offset_chars`` and went last ("" for an insertion), and without ``expected``.
    """

    project: str
    session: str
    index: int
    kind: EditKind
    path: str
    offset_chars: int
    deleted: str
    expected: str
    changes: tuple[DocumentChange, ...]
    open_files: Mapping[str, str]

    @property
    def text(self) -> str:
        """The edited document."""
        return self.open_files[self.path]

    @property
    def prefix(self) -> str:
        """The edited document before the cursor."""
        return self.text[: self.offset_chars]

    @property
    def suffix(self) -> str:
        """The edited document after the cursor."""
        return self.text[self.offset_chars :]


def apply_changes(texts: MutableMapping[str, str], changes: Iterable[DocumentChange]) -> None:
    """Make ``changes``, in order, in those documents that ``texts`` has."""
    for change in changes:
        if (text := texts.get(change.path)) is not None:
            texts[change.path] = text[: change.start_chars] + change.text + text[change.end_chars :]
