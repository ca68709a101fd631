from __future__ import annotations

import json

import pytest

from completiond.lsp import wire

MESSAGES = [{"jsonrpc": "2.0", "id": 1, "result": text} for text in ("a", "\r\n\r\n", "日本", "\U0001f600", "")]


@pytest.mark.parametrize("piece_bytes", [1, 2, 7, 1000])
def test_a_stream_in_pieces_of_any_size_gives_the_same_messages(piece_bytes: int) -> None:
    stream = b"".join(wire.encode(message) for message in MESSAGES)
    parser = wire.FrameParser()
    pieces = [stream[start : start + piece_bytes] for start in range(0, len(stream), piece_bytes)]
    assert [wire.parse(body) for piece in pieces for body in parser.feed(piece)] == MESSAGES


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: x\r\n\r\n",
    ],
)
def test_header_fields_in_any_order_and_case(header: bytes) -> None:
    assert list(wire.FrameParser().feed(header + b"{}")) == [b"{}"]


@pytest.mark.parametrize("stream", [b"Content-Size: 2\r\n\r\n{}", b"Content-Length: -2\r\n\r\n", b"x" * 10000])
def test_what_is_not_framed_is_refused(stream: bytes) -> None:
    with pytest.raises(wire.FramingError):
        list(wire.FrameParser().feed(stream))


def test_a_lone_surrogate_survives() -> None:
    (body,) = wire.FrameParser().feed(wire.encode({"text": "\ud83d"}))
    assert wire.parse(body) == {"text": "\ud83d"}


@pytest.mark.parametrize("body", [b"", b"[]", b"3", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_an_error_that_quotes_nothing(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^a message is not"):
        wire.parse(body)


def test_json_is_compact_and_in_utf_8() -> None:
    assert wire.encode({"a": [1, "é"]}) == b'Content-Length: 14\r\n\r\n{"a":[1,"\xc3\xa9"]}'
    assert json.loads(wire.encode({"a": 1}).partition(b"\r\n\r\n")[2]) == {"a": 1}
