"""What a service has to do when settings change while it runs: notices it at a request, and says what has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from completiond.config import Config, ExcludeConfig
from completiond.config.repository_exclusions import RepositoryExclusions
from completiond.config.settings import Settings
from completiond.errors import CompletiondError
from completiond.exclude.guard import Guard, file_in
from completiond.spec.drafter_names import DrafterChoice

__all__ = ["SettingsFollower"]

SetExclusions = Callable[[ExcludeConfig, Mapping[str, ExcludeConfig]], None]
"""Of all clients, and of those that have their own."""
Globs = Sequence[Sequence[str]]
"""For each of a client's folders: files there to draft from without their being open."""


class SettingsFollower:
    """On the event loop's thread, but for ``apply``."""

    def __init__(
        self,
        settings: Settings,
        on_exclusions: Callable[[Collection[str | None]], None],
        on_workspace: Callable[[str, Globs], None],
    ) -> None:
        """``on_exclusions`` is called with the clients for which other files may be read than before, None for all;
        ``on_workspace`` when a client's files to draft from are others.
        """
        self._settings = settings
        self._on_exclusions = on_exclusions
        self._on_workspace = on_workspace
        self._of_repository = RepositoryExclusions(settings.repository)
        self._versions = (settings.version, settings.repository.version)
        self._repository_version = settings.repository.exclusions_version
        self._exclude = settings.config.exclude
        self._own: Mapping[str, ExcludeConfig] = {}
        self._folders: dict[str, Sequence[str]] = {}
        self._workspaces: dict[str, Globs] = {}

    @property
    def config(self) -> Config:
        """What is set for all, as of the last look."""
        return self._settings.config

    def settings_of(self, client_id: str, path: str, folders: Sequence[str]) -> Config:
        """What is set now for a client's file, a path or a URI; what has changed is told first."""
        found = self._settings.of_file(client_id, file_in(path), folders)
        self._follow()
        return found

    def refuse_drafters(self, refused: Mapping[DrafterChoice, CompletiondError]) -> None:
        """These cannot be had; whoever has set one is told why."""
        self._settings.refuse(("spec", "drafter"), {choice: str(error) for choice, error in refused.items()})

    def set_folders(self, client_id: str, folders: Sequence[str]) -> Globs:
        """A client's folders are these; what of them is to be drafted from."""
        self._folders[client_id] = folders
        self._workspaces[client_id] = found = self._workspace(client_id)
        return found

    def forget_client(self, client_id: str) -> None:
        """The client has gone."""
        self._folders.pop(client_id, None)
        self._workspaces.pop(client_id, None)
        self._settings.forget_client(client_id)
        self._own = {client: one for client, one in self._own.items() if client != client_id}

    def apply(self, guard: Guard, set_exclusions: SetExclusions) -> None:
        """Have ``guard`` exclude what is set now."""
        guard.of_repository = self._of_repository.why
        set_exclusions(self._exclude, self._own)

    def _follow(self) -> None:
        versions = (self._settings.version, self._settings.repository.version)
        if versions == self._versions:
            return
        self._versions = versions
        exclude, before = self._settings.config.exclude, self._own
        every = {client: self._settings.client(client).exclude for client in self._settings.clients}
        own = {client: one for client, one in every.items() if one != exclude}
        repository_version = self._settings.repository.exclusions_version
        is_for_all = (exclude, repository_version) != (self._exclude, self._repository_version)
        self._exclude, self._own, self._repository_version = exclude, own, repository_version
        if is_for_all:
            self._on_exclusions([None])
        elif own != before:
            self._on_exclusions([one for one in {*own, *before} if own.get(one) != before.get(one)])
        for client_id in self._folders:
            if (found := self._workspace(client_id)) != self._workspaces[client_id]:
                self._workspaces[client_id] = found
                self._on_workspace(client_id, found)

    def _workspace(self, client_id: str) -> Globs:
        folders = self._folders[client_id]
        paths = [f"{folder.rstrip('/')}/*" for folder in folders]  # what is set for the files that lie in each
        return [self._settings.of_file(client_id, path, folders).spec.workspace for path in paths]
