"""What clients have open: what of it may be drafted from goes into the dictionary. Used on the engine's thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from completiond.complete.context.other_files import OtherFiles
from completiond.complete.dictionary import Dictionary, DocumentKey
from completiond.complete.request import DictionaryState, LineEdit
from completiond.complete.workspace_files import find_files, read_lines
from completiond.exclude.beat import Beat
from completiond.exclude.guard import Guard

__all__ = ["OpenDocuments"]

log = logging.getLogger(__name__)

MAX_CHECKED: Final = 50
"""Documents judged anew at a time, some 5 ms; with more, files of the workspace, they take turns."""
WORKSPACE: Final = "workspace file "
"""Before the path: a document's name that no editor gives."""


class OpenDocuments:
    """A document that comes to be excluded while it is open leaves the dictionary at the first edit or request of its
    client that comes some seconds later (three at most: ours, and those for which exclusions keep what they know). One
    that ceases to be comes back when it is opened again, since nothing of its text is kept meanwhile.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        guard: Guard,
        workspace: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
        others: OtherFiles | None = None,
    ) -> None:
        """``workspace``: globs of files in a client's folders that are drafted from without being open. ``others`` is
        told of what is open.
        """
        self._dictionary = dictionary
        self._workspace = workspace
        self._unread: dict[str, Iterator[Path | None]] = {}
        self._guard = guard
        self._others = others
        self._clock = clock
        self._paths: dict[DocumentKey, str] = {}
        self._excluded: set[DocumentKey] = set()
        self._beats: dict[str, Beat] = {}
        self._next_check: dict[str, int] = {}

    @property
    def state(self) -> DictionaryState:
        """How much there is."""
        return DictionaryState(
            documents=self._dictionary.num_documents,
            tokens=self._dictionary.num_tokens,
            bytes=self._dictionary.size_bytes,
            excluded_documents=len(self._excluded),
        )

    def open(self, key: DocumentKey, lines: Sequence[str], path: str) -> None:
        """A document was opened, or all of its text replaced. ``lines`` have no line ends."""
        self.close((key[0], WORKSPACE + path))  # what the editor has is newer
        self._paths[key] = path
        if self._allows(key):
            self._dictionary.open(key, lines)
            if self._others is not None and not key[1].startswith(WORKSPACE):
                self._others.open(key, path)

    def read_next(self, client_id: str) -> bool:
        """Read one more file or folder of the workspace; False when none is left, or no room in the dictionary."""
        if (unread := self._unread.get(client_id)) is None:
            return False
        try:
            path = next(unread)
        except StopIteration:
            del self._unread[client_id]
            return False
        if self._dictionary.is_half_full:
            log.warning("The dictionary is half full: no more files of the workspace are read, from %s on", path)
            del self._unread[client_id]
            return False
        is_open = any(client == client_id and other == str(path) for (client, _), other in self._paths.items())
        if path is not None and not is_open and (lines := read_lines(path)) is not None:
            key = (client_id, f"{WORKSPACE}{path}")
            self.open(key, lines, str(path))
            self._dictionary.settle(key)
        return True

    def edit(self, key: DocumentKey, edits: Sequence[LineEdit]) -> None:
        """Follow changes of a document, in order."""
        self.check(key[0])
        self._dictionary.edit(key, edits)
        if self._others is not None:
            self._others.edit(key, edits)

    def close(self, key: DocumentKey) -> None:
        """Forget a document."""
        self._paths.pop(key, None)
        self._excluded.discard(key)
        self._leave_out(key)

    def set_folders(
        self, client_id: str, folders: Sequence[str], workspace: Sequence[Sequence[str]] | None = None
    ) -> None:
        """The client's folders, which its exclusions are relative to, are these now.

        ``workspace``: globs of files to draft from, for each folder; None: the same as ever.
        """
        globs = [self._workspace] * len(folders) if workspace is None else workspace
        self._guard.set_folders(client_id, folders)
        if self._others is not None:
            self._others.forget_choices(client_id)
        for key in self._keys(client_id):
            if key[1].startswith(WORKSPACE):
                self.close(key)
        by_globs: dict[tuple[str, ...], list[str]] = {}
        for folder, own in zip(folders, globs, strict=True):
            by_globs.setdefault(tuple(own), []).append(folder)
        self._unread[client_id] = chain.from_iterable(
            find_files(some, own, lambda path: self._guard.why(client_id, path) is None)
            for own, some in by_globs.items()
        )
        for key in self._keys(client_id):
            self._allows(key)

    def check_all(self) -> None:
        """What may be read has changed: see which documents still may be."""
        for key in list(self._paths):
            self._allows(key)

    def forget_client(self, client_id: str) -> None:
        """The client has gone."""
        for key in self._keys(client_id):
            self.close(key)
        self._next_check.pop(client_id, None)
        self._unread.pop(client_id, None)
        self._beats.pop(client_id, None)
        self._guard.forget(client_id)

    def check(self, client_id: str) -> None:
        """See whether ignore files have changed, if that was not done a moment ago."""
        if self._beats.setdefault(client_id, Beat(self._clock)).is_due():
            keys = self._keys(client_id)
            first = self._next_check.get(client_id, 0) % max(1, len(keys))
            for key in [*keys[first:], *keys[:first]][:MAX_CHECKED]:
                self._allows(key)
            self._next_check[client_id] = first + MAX_CHECKED

    def _keys(self, client_id: str) -> list[DocumentKey]:
        return [key for key in self._paths if key[0] == client_id]

    def _allows(self, key: DocumentKey) -> bool:
        """Whether the document may be read; if not, nothing of it is left in the dictionary."""
        if self._guard.why(key[0], self._paths[key]) is None:
            self._excluded.discard(key)
            return True
        self._excluded.add(key)
        self._leave_out(key)
        return False

    def _leave_out(self, key: DocumentKey) -> None:
        self._dictionary.close(key)
        if self._others is not None:
            self._others.close(key)
