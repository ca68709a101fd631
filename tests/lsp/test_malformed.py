"""Messages that are not what they should be: a request always gets an answer, and nobody a popup."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.harness import EMPTY, Editor, RpcError, inline_params
from tests.fakes import OTHER


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"textDocument": {"uri": OTHER}},
        {**inline_params(OTHER, 0, 0), "position": {"line": -1, "character": 0}},
        {**inline_params(OTHER, 0, 0), "position": {"line": "SECRET", "character": 0}},
        {**inline_params(OTHER, 0, 0), "context": {}},
        {**inline_params(OTHER, 0, 0), "context": {"triggerKind": 99}},
    ],
)
async def test_malformed_params_get_an_answer_and_no_popup(
    editor: Editor, params: Any, caplog: pytest.LogCaptureFixture
) -> None:
    editor.open(OTHER, "x")
    assert await editor.request("textDocument/inlineCompletion", params) == EMPTY
    assert len((await editor.complete(OTHER))["items"]) == 1
    assert editor.received == []
    own = [record.getMessage() for record in caplog.records if record.name.startswith("completiond")]
    assert not any("SECRET" in line for line in own)


async def test_an_unknown_method_is_an_error(editor: Editor) -> None:
    with pytest.raises(RpcError) as caught:
        await editor.request("textDocument/hover", {})
    assert caught.value.code == -32601
    assert editor.received == []


@pytest.mark.parametrize(
    "message", [{"id": 77, "method": "shutdown"}, {"jsonrpc": "1.0", "id": 77, "method": "shutdown"}]
)
async def test_another_json_rpc_is_an_error(editor: Editor, message: dict[str, Any]) -> None:
    _, answer = editor.prepare("shutdown")
    editor._answers[77] = answer
    editor.send(message)
    with pytest.raises(RpcError):
        await asyncio.wait_for(answer, 10)


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"3", b"{}", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":9}', b'{"jsonrpc":"2.0","id":[]}']
)
async def test_what_is_no_message_does_not_end_the_connection(editor: Editor, body: bytes) -> None:
    editor.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert await editor.complete(OTHER) == EMPTY
