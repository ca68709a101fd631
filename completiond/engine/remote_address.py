"""Where a remote engine is: an ``http(s)`` URL, or a Unix socket of this machine."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["RemoteAddress"]

_SOCKET = "unix:"


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """``base_url`` has no slash at its end. ``socket``: the Unix socket to connect to, None for a network. ``shown``:
    what people read: host and port, or the socket's path.
    """

    base_url: str
    socket: str | None
    shown: str

    @classmethod
    def parse(cls, text: str) -> RemoteAddress:
        """Raises ValueError that says what is wrong and does not repeat ``text``, which may hold a password."""
        if text.startswith(_SOCKET):
            path = text.removeprefix(_SOCKET).removeprefix("//")
            if not Path(path).is_absolute():
                raise ValueError("a socket's path has to be absolute: unix:/path/to.sock")
            return cls("http://localhost/v1", path, path)
        try:
            url = urlsplit(text)
            host, port = url.hostname, url.port
        except ValueError:
            raise ValueError("is no URL; write it as http://host:port/v1") from None
        if url.scheme not in ("http", "https") or not host:
            raise ValueError("has to begin with http://, https:// or unix:/")
        if url.username is not None or url.password is not None:
            raise ValueError("may not hold a name or a password; a key goes into a file, see engine.remote_key_file")
        if url.query or url.fragment:
            raise ValueError("may have nothing behind its path")
        if not url.path.strip("/"):
            raise ValueError("has no path; most servers want /v1 behind the port")
        shown = f"[{host}]" if ":" in host else host
        return cls(text.rstrip("/"), None, f"{shown}:{port}" if port else shown)

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine: no proxy is asked then, whatever the environment says."""
        if self.socket is not None:
            return True
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def is_plain(self) -> bool:
        """Whether who listens on the way can read what is sent."""
        return not self.is_here and self.base_url.startswith("http://")
