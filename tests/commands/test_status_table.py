"""What a user reads of the daemon's status."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from completiond.commands.status_table import status_table

STATUS: dict[str, Any] = {
    "phase": "ready", "progress": 1.0, "detail": "", "model": "a-model", "device": "cpu", "dtype": "int8",
    "fim": "qwen", "pid": 17, "uptime_s": 3700.0, "rss_mb": 812.3, "version": "1.2",
    "socket": "/run/s[1].sock", "http": "http://127.0.0.1:8012", "clients": 2,
    "counters": {"requests": 3, "answered": 2, "superseded": 0, "cancelled": 0, "empty": 1, "cached": 1},
    "dictionary": {"documents": 12, "tokens": 34567, "bytes": 2_100_000, "excluded_documents": 0},
    "acceptance": [], "given_up": ["something"],
}  # fmt: skip


def rows(without: str = "", **changed: Any) -> dict[str, str]:
    """Names and texts of the rows."""
    values = {name: value for name, value in {**STATUS, **changed}.items() if name != without}
    console = Console(width=200)
    with console.capture() as capture:
        console.print(status_table(values))
    lines = capture.get().splitlines()
    start = next(line for line in lines if line.startswith("state")).index("ready")
    return {line[:start].strip(): line[start:].strip() for line in lines}


def test_each_thing_has_its_row() -> None:
    shown = rows()

    assert (shown["state"], shown["model"], shown["runs on"]) == ("ready", "a-model", "cpu int8")
    assert shown["process"] == "17, up 1 h 1 min, 812 MB"
    assert shown["requests"] == "3, 2 answered, 0 superseded, 0 cancelled, 1 empty, 1 cached"
    assert shown["socket"] == "/run/s[1].sock", "brackets are no markup"
    assert shown["http"] == "http://127.0.0.1:8012"
    assert "http" not in rows(http=None)


def test_the_state_s_detail_stands_there_when_it_says_more() -> None:
    assert rows(detail="ready")["state"] == "ready"
    assert rows(detail="short of memory")["state"] == "ready (short of memory)"


def test_the_dictionary_and_what_is_excluded_from_it() -> None:
    assert rows()["dictionary"] == "12 documents, 34567 tokens, 2.1 MB"
    state = {**STATUS["dictionary"], "excluded_documents": 3}
    assert rows(dictionary=state)["dictionary"] == "12 documents, 34567 tokens, 2.1 MB; 3 more excluded"


def test_acceptance_is_the_share_of_all_checked_guesses_of_a_source() -> None:
    entries = [
        {"source": "ngram", "temperature": 0.0, "tried": [60, 30], "accepted": [40, 20]},
        {"source": "ngram", "temperature": 0.8, "tried": [10], "accepted": [0]},
        {"source": "other", "temperature": 0.0, "tried": [4], "accepted": [4]},
        {"source": "idle", "temperature": 0.0, "tried": [0], "accepted": [0]},
    ]
    shown = rows(acceptance=entries)["acceptance"]

    assert shown == "ngram 60 % of 100 checked guesses, other 100 % of 4 checked guesses"


def test_what_was_given_up_for_want_of_memory() -> None:
    assert "given up" not in rows(given_up=[])
    assert rows(given_up=["a is 1 instead of 2", "no b"])["given up"] == "a is 1 instead of 2; no b"


def test_what_is_wrong_with_the_settings() -> None:
    assert "settings" not in rows(problems=[])
    assert rows(problems=["a:2: b is wrong", "c is none"])["settings"] == "a:2: b is wrong; c is none"


def test_what_clients_took_if_they_said_so() -> None:
    assert "taken" not in rows(accepts={"answers": 0, "whole": 0, "characters": 0})
    shown = rows(accepts={"answers": 3, "whole": 2, "characters": 50})["taken"]
    assert shown == "3 answers, 2 of them whole, 50 characters"


@pytest.mark.parametrize("missing", ["dictionary", "acceptance", "given_up"])
def test_what_an_older_daemon_does_not_tell_has_no_row(missing: str) -> None:
    assert missing.replace("_", " ") not in rows(without=missing)
