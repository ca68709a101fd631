"""Clients that ask for it are told an inline completion while it is being written."""

from __future__ import annotations

from typing import Any

import pytest

from completiond.lsp.inline import PARTIAL
from completiond.paths import Paths
from tests.e2e.harness import EMPTY, Editor, until
from tests.fakes import HANG, OTHER, SLOW, FakeService

WANTED = {"completiond": {"partialInlineCompletion": True}}


def partials(editor: Editor) -> list[Any]:
    return [message["params"] for message in editor.received if message["method"] == PARTIAL]


async def test_each_notification_has_all_of_the_text_so_far_and_the_answer_is_the_last(daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        announced = await editor.initialize(experimental=WANTED)
        assert announced["experimental"] == WANTED
        editor.open(SLOW, "ab\ncd", version=7)
        (item,) = (await editor.complete(SLOW, 1, 99))["items"]
        place = {"textDocument": {"uri": SLOW, "version": 7}, "position": {"line": 1, "character": 2}}
        texts = [params["insertText"] for params in partials(editor)]
        assert texts == ["s", "sl", "slo", "slow"]
        assert item["insertText"] == "slow"
        for params in partials(editor):
            assert params.items() >= place.items()
            assert "".join(span["text"] for span in params["spans"]) == params["insertText"]
            assert {span["source"] for span in params["spans"]} == {"model"}


@pytest.mark.parametrize(
    "experimental", [None, {}, 3, {"completiond": True}, {"completiond": {"partialInlineCompletion": 1}}]
)
async def test_other_clients_are_told_nothing_on_the_way_and_have_a_deadline(
    daemon_paths: Paths, service: FakeService, experimental: Any
) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize(experimental=experimental)
        editor.open(SLOW, "")
        assert (await editor.complete(SLOW))["items"][0]["insertText"] == "slow"
        assert not partials(editor)
    assert [request.in_lines for request in service.requests] == [True]


async def test_nothing_new_is_not_told(daemon_paths: Paths) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize(experimental=WANTED)
        hush = OTHER.replace("other", "hush")
        editor.open(hush, "")
        assert await editor.complete(hush) == EMPTY
        assert not partials(editor)


async def test_who_is_told_on_the_way_waits_for_the_end(daemon_paths: Paths, service: FakeService) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize(experimental=WANTED)
        editor.open(OTHER, "")
        await editor.complete(OTHER)
    assert [request.in_lines for request in service.requests] == [False]


async def test_a_newer_request_and_a_cancellation_end_it(daemon_paths: Paths, service: FakeService) -> None:
    async with Editor.on_socket(daemon_paths) as editor:
        await editor.initialize(experimental=WANTED)
        editor.open(HANG, "")
        older, newer = editor.ask(HANG), editor.ask(HANG)
        assert await older is None
        await until(lambda: service.num_running == 1)
        editor.notify("textDocument/didClose", {"textDocument": {"uri": HANG}})
        assert await editor.complete(HANG) == EMPTY, "a document that is not open"
        newer.cancel()
        assert not partials(editor)
    await until(lambda: service.num_running == 0)
