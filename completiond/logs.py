"""Logging without users' code: errors are logged by type and place, and pygls, which logs message bodies, is silent.

In a terminal a line is made for people. Everywhere else it is one JSON object: ``time``, ``level``, ``logger``,
``message``, and ``traceback`` if there is one; `completiond logs` makes it readable.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from datetime import datetime
from typing import Any

from completiond.errors import CompletiondError

__all__ = ["JsonFormatter", "configure_logging", "describe", "log_loop_errors"]

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON. Times have milliseconds and the local offset from UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter.format."""
        entry = {
            "time": datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def configure_logging(level: int = logging.INFO) -> None:
    """Send this package's log to standard error, for a program that is not embedded in another."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT) if sys.stderr.isatty() else JsonFormatter())
    logger = logging.getLogger("completiond")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
    # pygls logs the bodies of messages (users' code) on info, and the parameters of failed ones on error.
    pygls_logger = logging.getLogger("pygls")
    pygls_logger.handlers[:] = [logging.NullHandler()]
    pygls_logger.propagate = False


def describe(error: BaseException) -> str:
    """Return where ``error`` was raised and its type; its message too if it is ours, since others may quote code."""
    if isinstance(error, CompletiondError):
        return f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    places = " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-6:])
    return f"{type(error).__name__} at {places or 'an unknown place'}"


def log_loop_errors(loop: asyncio.AbstractEventLoop, logger: logging.Logger) -> None:
    """Log what goes wrong in callbacks and forgotten tasks in the same careful way."""

    def handler(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        logger.error("In the event loop: %s", describe(error) if error else context.get("message", "unknown error"))

    loop.set_exception_handler(handler)
