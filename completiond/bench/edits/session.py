"""All edits between two releases, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from completiond.bench.edits.classify import Classifier
from completiond.bench.edits.edit import Edit, edit_of
from completiond.bench.edits.event import DocumentChange, EditEvent
from completiond.bench.edits.hunks import FileDiff, diff_texts
from completiond.bench.edits.modules import imported_paths, is_foreign
from completiond.bench.edits.order import order_hunks
from completiond.bench.edits.workspace import Workspace

__all__ = ["EditSession"]

_MAX_OPEN_FILES: Final = 50


@dataclass(frozen=True, slots=True)
class EditSession:
    """Two releases of a project, compared: the texts of the old one, and what became of those files."""

    project: str
    name: str
    old_texts: Mapping[str, str]
    diffs: tuple[FileDiff, ...]

    @classmethod
    def compare(
        cls, project: str, name: str, old_texts: Mapping[str, str], new_texts: Mapping[str, str]
    ) -> EditSession:
        """Compare the files that both releases have. Files that are generated or copied from elsewhere, and those that
        ``diff_texts`` cannot compare, stay as they were.
        """
        diffs = (
            diff_texts(path, old_texts[path], new_texts[path])
            for path in sorted(old_texts.keys() & new_texts.keys())
            if old_texts[path] != new_texts[path]
            and not any(is_foreign(path, texts[path]) for texts in (old_texts, new_texts))
        )
        return cls(project, name, old_texts, tuple(diff for diff in diffs if diff is not None))

    def events(
        self, seed: int = 0, whole_lines: bool = False
    ) -> Generator[EditEvent, None, tuple[DocumentChange, ...]]:
        """Make all hunks in an order a person might, and yield an event for each that a completion could help with.

        At an event every later hunk is still undone, so nothing of the new release can be read before it is typed.
        ``whole_lines`` deletes and types replaced lines as a whole. Returns the changes after the last event.
        """
        workspace, classifier = Workspace(self.old_texts, self.diffs), Classifier(self.diffs)
        edited: dict[str, None] = {}  # the latest last
        changes: list[DocumentChange] = []
        index = 0
        for file, number in order_hunks(self.diffs, f"{seed} {self.name}"):
            diff = self.diffs[file]
            path, hunk = diff.path, diff.hunks[number]
            edit = edit_of(hunk, whole_lines)
            start = workspace.offset_chars(path, number)
            cursor = start + len(edit.before)
            changes += _opening(path, start, edit)
            kind = classifier.kind_of(diff, hunk, edit, workspace[path][:start] + edit.before)
            edited.pop(path, None)
            edited[path] = None
            if kind is not None:
                workspace.put(path, number, edit.before + edit.after)
                wanted = (*reversed(edited), *imported_paths(path, diff.old.imports, self.old_texts.keys()))
                yield EditEvent(
                    self.project, self.name, index, kind, path, cursor, edit.deleted, edit.expected,
                    changes=tuple(changes), open_files=_open_files(workspace, wanted),
                )  # fmt: skip
                changes.clear()
                index += 1
            workspace.put(path, number, "".join(hunk.new_lines))
            if edit.expected:
                changes.append(DocumentChange(path, cursor, cursor, edit.expected))
        return tuple(changes)


def _opening(path: str, start: int, edit: Edit) -> list[DocumentChange]:
    """What a person does before typing: open an empty line, or delete what is to be replaced."""
    if edit.is_insertion:
        opened = edit.before + edit.after
        return [DocumentChange(path, start, start, opened)] if opened else []
    cursor = start + len(edit.before)
    return [DocumentChange(path, cursor, cursor + len(edit.deleted), "")] if edit.deleted else []


def _open_files(workspace: Workspace, paths: Iterable[str]) -> dict[str, str]:
    """The first 50 of ``paths`` with their texts."""
    return {path: workspace[path] for path in [*dict.fromkeys(paths)][:_MAX_OPEN_FILES]}
