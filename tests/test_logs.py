"""The lines of the log: what is written, and how they are read."""

from __future__ import annotations

import json
import logging
from datetime import datetime

import pytest

from completiond.log_line import LogLine
from completiond.logs import JsonFormatter


def record(message: str = "two\nlines \x1b[31m", error: Exception | None = None) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("completiond.daemon", logging.WARNING, __file__, 1, message, None, info)


def test_a_record_is_one_line_of_json() -> None:
    line = JsonFormatter().format(record())
    entry = json.loads(line)
    assert len(line.splitlines()) == 1
    assert entry.keys() == {"time", "level", "logger", "message"}
    assert (entry["level"], entry["logger"], entry["message"]) == (
        "warning", "completiond.daemon", "two\nlines \x1b[31m",
    )  # fmt: skip
    assert datetime.fromisoformat(entry["time"]).tzinfo is not None


def test_people_read_it_without_control_characters() -> None:
    line = LogLine.parse(JsonFormatter().format(record()) + "\n")
    assert str(line).endswith(" WARNING completiond.daemon: two\nlines ?[31m")
    assert str(line).startswith(line.time[:10])


def test_a_traceback_comes_along() -> None:
    try:
        raise ValueError("broken")
    except ValueError as error:
        line = JsonFormatter().format(record("loading failed", error))
    assert len(line.splitlines()) == 1
    assert "ValueError: broken" in str(LogLine.parse(line))


@pytest.mark.parametrize("line", ["", "a warning", "{", '{"message": 3}', "[]", '{"level": "info"}', "null"])
def test_what_is_no_entry_is_a_message(line: str) -> None:
    assert LogLine.parse(line + "\r\n") == LogLine("", "", "", line)
    assert str(LogLine.parse(line)) == line
