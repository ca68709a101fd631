"""Holes asked of another server over HTTP, and servers that fail."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from completiond.bench.fim.hole import make_holes
from completiond.bench.fim.infill import InfillServer
from completiond.bench.fim.score import FimAnswer
from completiond.errors import CompletiondError, UsageError
from tests.bench.fim.infill_server import serve
from tests.bench.fim.problems import DOUBLE, SIGN
from tests.models.wheelhouse import unused_url

HOLE = make_holes("single", [DOUBLE], 2)[0]


def _reply(content: object, **more: Any) -> tuple[int, bytes]:
    return 200, json.dumps({"content": content, **more}).encode()


def test_what_is_asked_and_what_is_made_of_the_answer() -> None:
    text = "y = 2 * x\n    return y\n\n\n"
    timings = {"predicted_per_token_ms": 31.5, "predicted_n": 12}
    with serve(lambda order: _reply(text, tokens_predicted=12, timings=timings)) as (url, asked):
        for address in (url, url + "/", url + "/infill"):
            answers = InfillServer(address, 64).ask(HOLE)
    order = {
        "input_prefix": HOLE.prefix,
        "input_suffix": HOLE.suffix,
        "n_predict": 64,
        "temperature": 0.0,
        "stream": False,
        "cache_prompt": True,
    }
    assert asked == [("/infill", order)] * 3
    assert answers == {
        "raw": FimAnswer(text, 12, 31.5),
        "first line": FimAnswer("y = 2 * x"),
        "oracle cut": FimAnswer("y = 2 * x"),
    }


def test_the_oracle_keeps_as_many_lines_as_the_reference() -> None:
    hole = next(hole for hole in make_holes("multi", [SIGN], 99) if hole.expected == "if x > 0:\n        return 1")
    with serve(lambda order: _reply("if x:\n        return 1\n    return 0\n")) as (url, _):
        answers = InfillServer(url, 64).ask(hole)
    assert answers["first line"] == FimAnswer("if x:")
    assert answers["oracle cut"] == FimAnswer("if x:\n        return 1")


@pytest.mark.parametrize("more", [{}, {"tokens_predicted": "12", "timings": None}, {"timings": {"predicted_n": 3}}])
def test_figures_may_be_missing(more: dict[str, Any]) -> None:
    with serve(lambda order: _reply("x", **more)) as (url, _):
        assert InfillServer(url, 64).ask(HOLE)["raw"] == FimAnswer("x")


UNSUPPORTED = json.dumps({"error": {"code": 501, "message": "Infill is not supported by this model"}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (501, UNSUPPORTED, "refuses with status 501: Infill is not supported by this model."),
        (404, b"<html>", "refuses with status 404: Not Found."),
        (503, b'{"error": "busy"}', "refuses with status 503: busy."),
        (503, b'{"error": 3}', "refuses with status 503: Service Unavailable."),
        (200, b"\x1b[31mred", r"answers no JSON: \x1b[31mred."),
        (200, b"<html>welcome</html>", "answers no JSON: <html>welcome</html>."),
        (200, b"\xff\xfe", "answers no JSON"),
        (200, b"", "answers no JSON"),
        (200, b"[]", "answers no text in content: []."),
        (200, b'{"text": "x"}', "answers no text in content"),
        (200, b'{"content": 7}', "answers no text in content"),
    ],
)
def test_a_server_that_answers_something_else(status: int, body: bytes, message: str) -> None:
    with serve(lambda order: (status, body)) as (url, _), pytest.raises(CompletiondError) as raised:
        InfillServer(url, 64).ask(HOLE)
    assert message in raised.value.message
    assert raised.value.message.startswith(f"{url}/infill ")
    assert raised.value.advice


def test_a_server_that_is_not_there() -> None:
    url = unused_url()
    with pytest.raises(CompletiondError, match=f"{url}/infill cannot be reached: Connection refused.") as raised:
        InfillServer(url, 64).ask(HOLE)
    assert raised.value.exit_status == 1


def test_a_server_that_hangs_up() -> None:
    with (
        serve(lambda order: (0, b"")) as (url, _),
        pytest.raises(CompletiondError, match="cannot be reached: Remote end"),
    ):
        InfillServer(url, 64).ask(HOLE)


def test_a_server_that_keeps_silent() -> None:
    done = threading.Event()

    def wait(order: dict[str, Any]) -> tuple[int, bytes]:
        done.wait()
        return _reply("too late")

    with serve(wait) as (url, _):
        try:
            with pytest.raises(CompletiondError, match="cannot be reached: timed out"):
                InfillServer(url, 64, timeout_s=0.2).ask(HOLE)
        finally:
            done.set()


def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", unused_url())
    with serve(lambda order: _reply("x")) as (url, _):
        assert InfillServer(url, 64).ask(HOLE)["raw"].text == "x"


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://a", "http://", "http://a:b", "http://[", "http://a:99999"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a server"):
        InfillServer(url, 64)
