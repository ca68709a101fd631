"""A real Neovim speaks to the daemon with nothing but what is built in."""

from __future__ import annotations

from pathlib import Path

from completiond.paths import Paths
from tests.api.neovim import run_lua
from tests.api.rpc_examples import example
from tests.e2e.harness import until
from tests.fakes import FakeService, digest

CONNECT = """
local channel = vim.fn.sockconnect('pipe', vim.env.COMPLETIOND_RUNTIME_DIR .. '/rpc.sock', { rpc = true })
"""


async def test_it_opens_a_buffer_and_asks(rpc_paths: Paths, service: FakeService, tmp_path: Path) -> None:
    answer = await run_lua(tmp_path, rpc_paths, CONNECT + """
        vim.rpcrequest(channel, 'hello', { protocol = 1, client = 'Neovim' })
        vim.rpcrequest(channel, 'open', { document = '/p/hash.py', text = 'é = 1\\n', language = 'python' })
        local at = { line = 0, character = #'é' }
        local answer = vim.rpcrequest(channel, 'complete', { document = '/p/hash.py', position = at })
        vim.rpcrequest(channel, 'accept', { answer = answer.answer })
        answer.accepts = vim.rpcrequest(channel, 'status', {}).accepts
        return answer
    """)  # fmt: skip
    assert answer["text"] == f"{digest('é')}:{digest(' = 1' + chr(10))}"
    assert answer["spans"][0] == {"text": digest("é"), "source": "model"}
    assert answer["accepts"] == {"answers": 1, "whole": 1, "characters": 33}
    assert (service.requests[0].client_name, service.requests[0].language_id) == ("Neovim", "python")


async def test_it_shows_errors_in_words(rpc_paths: Paths, tmp_path: Path) -> None:
    said = await run_lua(tmp_path, rpc_paths, CONNECT + """
        vim.rpcrequest(channel, 'hello', { protocol = 1, errors = 'text' })
        local _, unknown = pcall(vim.rpcrequest, channel, 'fly')
        local _, wrong = pcall(vim.rpcrequest, channel, 'complete', { prefix = '', max_tokens = 4096 })
        return { tostring(unknown), tostring(wrong) }
    """)  # fmt: skip
    assert "UnknownMethodError: There is no method 'fly'." in said[0]
    assert "UsageError: max_tokens is 4096. Use fewer." in said[1]


async def test_notifications_that_it_does_not_know_begin_no_endless_talk(rpc_paths: Paths, tmp_path: Path) -> None:
    text = await run_lua(tmp_path, rpc_paths, CONNECT + """
        vim.rpcrequest(channel, 'stream', { prefix = '', path = 'hash.py' })  -- each chunk is an error to Neovim
        vim.rpcnotify(channel, 'change', { document = 'none', edits = {} })
        return vim.rpcrequest(channel, 'complete', { prefix = '' }).text
    """)  # fmt: skip
    assert text == "fake"


async def test_the_documentations_example(rpc_paths: Paths, tmp_path: Path) -> None:
    found = await run_lua(tmp_path, rpc_paths, example("lua") + """
        vim.cmd.edit('slow.py')
        vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'x = ' })
        vim.api.nvim_win_set_cursor(0, { 1, 3 })
        Completiond.stream()
        assert(vim.wait(20000, function() return Completiond.reason end), 'no result came')
        local status = vim.rpcrequest(channel, 'status')
        return { line = vim.api.nvim_get_current_line(), reason = Completiond.reason, accepts = status.accepts }
    """)  # fmt: skip
    assert found == {
        "line": "x = slow",
        "reason": "eos",
        "accepts": {"answers": 1, "whole": 1, "characters": 4},
    }


async def test_what_it_asked_for_ends_with_it(rpc_paths: Paths, service: FakeService, tmp_path: Path) -> None:
    num_running = await run_lua(tmp_path, rpc_paths, CONNECT + """
        vim.rpcnotify(channel, 'stream', { request = 1, prefix = '', path = 'hang.py' })
        vim.rpcnotify(channel, 'stream', { request = 2, prefix = '', path = '/q/hang.py' })
        vim.rpcrequest(channel, 'cancel', { request = 1 })
        return vim.rpcrequest(channel, 'status', {}).counters.cancelled
    """)  # fmt: skip
    assert num_running == 1
    await until(lambda: service.num_running == 0 and service.forgotten)
