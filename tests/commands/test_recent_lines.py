"""What a user reads of the last requests."""

from __future__ import annotations

from typing import Any

import pytest

from completiond.commands.recent_lines import recent_lines

ANSWER: dict[str, Any] = {
    "ago_s": 3.2, "client": "Neovim", "document": "src/a.py", "line": 12, "column": 8, "lines": 3, "characters": 41,
    "served_from": "engine", "took_ms": 210.4, "reason": "eos", "meaning": "It ended.",
}  # fmt: skip
NOTHING = {**ANSWER, "lines": 0, "characters": 0, "served_from": "", "reason": "superseded", "meaning": "Too late."}


def shown(**changed: Any) -> str:
    """The first of the lines for one request."""
    return next(recent_lines([{**ANSWER, **changed}]))


def test_each_request_has_two_lines() -> None:
    assert list(recent_lines([ANSWER, NOTHING])) == [
        "3 s ago · Neovim · src/a.py 12:8 · 3 lines, 41 characters · written by the model · 210 ms",
        "    eos: It ended.",
        "3 s ago · Neovim · src/a.py 12:8 · nothing · 210 ms",
        "    superseded: Too late.",
    ]
    assert list(recent_lines([])) == []


@pytest.mark.parametrize(
    ("seconds", "ago"),
    [(0.0, "0 s"), (59.9, "59 s"), (60.0, "1 min"), (7199.0, "1 h"), (86400.0, "1 day"), (200000.0, "2 days")],
)
def test_how_long_ago_is_a_number_and_a_unit(seconds: float, ago: str) -> None:
    assert shown(ago_s=seconds).startswith(f"{ago} ago · ")


def test_what_has_no_name_is_called_something() -> None:
    assert " · command line or plugin · no name 12:8 · " in shown(client="", document="")


@pytest.mark.parametrize(("way", "words"), [("running", "an answer on its way"), ("cache", "kept"), ("x", " · x · ")])
def test_where_an_answer_was_from(way: str, words: str) -> None:
    assert words in shown(served_from=way)


def test_one_is_singular() -> None:
    assert " · 1 line, 1 character · " in shown(lines=1, characters=1)


def test_a_code_that_the_daemon_cannot_explain_is_shown_as_it_is() -> None:
    assert list(recent_lines([{**NOTHING, "reason": "of tomorrow", "meaning": ""}]))[1] == "    of tomorrow"
