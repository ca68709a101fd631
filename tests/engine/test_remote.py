"""The client of a remote engine against a real server: what it sends, what it makes of answers, and when it lets go."""

from __future__ import annotations

import itertools
import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from completiond.engine.portion import Portion
from completiond.engine.remote import RemoteServer
from completiond.engine.remote_address import RemoteAddress
from completiond.errors import CompletiondError, RemoteDownError, RemoteRefusedError
from tests.remote_server import DONE, KEY, PATIENCE_S, Reply, Server, event, serving, writes

LONG_MS = 20_000


@contextmanager
def client_of(
    base_url: str, model: str = "big-coder", key: str = KEY, timeout_ms: int = LONG_MS
) -> Iterator[RemoteServer]:
    client = RemoteServer(RemoteAddress.parse(base_url), model, key, timeout_ms)
    try:
        yield client
    finally:
        client.close()


def text_of(client: RemoteServer, **fields: object) -> str:
    return "".join(portion.text for portion in portions_of(client, **fields))


def portions_of(client: RemoteServer, **fields: object) -> list[Portion]:
    return [portion for portion in client.complete({"prompt": "def f(", **fields}) if portion is not None]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def test_what_is_asked_and_what_comes(server: Server) -> None:
    server.reply = writes("self", ", ", "größe", ")")
    with client_of(server.base_url) as client:
        assert text_of(client, suffix=":\n", max_tokens=7) == "self, größe)"
    (asked,) = server.questions
    assert asked.body == {
        "model": "big-coder", "prompt": "def f(", "suffix": ":\n", "max_tokens": 7, "stream": True,
    }  # fmt: skip
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["User-Agent"].startswith("completiond/")


def test_without_a_key_none_is_sent(server: Server) -> None:
    with client_of(server.base_url, key="") as client:
        text_of(client)
    assert "Authorization" not in server.questions[0].headers


def test_the_first_of_its_models_is_asked_unless_one_is_named(server: Server) -> None:
    with client_of(server.base_url, model="") as client:
        client.connect()
        assert client.model == "big-coder"
        assert not client.ends_answers
        text_of(client)
    assert server.questions[0].body["model"] == "big-coder"
    with client_of(server.base_url, model="other") as client:
        client.connect()
        assert client.model == "other"


def test_a_completiond_is_known_by_its_list(server: Server) -> None:
    models = {"data": [{"id": "ours", "owned_by": "completiond"}]}
    server.models = Reply([json.dumps(models).encode()], content_type="application/json")
    with client_of(server.base_url, model="") as client:
        client.connect()
        assert client.ends_answers


def test_a_server_without_a_list_is_taken_at_the_users_word(server: Server) -> None:
    server.models = Reply(status=404)
    with client_of(server.base_url, model="mine") as client:
        client.connect()
        assert client.model == "mine"
    with client_of(server.base_url, model="") as client, pytest.raises(RemoteDownError):
        client.connect()


def test_a_unix_socket(tmp_path: Path) -> None:
    with serving(socket=str(tmp_path / "s")) as server, client_of(server.base_url) as client:
        client.connect()
        assert text_of(client) == "text"


def test_this_machine_is_not_asked_by_a_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with client_of(server.base_url) as client:
        assert text_of(client) == "text"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_come_in_any_portions(server: Server, size: int) -> None:
    whole = b"".join([
        b": a comment\r\n\r\n", b"event: x\nid: 1\n", event("größe "), b"retry: 10\n\n", event("\u2028\x0b= 😀"),
        event("", "stop"), DONE,
    ])  # fmt: skip
    server.reply = Reply([whole[at : at + size] for at in range(0, len(whole), size)])
    with client_of(server.base_url) as client:
        assert text_of(client) == "größe \u2028\x0b= 😀"


def test_a_server_that_does_not_stream(server: Server) -> None:
    body = json.dumps({"choices": [{"text": "all of it", "finish_reason": "length"}]}).encode()
    server.reply = Reply([body[:9], body[9:]], content_type="application/json; charset=utf-8")
    with client_of(server.base_url) as client:
        assert portions_of(client) == [Portion("all of it", "length")]


def test_fill_in_the_middle_that_looks_like_chat(server: Server) -> None:
    lines = [b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', b'data: {"choices":[],"usage":{}}\n\n', DONE]
    server.reply = Reply(lines)
    with client_of(server.base_url) as client:
        assert text_of(client) == "a"


def test_half_a_character_of_utf_16_becomes_a_sign_that_can_be_shown(server: Server) -> None:
    server.reply = Reply([b'data: {"choices":[{"text":"a\\ud83d"}]}\n\n', DONE])
    with client_of(server.base_url) as client:
        assert text_of(client) == "a\ufffd"


def test_a_stream_that_just_ends_is_an_end(server: Server) -> None:
    server.reply = Reply([event("a"), event("b").rstrip()])
    with client_of(server.base_url) as client:
        assert text_of(client) == "ab"


@pytest.mark.parametrize(
    "reply",
    [
        Reply([b"data: {\"choices\": [{\"te"]),
        Reply([b"data: \xff\xfe\n\n"]),
        Reply([b"data: []\n\n"]),
        Reply([b"data: {}\n\n"]),
        Reply([b'data: {"choices": [7]}\n\n']),
        Reply([b'data: {"choices": [{"text": 7}]}\n\n']),
        Reply([b"data: " + b"[" * 100_000 + b"\n\n"]),
        Reply([b"data: " + b"x" * 2_000_000]),
        Reply([b"data: 123456\n" * 200_000]),
        Reply([b"hello"]),
        Reply([]),
        Reply([b"<html>"], content_type="text/html"),
        Reply([b"x" * 2_000_000], content_type="text/html"),
        Reply([b"\xff"], content_type="application/json"),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_is_no_answer_is_an_error_with_advice(server: Server, reply: Reply) -> None:
    server.reply = reply
    with client_of(server.base_url) as client, pytest.raises(RemoteDownError, match="no completions as OpenAI's") as it:
        text_of(client)
    assert it.value.advice
    assert len(server.questions) == 1


@pytest.mark.parametrize(
    ("status", "kind", "words", "times"),
    [
        (301, RemoteDownError, "sends elsewhere", 1),
        (400, RemoteRefusedError, "refuses the request", 1),
        (401, RemoteDownError, "refuses the key", 1),
        (403, RemoteDownError, "refuses the key", 1),
        (404, RemoteDownError, "no model 'big-coder'", 1),
        (413, RemoteRefusedError, "refuses the request", 1),
        (429, RemoteRefusedError, "too much to do", 3),
        (500, RemoteDownError, "has failed", 1),
        (503, RemoteDownError, "not ready", 3),
    ],
)
def test_each_status_is_an_error_that_says_what_to_do(
    server: Server, status: int, kind: type[CompletiondError], words: str, times: int
) -> None:
    server.reply = Reply([b'{"error": {"message": "you sent: def f("}}'], status, "application/json")
    with client_of(server.base_url) as client, pytest.raises(kind, match=words) as it:
        text_of(client)
    assert it.value.advice
    assert "def f(" not in str(it.value)
    assert KEY not in str(it.value)
    assert len(server.questions) == times


def test_a_key_that_is_missing_is_asked_for(server: Server) -> None:
    server.reply = Reply(status=401)
    with client_of(server.base_url, key="") as client, pytest.raises(RemoteDownError, match="wants a key") as it:
        text_of(client)
    assert "COMPLETIOND_ENGINE_REMOTE_KEY" in it.value.advice


def test_who_takes_no_suffix_is_to_be_asked_in_a_family_s_template(server: Server) -> None:
    server.reply = Reply(status=400)
    with client_of(server.base_url) as client:
        with pytest.raises(RemoteRefusedError, match=r"engine\.remote_format"):
            text_of(client, suffix="x")
        with pytest.raises(RemoteRefusedError, match="prefix_tokens"):
            text_of(client)


def test_an_error_in_the_middle_of_a_stream(server: Server) -> None:
    server.reply = Reply([event("a"), b'data: {"error": {"message": "out of memory"}}\n\n'])
    with client_of(server.base_url) as client, pytest.raises(RemoteDownError, match="has failed"):
        text_of(client)


def test_what_fails_for_a_moment_is_tried_again(server: Server) -> None:
    server.replies.extend([Reply(status=503), Reply(breaks=True, status=429)])
    with client_of(server.base_url) as client:
        assert text_of(client) == "text"
    assert len(server.questions) == 3


def test_what_breaks_off_behind_the_first_text_is_not_tried_again(server: Server) -> None:
    server.reply = Reply([event("a")], breaks=True)
    with client_of(server.base_url) as client, pytest.raises(RemoteDownError, match="broke the connection off"):
        text_of(client)
    assert len(server.questions) == 1


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with client_of(f"http://127.0.0.1:{port}/v1") as client:
        with pytest.raises(RemoteDownError, match=f"127.0.0.1:{port} does not answer. Start it"):
            client.connect()
        with pytest.raises(RemoteDownError, match="does not answer"):
            text_of(client)


def test_no_socket_there(tmp_path: Path) -> None:
    with (
        client_of(f"unix:{tmp_path}/none") as client,
        pytest.raises(RemoteDownError, match=f"{tmp_path}/none does not answer"),
    ):
        client.connect()


def test_a_server_that_says_nothing(server: Server) -> None:
    server.reply = Reply([event("a")], hangs=True)
    with (
        client_of(server.base_url, timeout_ms=300) as client,
        pytest.raises(RemoteDownError, match=r"within 300 ms.*engine\.timeout_ms"),
    ):
        text_of(client)
    assert server.disconnected.wait(PATIENCE_S)


@pytest.mark.parametrize("reply", [Reply([event("a")], hangs=True), Reply(hangs=True)], ids=["after a word", "before"])
def test_who_stops_reading_closes_the_connection_though_nothing_comes(server: Server, reply: Reply) -> None:
    server.reply = reply
    with client_of(server.base_url) as client:
        items = client.complete({"prompt": "x"})
        waited = list(itertools.islice(items, 5))
        assert None in waited, "the thread is given back while nothing comes"
        items.close()
        assert server.disconnected.wait(PATIENCE_S)
        server.reply = writes("b")
        assert text_of(client) == "b"


def test_who_stops_reading_in_the_middle_of_a_stream_closes_the_connection(server: Server) -> None:
    server.reply = Reply(itertools.repeat(event("a" * 1000), 100_000))  # type: ignore[arg-type]
    with client_of(server.base_url) as client:
        items = client.complete({"prompt": "x"})
        assert any(item is not None for item in items)
        items.close()
        assert server.disconnected.wait(PATIENCE_S)


def test_who_waits_for_another_try_can_leave(server: Server) -> None:
    server.reply = Reply(status=503)
    with client_of(server.base_url) as client:
        items = client.complete({"prompt": "x"})
        while not server.questions:
            assert next(items) is None
        items.close()
    time.sleep(0.2)
    assert len(server.questions) == 1


def test_a_server_that_was_away_is_found_again(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with client_of(f"unix:{path}") as client:
        for _ in range(2):
            with pytest.raises(RemoteDownError):
                text_of(client)
            with serving(socket=path):  # the connection that is kept ends with it
                assert text_of(client) == "text"


def test_neither_text_nor_key_is_logged(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("completiond"), "propagate", True)
    with caplog.at_level(logging.DEBUG), client_of(server.base_url) as client:
        client.connect()
        text_of(client, suffix="a secret suffix")
        server.reply = Reply(status=401)
        with pytest.raises(RemoteDownError):
            text_of(client)
    for words in (KEY, "def f(", "a secret suffix"):
        assert words not in caplog.text
    assert KEY not in repr(client)


@pytest.mark.parametrize(
    ("text", "base_url", "shown", "is_here"),
    [
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1", "127.0.0.1:8000", True),
        ("http://localhost:1/v1", "http://localhost:1/v1", "localhost:1", True),
        ("http://[::1]:8/v1", "http://[::1]:8/v1", "[::1]:8", True),
        ("https://api.example.com/beta", "https://api.example.com/beta", "api.example.com", False),
        ("http://10.0.0.1:80/v1", "http://10.0.0.1:80/v1", "10.0.0.1:80", False),
        ("unix:/run/x.sock", "http://localhost/v1", "/run/x.sock", True),
        ("unix:///run/x.sock", "http://localhost/v1", "/run/x.sock", True),
    ],
)
def test_addresses(text: str, base_url: str, shown: str, is_here: bool) -> None:
    address = RemoteAddress.parse(text)
    assert (address.base_url, address.shown, address.is_here) == (base_url, shown, is_here)
    assert address.is_plain == (text.startswith("http://") and not is_here)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("127.0.0.1:8000", "http://"),
        ("ftp://x/v1", "http://"),
        ("http:///v1", "http://"),
        ("http://x:99999/v1", "no URL"),
        ("http://x:8000", "no path"),
        ("http://x/", "no path"),
        ("http://user:hunter2@x/v1", "engine.remote_key_file"),
        ("http://x/v1?key=hunter2", "behind its path"),
        ("unix:x.sock", "absolute"),
    ],
)
def test_addresses_that_are_none(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as it:
        RemoteAddress.parse(text)
    assert "hunter2" not in str(it.value)
