"""An editor's open documents during a session, as the dictionaries of the benchmark's arms see them."""

from __future__ import annotations

from completiond.bench.edits.event import DocumentChange, EditEvent
from completiond.complete.dictionary import Dictionary
from completiond.complete.request import LineEdit
from completiond.complete.tokens import TextTokenizer
from completiond.spec.draft_text import DraftText

__all__ = ["ARMS", "Desk"]

ARMS = ("none", "prompt", "file", "open", "edits")
"""What is drafted from, each more than the one before: nothing; prompt and answer; the edited file; all open files;
and what the user's edits changed and deleted.
"""

_CLIENT = "bench"


class Desk:
    """Follows events in order. One dictionary per arm that has one; only the last sees edits as edits."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._session = ""
        self._texts: dict[str, str] = {}
        self._dictionaries = {arm: Dictionary(tokenizer) for arm in ARMS[2:]}

    def follow(self, event: EditEvent) -> dict[str, DraftText | None]:
        """Make the event's changes, open its files, and say what each arm drafts from at its cursor."""
        if event.session != self._session:
            for dictionary in self._dictionaries.values():
                dictionary.close_client(_CLIENT)
            self._session, self._texts = event.session, {}
        changed = set()
        for change in self._changes(event):
            if change.path in self._texts:
                self._change(change)
                changed.add(change.path)
        for path, text in event.open_files.items():
            if path not in self._texts:
                self._texts[path] = text
                changed.add(path)
                self._dictionaries["edits"].open((_CLIENT, path), text.split("\n"))
        for path in changed:
            self._dictionaries["open"].open((_CLIENT, path), self._texts[path].split("\n"))
        self._dictionaries["file"].close_client(_CLIENT)
        self._dictionaries["file"].open((_CLIENT, event.path), event.text.split("\n"))
        line = event.prefix.count("\n")
        found = {arm: one.draft_text((_CLIENT, event.path), line) for arm, one in self._dictionaries.items()}
        return {"none": None, "prompt": None, **found}

    def _changes(self, event: EditEvent) -> list[DocumentChange]:
        """The event's changes. Whoever edits a document has had it open, so one that was not is opened as it was before
        its last deletion, and only that is left to do in it.
        """
        if event.path in self._texts:
            return list(event.changes)
        before = event.prefix + event.deleted + event.suffix
        self._dictionaries["edits"].open((_CLIENT, event.path), before.split("\n"))
        self._texts[event.path] = before
        others = [change for change in event.changes if change.path != event.path]
        end_chars = event.offset_chars + len(event.deleted)
        return [*others, DocumentChange(event.path, event.offset_chars, end_chars, "")] if event.deleted else others

    def _change(self, change: DocumentChange) -> None:
        """One didChange: the text, and for the last arm the lines it touches."""
        text = self._texts[change.path]
        first = text.count("\n", 0, change.start_chars)
        num_old = text.count("\n", change.start_chars, change.end_chars) + 1
        begin = text.rfind("\n", 0, change.start_chars) + 1
        end = text.find("\n", change.end_chars)
        tail = text[change.end_chars : end if end >= 0 else len(text)]
        new_lines = (text[begin : change.start_chars] + change.text + tail).split("\n")
        self._texts[change.path] = text[: change.start_chars] + change.text + text[change.end_chars :]
        self._dictionaries["edits"].edit((_CLIENT, change.path), [LineEdit(first, num_old, tuple(new_lines))])
