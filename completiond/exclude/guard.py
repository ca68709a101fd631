"""What each client's files may be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from completiond.exclude.exclusions import ExclusionReason, Exclusions
from completiond.exclude.secret_names import is_secret_name

__all__ = ["Guard", "file_in"]


class Guard:
    """The exclusions, with the folders that each client works in."""

    def __init__(self, exclusions: Exclusions) -> None:
        self.of_repository: Callable[[Path, Sequence[Path]], ExclusionReason | None] = lambda path, folders: None
        """Why a repository does not want a path to be read, if it is in the client's folders."""
        self._exclusions = exclusions
        self._own: dict[str, Exclusions] = {}
        self._folders: dict[str, tuple[Path, ...]] = {}

    def set_exclusions(self, exclusions: Exclusions, own: Mapping[str, Exclusions]) -> None:
        """``exclusions`` count from now on, for all clients that have none of their ``own``."""
        self._exclusions, self._own = exclusions, dict(own)

    def set_folders(self, client_id: str, folders: Sequence[str]) -> None:
        """Paths that the client's exclusions are relative to."""
        self._folders[client_id] = tuple(map(Path, folders))

    def folders(self, client_id: str) -> tuple[Path, ...]:
        """What was set for the client."""
        return self._folders.get(client_id, ())

    def forget(self, client_id: str) -> None:
        """The client has gone."""
        self._folders.pop(client_id, None)
        self._own.pop(client_id, None)

    def why(self, client_id: str, path: str) -> ExclusionReason | None:
        """Why a document may not be read, None if it may.

        ``path`` may be a URI: an editor's view of a file (``git:/p/.env?...``) is judged as the file, and what names
        none (``untitled:1``, "") may be read. Of a relative path only the name counts, since nobody knows to which
        folder it is relative.
        """
        path = file_in(path)
        if not path.startswith("/"):
            return "secret_name" if path and is_secret_name(path) else None
        exclusions, folders = self._own.get(client_id, self._exclusions), self._folders.get(client_id, ())
        return exclusions.why(Path(path), folders) or self.of_repository(Path(path), folders)


def file_in(path: str) -> str:
    """The path in a URI; what is none stays as it is."""
    if path.startswith("/") or ":" not in path:
        return path
    try:
        return unquote(urlsplit(path).path)
    except ValueError:  # no URI after all, as in ``a:[b``
        return path
