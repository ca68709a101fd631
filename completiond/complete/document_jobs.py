"""What clients open and edit, followed on the engine's thread in order with their requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from completiond.complete.completer_protocol import AnyCompleter
from completiond.complete.jobs import log_failure, one_step_job
from completiond.complete.request import DictionaryState
from completiond.engine.worker import Worker

if TYPE_CHECKING:
    from completiond.complete.open_documents import OpenDocuments

__all__ = ["DocumentJobs"]

Workspace = Sequence[Sequence[str]] | None
"""Globs of files to draft from, for each of a client's folders; None: those that all clients have."""

_FAILED = log_failure("the dictionary could not follow a change")


class DocumentJobs:
    """``completer`` gives what has the documents, None before it is loaded."""

    def __init__(self, completer: Callable[[], AnyCompleter | None]) -> None:
        self.worker: Worker | None = None
        """Whose thread follows; set before anything is told."""
        self.state = DictionaryState()
        """As it was after the last change."""
        self._completer = completer
        self._folders: dict[str, Sequence[str]] = {}
        self._workspaces: dict[str, Workspace] = {}

    def folders_of(self, client_id: str) -> Sequence[str]:
        """What the client works in."""
        return self._folders.get(client_id, ())

    def tell(self, change: Callable[[OpenDocuments], None]) -> None:
        """Have a change followed; before the model is there it waits.

        A document that was opened while no model could be loaded is not drafted from until it is opened again.
        """
        self.do(lambda completer: change(completer.documents))

    def do(self, work: Callable[[AnyCompleter], None]) -> None:
        """Have ``work`` done once the model is there, and see what it did to the documents."""

        def step() -> None:
            if (completer := self._completer()) is not None:
                work(completer)
                self.note(completer)

        self._submit(step)

    def note(self, completer: AnyCompleter) -> None:
        """On the engine's thread, which alone may look at the documents; others see the numbers."""
        self.state = completer.documents.state

    def set_folders(self, client_id: str, folders: Sequence[str], workspace: Workspace) -> None:
        """A client works in these now."""
        self._folders[client_id] = folders
        self.set_workspace(client_id, workspace)

    def set_workspace(self, client_id: str, workspace: Workspace) -> None:
        """The files in a client's folders to draft from are these now."""
        folders = self.folders_of(client_id)
        self._workspaces[client_id] = workspace
        self.tell(lambda documents: documents.set_folders(client_id, folders, workspace))
        self._read_workspace(client_id)

    def begin(self, completer: AnyCompleter) -> None:
        """On the engine's thread: tell one that was just loaded what was told while an earlier attempt failed."""
        for client_id, folders in tuple(self._folders.items()):
            completer.documents.set_folders(client_id, folders, self._workspaces.get(client_id))
            self._read_workspace(client_id)

    def forget_client(self, client_id: str) -> None:
        """It has gone away."""
        self._folders.pop(client_id, None)
        self._workspaces.pop(client_id, None)
        self.tell(lambda documents: documents.forget_client(client_id))

    def _read_workspace(self, client_id: str) -> None:
        """Read the client's workspace, a job for each file or folder, so that requests come in between."""

        def step() -> None:
            if (completer := self._completer()) is not None and completer.documents.read_next(client_id):
                self.note(completer)
                self._read_workspace(client_id)

        self._submit(step)

    def _submit(self, step: Callable[[], None]) -> None:
        assert self.worker is not None, "it is set first"
        self.worker.submit(one_step_job(step, _FAILED))
