"""Which repositories' files the user trusts: by the folder's real path and the digest of the very file."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from completiond.config.problem import shown_path
from completiond.config.toml_file import Signature, signature_of
from completiond.errors import UsageError

__all__ = ["TrustStore", "digest_of"]

MAX_FILE_BYTES = 1 << 20


def digest_of(content: bytes) -> str:
    """What a file is known by; any change of it is another file."""
    return sha256(content).hexdigest()


class TrustStore:
    """A JSON object of folders and digests in the user's state folder. Safe to use from several processes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._signature: Signature = None
        self._known: Mapping[str, str] = {}

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return self._file

    def trusts(self, folder: str, content: bytes) -> bool:
        """Whether the user trusts a file with this content in ``folder``, a real path."""
        known = self.folders().get(folder)
        return known is not None and known == digest_of(content)

    def folders(self) -> Mapping[str, str]:
        """The digest of the trusted file of each folder. What cannot be read trusts nothing."""
        signature = signature_of(self._file)
        if signature != self._signature:
            self._known = _read(self._file) or {}
            self._signature = signature
        return self._known

    def trust(self, folder: str, content: bytes) -> None:
        """From now on, trust a file with this content in ``folder``, a real path.

        Raises OSError, and UsageError for a store that is not one.
        """
        with self._changing() as known:
            known[folder] = digest_of(content)

    def revoke(self, folder: str) -> bool:
        """Trust nothing in ``folder`` any more; whether anything was. Raises as ``trust`` does."""
        with self._changing() as known:
            return known.pop(folder, None) is not None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(self._file.with_suffix(".lock"), flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = _read(self._file)
            if found is None:
                raise UsageError(f"{shown_path(self._file)} is not a list of trusted folders.", "Move it away.")
            known = dict(found)
            yield known
            new = self._file.with_suffix(".new")
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, flags | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(known, file, indent=1, sort_keys=True)
                file.write("\n")
            new.replace(self._file)
            self._signature = None
        finally:
            os.close(lock)


def _read(file: Path) -> Mapping[str, str] | None:
    """None for what is no such list."""
    try:
        with file.open("rb") as opened:
            values = json.loads(opened.read(MAX_FILE_BYTES + 1))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    is_list = isinstance(values, dict) and all(isinstance(known, str) for known in values.values())
    return values if is_list else None
