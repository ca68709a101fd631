"""One line of the daemon's log, which is a JSON object. Standard library only: the shim imports it."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["LogLine"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """``level`` is empty for a line that is no entry of ours, such as a library's warning: it is all ``message``."""

    level: str
    time: str
    logger: str
    message: str

    @classmethod
    def parse(cls, line: str) -> LogLine:
        """Read a line, whatever it is."""
        line = line.rstrip("\r\n")
        try:
            entry = json.loads(line) if line.startswith("{") else None
        except ValueError:  # half a line, perhaps
            entry = None
        if not isinstance(entry, dict) or not isinstance(entry.get("message"), str):
            return cls("", "", "", line)
        message = "\n".join(str(entry[name]) for name in ("message", "traceback") if name in entry)
        return cls(str(entry.get("level", "")), str(entry.get("time", "")), str(entry.get("logger", "")), message)

    def __str__(self) -> str:
        """For people, in characters that a terminal only prints."""
        text = " ".join(part for part in (self.time, self.level.upper(), f"{self.logger}:", self.message) if part)
        text = text if self.level else self.message
        return "".join(char if char.isprintable() or char in "\n\t" else "?" for char in text)
