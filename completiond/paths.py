"""Where completiond keeps things on this machine. Imported by the shim, so: standard library and platformdirs only."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from completiond.errors import DaemonError

__all__ = ["Paths"]


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one user. ``COMPLETIOND_{CACHE,CONFIG,RUNTIME,STATE}_DIR`` override the platform's own."""

    cache_dir: Path
    config_dir: Path
    runtime_dir: Path
    state_dir: Path

    @classmethod
    def from_environment(cls) -> Paths:
        """Read the environment once; later changes to it do not matter."""

        def folder(variable: str, default: Callable[[], str]) -> Path:
            return Path(os.environ.get(variable) or default()).expanduser().absolute()

        return cls(
            cache_dir=folder("COMPLETIOND_CACHE_DIR", lambda: platformdirs.user_cache_dir("completiond")),
            config_dir=folder("COMPLETIOND_CONFIG_DIR", lambda: platformdirs.user_config_dir("completiond")),
            runtime_dir=folder("COMPLETIOND_RUNTIME_DIR", _default_runtime_dir),
            state_dir=folder("COMPLETIOND_STATE_DIR", lambda: platformdirs.user_state_dir("completiond")),
        )

    @property
    def models_dir(self) -> Path:
        """Downloaded model files, one folder per catalogue name."""
        return self.cache_dir / "models"

    @property
    def prepared_dir(self) -> Path:
        """Weights converted once, ready to load."""
        return self.cache_dir / "prepared"

    @property
    def heads_dir(self) -> Path:
        """Drafting heads that were trained here."""
        return self.cache_dir / "heads"

    @property
    def config_file(self) -> Path:
        """The user's settings (TOML)."""
        return self.config_dir / "config.toml"

    @property
    def trust_file(self) -> Path:
        """Which repositories' settings the user trusts (JSON)."""
        return self.state_dir / "trust.json"

    @property
    def socket(self) -> Path:
        """The daemon's Unix socket."""
        return self.runtime_dir / "daemon.sock"

    @property
    def rpc_socket(self) -> Path:
        """The daemon's Unix socket for msgpack-rpc."""
        return self.runtime_dir / "rpc.sock"

    @property
    def lock(self) -> Path:
        """Held (flock) by the running daemon for as long as it lives; contains its process id."""
        return self.runtime_dir / "daemon.lock"

    @property
    def token_file(self) -> Path:
        """What HTTP clients over TCP have to know."""
        return self.runtime_dir / "http.token"

    @property
    def log_file(self) -> Path:
        """Where a daemon started in the background writes its log."""
        return self.runtime_dir / "daemon.log"

    def make_runtime_dir(self) -> None:
        """Create the runtime folder with mode 0700, or refuse one that others could have planted or can read.

        Raises DaemonError when the folder is a link, belongs to someone else, or cannot be made private.
        """
        try:
            self.runtime_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DaemonError(
                f"{self.runtime_dir} cannot be made a folder: {error.strerror}.",
                "Set COMPLETIOND_RUNTIME_DIR to a folder that only you can reach.",
            ) from error
        info = self.runtime_dir.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            raise DaemonError(
                f"{self.runtime_dir} is not a folder of yours.",
                "Remove it, or set COMPLETIOND_RUNTIME_DIR to a folder that only you can reach.",
            )
        if stat.S_IMODE(info.st_mode) != 0o700:
            try:
                self.runtime_dir.chmod(0o700)
            except OSError as error:
                raise DaemonError(
                    f"{self.runtime_dir} cannot be made private: {error.strerror}.",
                    "Set COMPLETIOND_RUNTIME_DIR to a folder that only you can reach.",
                ) from error


def _default_runtime_dir() -> str:
    """The session's runtime folder; where there is none (no login session), a folder of the user's under the
    temporary one.
    """
    if os.environ.get("XDG_RUNTIME_DIR") or os.name == "nt":
        return platformdirs.user_runtime_dir("completiond")
    return str(Path(tempfile.gettempdir()) / f"completiond-{os.getuid()}")
