"""The settings of a process that runs on while their files change, for each client and each file it is asked about."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from completiond.config.client_options import layer_of_client
from completiond.config.environment import layer_of_environment
from completiond.config.layer import EMPTY, Layer, layer_of_file
from completiond.config.load import MAX_USER_FILE_BYTES
from completiond.config.narrow import narrow
from completiond.config.permission import Reload
from completiond.config.problem import Origin, Problem, shown
from completiond.config.repository_file import RepositoryFile
from completiond.config.repository_files import LOOK_EVERY_S, RepositoryFiles
from completiond.config.resolve import Resolved, resolve
from completiond.config.sections import Config
from completiond.config.setting import Name, Value, all_settings
from completiond.config.toml_file import Signature, read_toml, signature_of
from completiond.config.trust import TrustStore

__all__ = ["ClientSource", "Report", "Settings", "ignore"]

MAX_NARROWED = 1000
"""Combinations of a client and files of repositories that are kept."""

ClientSource = Literal["initializationOptions", "didChangeConfiguration"]
Listener = Callable[[Sequence[Problem]], None]
Report = Callable[[Problem], None]


def ignore(_problem: Problem) -> None:
    """A report that nobody wants."""


class Settings:
    """Looks at files when it is asked, never by itself. Belongs to one thread, but for ``repository``.

    What cannot change in a running process stays as it was at the start, and that is a problem that is told.
    """

    def __init__(
        self,
        file: Path,
        environment: Mapping[str, str] = os.environ,
        options: Mapping[Name, Value] | None = None,
        trust_file: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        report: Report = ignore,
    ) -> None:
        """``file``: the user's; ``options``: values that the command line gives. ``report`` is told of each problem
        when it is noticed, and again only if it has been away.
        """
        self.file = file
        self.repository = RepositoryFiles(TrustStore(trust_file) if trust_file else None, clock)
        self.version = 0
        """Grows with each change of what the user or an editor sets."""
        self._clock = clock
        self._environment = layer_of_environment(environment)
        given = Origin("option", "command line")
        self._options = Layer({name: (value, given) for name, value in (options or {}).items()})
        self._signature: Signature = None
        self._looked_s: float | None = None
        self._user = EMPTY
        self._clients: dict[str, dict[ClientSource, Layer]] = {}
        self._resolved: dict[str | None, Resolved] = {}
        self._narrowed: dict[tuple[str, tuple[int, ...]], tuple[tuple[RepositoryFile, ...], Resolved]] = {}
        self._folders: dict[str, set[str]] = {}
        self._listeners: dict[str, Listener] = {}
        self._told: dict[str, set[tuple[str, str]]] = {}
        self._refused: dict[Name, dict[Value, str]] = {}
        self._report = report
        self._reported: set[tuple[str, str]] = set()
        self._read_user()
        self._started = resolve((self._user, self._environment, self._options))
        self._announce()

    @property
    def config(self) -> Config:
        """What is set for all clients and files, as of the last look."""
        return self._of_client(None).config

    def client(self, client_id: str) -> Config:
        """What is set for a client, in no particular file, as of the last look."""
        return self._of_client(client_id).config

    def of_file(self, client_id: str, path: str, roots: Sequence[str] = ()) -> Config:
        """What is set for a client's file, after a look at what has changed. ``roots`` are the client's folders.

        ``path`` is absolute; of anything else no repository is known.
        """
        return self.explain(client_id, path, roots).config

    def explain(self, client_id: str, path: str, roots: Sequence[str] = ()) -> Resolved:
        """The same, with the origin of each value."""
        self.look()
        if not path.startswith("/"):
            return self._of_client(client_id)
        chain = self.repository.of(path, roots)
        if not chain:
            return self._of_client(client_id)
        key = (client_id, tuple(map(id, chain)))
        if key not in self._narrowed:  # it keeps the chain, so that no other has its ids
            if len(self._narrowed) >= MAX_NARROWED:
                self._narrowed.clear()
            self._narrowed[key] = (chain, narrow(self._of_client(client_id), chain))
            self._folders.setdefault(client_id, set()).update(file.folder for file in chain)
            self._announce()
        return self._narrowed[key][1]

    def look(self, now: bool = False) -> None:
        """See whether the user's file has changed, unless that was done a moment ago; ``now``: in any case."""
        now_s = self._clock()
        if not now and self._looked_s is not None and 0 <= now_s - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = now_s
        if now:
            self.repository.look_again()
        if signature_of(self.file) != self._signature:
            self._read_user()
            self._changed()

    @property
    def environment(self) -> dict[str, str]:
        """Variables that this process was started with, and what each sets, as it is shown."""
        return {origin.where: shown(value) for value, origin in self._environment.values.values()}

    @property
    def clients(self) -> tuple[str, ...]:
        """Those that have sent settings."""
        return tuple(self._clients)

    def set_client(self, client_id: str, source: ClientSource, options: Any) -> None:
        """An editor sent settings; they take the place of what it sent by the same way before."""
        layers = self._clients.setdefault(client_id, {"initializationOptions": EMPTY, "didChangeConfiguration": EMPTY})
        layers[source] = layer_of_client(options, f"{source} of the editor", layers[source])
        self._changed()

    def forget_client(self, client_id: str) -> None:
        """The client has gone."""
        for known in (self._clients, self._resolved, self._folders, self._listeners, self._told):
            known.pop(client_id, None)
        for key in [key for key in self._narrowed if key[0] == client_id]:
            del self._narrowed[key]

    def refuse(self, name: Name, reasons: Mapping[Value, str]) -> None:
        """Of a setting that follows changes, these values turned out to be none that can be used here, for these
        ``reasons``, each with what to do: where one is set, it is a problem, and what was in use before stays so.
        """
        if reasons != self._refused.get(name, {}):
            self._refused[name] = dict(reasons)
            self._announce()

    def problems(self, client_id: str | None = None) -> list[Problem]:
        """All that is not followed now; for a client: what concerns it."""
        clients = {*self._clients, *self._folders} if client_id is None else {client_id}
        found = [*self._user.problems, *self._environment.problems, *self._pending()]
        for client in sorted(clients):
            for layer in self._clients.get(client, {}).values():
                found += layer.problems
        found += self._unusable([None, *sorted(clients)] if client_id is None else [client_id])
        found += self.repository.problems_in(
            sorted({one for client in clients for one in self._folders.get(client, ())})
        )
        return list({problem.identity: problem for problem in found}.values())

    def listen(self, client_id: str, listener: Listener) -> None:
        """Tell ``listener`` of the problems that concern a client: of all there are now, and of new ones, once each."""
        self.look(now=True)
        self._listeners[client_id] = listener
        self._announce()

    def _read_user(self) -> None:
        self._signature = signature_of(self.file)
        origin = Origin("file", str(self.file))
        self._user = layer_of_file(read_toml(self.file, origin, MAX_USER_FILE_BYTES), before=self._user)

    def _changed(self) -> None:
        self.version += 1
        self._resolved.clear()
        self._narrowed.clear()
        self._announce()

    def _of_client(self, client_id: str | None) -> Resolved:
        if client_id not in self._resolved:
            clients = self._clients.get(client_id, {}) if client_id is not None else {}
            kept = {
                name: (self._started[name], self._started.origins[name])
                for name, setting in all_settings().items()
                if setting.reload is Reload.RESTART
            }
            layers = (self._user, *clients.values(), self._environment, self._options, Layer(kept))
            self._resolved[client_id] = resolve(layers)
        return self._resolved[client_id]

    def _pending(self) -> list[Problem]:
        """What would be otherwise in a process that were started now."""
        wanted = resolve((self._user, self._environment, self._options))
        found = []
        for name, setting in all_settings().items():
            if setting.reload is Reload.RESTART and wanted[name] != self._started[name]:
                message = f"{setting} = {shown(wanted[name])} takes effect after `completiond stop`."
                origin = wanted.origins[name]
                origin = origin if origin.layer != "default" else Origin("file", str(self.file))
                found.append(Problem(origin, message))
        return found

    def _unusable(self, clients: Sequence[str | None]) -> Iterator[Problem]:
        for name, reasons in self._refused.items():
            for resolved in map(self._of_client, clients):
                if (why := reasons.get(resolved[name])) is not None:
                    what = f"{all_settings()[name]} = {shown(resolved[name])} cannot be used"
                    left = "What was in use before, or n-grams, goes on; `completiond stop` has it tried again."
                    yield Problem(resolved.origins[name], f"{what}: {why} {left}")

    def _announce(self) -> None:
        standing = self.problems()
        new = [problem for problem in standing if problem.identity not in self._reported]
        self._reported = {problem.identity for problem in standing}
        for problem in new:
            self._report(problem)
        for client_id, listener in list(self._listeners.items()):
            told, found = self._told.get(client_id, set()), self.problems(client_id)
            self._told[client_id] = {problem.identity for problem in found}
            if fresh := [problem for problem in found if problem.identity not in told]:
                listener(fresh)
