"""Where HTTP is served over TCP: an address of this machine that no other machine reaches."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

__all__ = ["HttpAddress"]

_FORM = re.compile(r"(?P<host>[\w.]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """``host`` is an IP address, without brackets; ``port`` 0: any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> HttpAddress:
        """Read ``127.0.0.1:8012``, ``localhost:0`` or ``[::1]:8012``. Raises ValueError, which says what to write."""
        match = _FORM.fullmatch(text)
        if match is None or int(match["port"]) > 65535:
            raise ValueError(f"{text!r} is no address; write it as '127.0.0.1:8012', with port 0 for any that is free")
        host = match["host"].strip("[]")
        host = "127.0.0.1" if host == "localhost" else host
        try:
            is_loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_loopback = False
        if not is_loopback:
            raise ValueError(f"{text!r} is not this machine alone; use 127.0.0.1, [::1] or localhost")
        return cls(host, int(match["port"]))

    @property
    def is_ipv6(self) -> bool:
        """Whether it is written in brackets."""
        return ":" in self.host

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if self.is_ipv6 else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """What clients are given."""
        return f"http://{self}"

    @property
    def names(self) -> frozenset[str]:
        """The values of a Host header that mean this address. Another name that leads here is somebody's trick."""
        hosts = {"localhost", "127.0.0.1", "[::1]", f"[{self.host}]" if self.is_ipv6 else self.host}
        named = {f"{host}:{self.port}" for host in hosts}
        return frozenset(named | hosts if self.port == 80 else named)
