"""Every error a user can see.

CompletiondError
├── UsageError                 the command line or a request asks for something that cannot be
│   └── ConfigError            a setting is unknown or has a wrong value
├── ModelError
│   ├── UnknownModelError      no catalogue entry, folder or hub id of that name
│   ├── ModelMissingError      known, but not on this machine yet
│   ├── ModelCorruptError      a file is truncated or its digest is wrong
│   ├── ModelUnsupportedError  the architecture or tokenizer cannot be run
│   └── MemoryFullError        not enough memory to load it, or to answer with it
├── FetchError
│   ├── SourceUnreachableError no source answered
│   └── DiskFullError          not enough room for the download or the prepared weights
└── DaemonError
    ├── DaemonUnreachableError no daemon answers on the socket
    ├── DaemonRunningError     a second daemon was asked for
    ├── NotReadyError          the model is still loading, or failed to load
    │   └── RemoteDownError    a remote engine does not answer, or not as it should
    └── RemoteRefusedError     a remote engine refused one request

Each carries a one-line ``message`` (what is wrong) and ``advice`` (what to do), and the exit status of a command that
ends with it: 2 when the user's input is at fault, 1 otherwise.
"""

from __future__ import annotations

__all__ = [
    "CompletiondError",
    "ConfigError",
    "DaemonError",
    "DaemonRunningError",
    "DaemonUnreachableError",
    "DiskFullError",
    "FetchError",
    "MemoryFullError",
    "ModelCorruptError",
    "ModelError",
    "ModelMissingError",
    "ModelUnsupportedError",
    "NotReadyError",
    "RemoteDownError",
    "RemoteRefusedError",
    "SourceUnreachableError",
    "UnknownModelError",
    "UsageError",
]


class CompletiondError(Exception):
    """Base of all errors shown to a user: ``message`` says what is wrong, ``advice`` what to do about it."""

    exit_status = 1

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class UsageError(CompletiondError):
    """The command line or a request asks for something that cannot be."""

    exit_status = 2

    def __init__(self, message: str, advice: str = "", param: str | None = None) -> None:
        """``param``: the name of the field of a request that is wrong, where it is one."""
        super().__init__(message, advice)
        self.param = param


class ConfigError(UsageError):
    """A setting is unknown or has a wrong value."""


class ModelError(CompletiondError):
    """A model cannot be used."""


class UnknownModelError(ModelError):
    """No catalogue entry, folder or hub id of that name."""

    exit_status = 2


class ModelMissingError(ModelError):
    """The model is known, but its files are not on this machine."""


class ModelCorruptError(ModelError):
    """A model file is truncated or its digest is wrong."""


class ModelUnsupportedError(ModelError):
    """The architecture or the tokenizer of a model cannot be run."""


class MemoryFullError(ModelError):
    """Not enough memory to load a model, or to answer with it."""


class FetchError(CompletiondError):
    """A download failed."""


class SourceUnreachableError(FetchError):
    """No source of a model answered."""


class DiskFullError(FetchError):
    """Not enough room for a download or for prepared weights."""


class DaemonError(CompletiondError):
    """The daemon cannot be reached, started or used."""


class DaemonUnreachableError(DaemonError):
    """No daemon answers on the socket."""


class DaemonRunningError(DaemonError):
    """A second daemon was asked for while one runs."""


class NotReadyError(DaemonError):
    """The model is still loading, or failed to load."""


class RemoteDownError(NotReadyError):
    """A remote engine does not answer, or not as it should."""


class RemoteRefusedError(DaemonError):
    """A remote engine refused one request, and may answer the next."""
