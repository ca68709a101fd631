"""What the page asks for, and who gets what: its files, the status, text as it is written."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from typing import Any

import pytest

from completiond.api.page_files import PAGE_PATHS
from completiond.paths import Paths
from tests.api.conftest import ANSWER
from tests.api.daemon import Api, events_of
from tests.e2e.harness import Editor, daemon_in_process, temporary_paths, until
from tests.fakes import FakeService

FILLED = ANSWER.rstrip()
ASKED: dict[str, Any] = {"page": "p1", "path": "a.py", "prefix": "def f():\n    ", "suffix": "\nprint()\n"}
COMPLETE = "/api/complete"


async def test_the_page_needs_no_token_and_only_runs_what_is_here(api: Api) -> None:
    names = {entry.name for entry in files("completiond.api").joinpath("page").iterdir()}
    assert len(PAGE_PATHS) == len(names), "each file has its path"
    for path in sorted(PAGE_PATHS):
        reply = await api.over_tcp(path, token="")
        assert reply.status == 200, path
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ")
        assert "unsafe" not in policy
        assert reply.headers["x-frame-options"] == "deny"
        assert reply.headers["x-content-type-options"] == "nosniff"
    page = await api.over_tcp("/", token="")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page.body)) <= PAGE_PATHS, "nothing from elsewhere"
    assert (await api.over_tcp("/page/app.js", token="")).headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("path", ["/page/", "/page/other.js", "/page/../token.py", "/page/%2e%2e/token.py", "/page"])
async def test_no_other_file_is_given_out(api: Api, path: str) -> None:
    assert (await api.over_tcp(path, "--path-as-is")).status == 404
    assert (await api.over_tcp(path, "--path-as-is", token="")).status == 401


@pytest.mark.parametrize("path", ["/api/status", COMPLETE, "/api/close"])
async def test_what_is_the_users_needs_the_token(api: Api, path: str) -> None:
    body = None if path == "/api/status" else ASKED
    for token in ("", "x" * 43):
        reply = await api.over_tcp(path, body=body, token=token)
        assert (reply.status, reply.json["error"]["type"]) == (401, "authentication_error")
    for header in ("Host: evil.example", "Origin: https://evil.example", "Origin: null"):
        assert (await api.over_tcp(path, "-H", header, body=body)).status == 403
    assert (await api.over_tcp(path, body=body)).status in (200, 204)


async def test_text_comes_as_it_is_written_with_its_origins(api: Api) -> None:
    events = events_of(await api.post(COMPLETE, ASKED))

    *pieces, last = events
    assert "".join(piece["text"] for piece in pieces) == FILLED
    spans = [span for piece in pieces for span in piece["spans"]]
    assert "".join(span["text"] for span in spans) == FILLED
    assert {span["source"] for span in spans} <= {"model", "ngram"}
    completion = last["completion"]
    assert (completion["text"], completion["served_from"], completion["stop_reason"]) == (FILLED, "engine", "eos")
    assert completion["decisions"] == []


async def test_why_there_is_nothing_to_show_is_said_in_words(api: Api) -> None:
    (last,) = events_of(await api.post(COMPLETE, {**ASKED, "path": "secrets/.env"}))

    assert (last["completion"]["text"], last["completion"]["stop_reason"]) == ("", "excluded: secret_name")
    assert last["meaning"].startswith("The name of the file, or of a folder it is in, looks like")


async def test_the_same_question_is_answered_from_memory_and_a_typed_word_goes_on(api: Api) -> None:
    await api.post(COMPLETE, ASKED)
    again = events_of(await api.post(COMPLETE, ASKED))[-1]["completion"]
    typed = events_of(await api.post(COMPLETE, {**ASKED, "prefix": ASKED["prefix"] + "one"}))[-1]["completion"]

    assert (again["text"], again["served_from"]) == (FILLED, "cache")
    assert (typed["text"], typed["served_from"]) == (FILLED.removeprefix("one"), "cache")


async def test_what_was_closed_is_forgotten(api: Api) -> None:
    await api.post(COMPLETE, ASKED)
    other = {**ASKED, "page": "p2"}
    await api.post(COMPLETE, other)

    assert (await api.post("/api/close", {"page": "p1", "path": "a.py"})).status == 204
    assert events_of(await api.post(COMPLETE, ASKED))[-1]["completion"]["served_from"] == "engine"
    assert events_of(await api.post(COMPLETE, other))[-1]["completion"]["served_from"] == "cache", "another page's"


async def test_an_explanation_has_a_line_for_each_pass(api: Api) -> None:
    await api.post(COMPLETE, ASKED)
    completion = events_of(await api.post(COMPLETE, {**ASKED, "explain": True}))[-1]["completion"]

    assert (completion["text"], completion["served_from"]) == (FILLED, "engine")
    assert len(completion["decisions"]) == completion["passes"] > 0
    assert sum(one["accepted"] for one in completion["decisions"]) == completion["accepted"]


async def test_several_answers_are_numbered_and_begin_differently(api: Api) -> None:
    ends = [one for one in events_of(await api.post(COMPLETE, {**ASKED, "count": 3})) if "completion" in one]

    assert [one["number"] for one in ends] == list(range(len(ends)))
    assert len({one["completion"]["text"] for one in ends}) == len(ends) > 1


async def test_the_status_has_figures_of_the_last_answers_and_no_text(api: Api) -> None:
    before = (await api.get("/api/status")).json
    await api.post(COMPLETE, ASKED)
    await api.post(COMPLETE, ASKED)
    await api.post(COMPLETE, {**ASKED, "path": "secrets/.env"})
    reply = await api.get("/api/status")
    status = reply.json

    assert (before["answers"], before["recent"]) == ([], [])
    assert (status["phase"], status["model"], status["drafter"]) == ("ready", "fake", "auto")
    assert [(one["number"], one["served_from"]) for one in status["answers"]] == [(1, "engine"), (2, "cache")]
    first = status["answers"][0]
    assert first["passes"] > 0
    assert first["tokens"] == len(FILLED)
    silent = status["recent"][0]
    assert (silent["client"], silent["document"], silent["reason"]) == ("page", ".env", "excluded: secret_name")
    assert silent["meaning"]
    assert "two" not in reply.body
    assert "def f" not in reply.body
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "prefix"),
        ({**ASKED, "count": 0}, "count"),
        ({**ASKED, "count": 99}, "count"),
        ({**ASKED, "path": "x" * 1025}, "path"),
        ({**ASKED, "page": "x" * 65}, "page"),
        ({**ASKED, "prefix": 1}, "prefix"),
    ],
)
async def test_a_wrong_question_is_told_what_is_wrong(api: Api, body: Any, param: str) -> None:
    reply = await api.post(COMPLETE, body)

    assert (reply.status, reply.json["error"]["param"]) == (400, param)


async def test_too_much_text_is_refused(api: Api) -> None:
    assert (await api.post(COMPLETE, {**ASKED, "prefix": "x" * (9 << 20)})).status == 413


async def _ask(paths: Paths, body: Any) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_unix_connection(str(paths.socket))
    data = json.dumps(body).encode()
    writer.write(f"POST {COMPLETE} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    return writer


async def test_a_page_that_is_gone_is_not_written_for() -> None:
    service = FakeService()
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service):
            writer = await _ask(paths, {**ASKED, "path": "hang.py"})
            await until(lambda: service.num_running == 1)
            writer.close()
            await until(lambda: service.num_running == 0)
            async with Editor.on_socket(paths) as editor:
                assert (await editor.request("completiond/status"))["counters"]["cancelled"] == 1


async def test_a_newer_question_of_a_page_takes_the_older_ones_place() -> None:
    service = FakeService()
    with temporary_paths() as paths:
        async with daemon_in_process(paths, service):
            first = await _ask(paths, {**ASKED, "path": "hang.py"})
            await until(lambda: len(service.requests) == 1)
            other = await _ask(paths, {**ASKED, "path": "hang.py", "page": "p2"})
            await until(lambda: service.num_running == 2)
            newer = await _ask(paths, {**ASKED, "path": "hang.py", "prefix": "x"})
            await until(lambda: len(service.requests) == 3 and service.num_running == 2)
            for writer in (first, other, newer):
                writer.close()
            await until(lambda: service.num_running == 0)
