"""One repository's ``.completiond.toml``, as it was when it was read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from completiond.config.layer import EMPTY, Layer, layer_of_file
from completiond.config.permission import Repository
from completiond.config.problem import Origin
from completiond.config.repository_rules import REPOSITORY_FILE, allowed_trusted, allowed_untrusted
from completiond.config.setting import all_settings
from completiond.config.toml_file import Signature, read_toml
from completiond.config.trust import TrustStore

if TYPE_CHECKING:
    from completiond.exclude.ignore_rule import Rule

__all__ = ["MAX_FILE_BYTES", "RepositoryFile"]

MAX_FILE_BYTES = 1 << 16


@dataclass(frozen=True)
class RepositoryFile:
    """``folder`` is absolute; ``layer`` holds only what a repository may set, and the problems of the rest."""

    folder: str
    signature: Signature
    layer: Layer
    is_trusted: bool
    content: bytes
    rules: tuple[Rule, ...]
    """Of ``exclude.globs``, relative to the folder."""

    @property
    def wants_gitignore(self) -> bool:
        """Whether it leaves out what a .gitignore names, though the user may not."""
        return ("exclude", "gitignore") in self.layer.values

    @classmethod
    def read(cls, folder: str, signature: Signature, trust: TrustStore | None, before: Layer = EMPTY) -> RepositoryFile:
        """Never raises; what was right ``before`` stays where the file has become wrong."""
        path = Path(folder, REPOSITORY_FILE)
        file = read_toml(path, Origin("repository", str(path)), MAX_FILE_BYTES, follow_symlinks=False)
        is_trusted = bool(file.content) and trust is not None and trust.trusts(_real(folder), file.content)
        if not is_trusted:  # it may have been, or been another file
            settings = all_settings()
            open_to_all = [name for name in before.values if settings[name].repository is not Repository.TRUSTED]
            before = Layer({name: before.values[name] for name in open_to_all})
        layer = layer_of_file(file, allowed_trusted if is_trusted else allowed_untrusted, before)
        return cls(folder, signature, layer, is_trusted, file.content, _rules(layer))


def _real(folder: str) -> str:
    return str(Path(folder).resolve())


def _rules(layer: Layer) -> tuple[Rule, ...]:
    patterns = layer.values.get(("exclude", "globs"))
    if patterns is None or not isinstance(patterns[0], tuple):
        return ()
    from completiond.exclude.ignore_rule import Rule  # late: few have any

    return tuple(rule for pattern in patterns[0] if (rule := Rule.parse(pattern)) is not None)
