"""What a model's name stands for: a catalogue entry, something on this machine, or a repository on the model hub."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from completiond.errors import UnknownModelError
from completiond.models import catalog
from completiond.models.catalog import ModelEntry

__all__ = ["HubRepo", "LocalModel", "parse_model_name"]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A folder or .gguf file that the user keeps."""

    path: Path


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A whole repository on the model hub, ``repo_id`` being owner/name."""

    repo_id: str

    def folder(self, models_dir: Path) -> Path:
        """Where its files lie once pulled."""
        return models_dir / self.repo_id.replace("/", "--")


def parse_model_name(name: str) -> ModelEntry | HubRepo | LocalModel:
    """Tell what ``name`` means; the disk is looked at, the network is not.

    Raises UnknownModelError, with the catalogue's names and the closest ones first.
    """
    if entry := catalog.CATALOGUE.get(name):
        return entry
    path = Path(name).expanduser()
    looks_local = path.is_absolute() or name.startswith(("./", "../", "~")) or path.suffix == ".gguf"
    if name and (looks_local or "/" in name) and path.exists():
        return LocalModel(path.absolute())
    if looks_local:
        raise UnknownModelError(f"There is no file or folder {path.absolute()}.", _known_names())
    if _HUB_ID.fullmatch(name):
        return HubRepo(name)
    close = difflib.get_close_matches(name.lower(), catalog.CATALOGUE, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    raise UnknownModelError(f"No model is called {name!r}.", hint + _known_names())


def _known_names() -> str:
    names = ", ".join(catalog.CATALOGUE)
    return f"Known names: {names}; a folder, a .gguf file or a hub id (owner/name) will do as well."
