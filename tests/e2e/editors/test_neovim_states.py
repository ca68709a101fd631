"""What the Neovim plugin says of itself, its commands, and what becomes of it when something ends."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import Neovim
from tests.e2e.editors.neovim_scripted import RECORD, opened, say, told, until_shown
from tests.e2e.harness import kill_daemon


def test_loading_is_told_in_percent_and_the_statusline_is_drawn_by_an_event(
    any_neovim: Path, paths: Paths, project: Path
) -> None:
    record = (
        "_G.texts = {}; vim.api.nvim_create_autocmd('User', { pattern = 'CompletiondStatus',"
        " callback = function() table.insert(_G.texts, require('completiond').status()) end })"
    )
    with opened(any_neovim, paths, project / "say.py", say("ab"), before=record, FAKE_LOADING="4,0.3,") as editor:
        editor.keys("Gox")
        until_shown(editor, "ab")  # without another key
        texts = list(editor.lua("return _G.texts"))
    assert texts[0] == "completiond starting"
    assert any(text.startswith("completiond loading ") and text.endswith("%") for text in texts)
    assert texts[-1] in ("completiond ready", "completiond busy")


def test_a_model_that_cannot_be_loaded_is_told_once(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab"), FAKE_LOADING="1,0.2,No such model.") as editor:
        editor.until(lambda: "No such model." in editor.lua("return require('completiond').status()"), "the reason")
        editor.keys("Goabc<Esc>oabc")
        editor.until(lambda: told(editor), "a message")
        assert told(editor) == ["completiond: No such model."]


def test_a_program_that_is_missing_is_told_once(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", setup="cmd = { 'no-such-program', 'lsp' }") as editor:
        editor.keys("iabc<Esc>oabc<Esc>")
        editor.until(lambda: told(editor), "a message")
        assert len(told(editor)) == 1
        assert "no-such-program" in told(editor)[0]
        assert editor.lua("return require('completiond').state().phase") == "error"
        editor.vim.command("checkhealth completiond")
        assert any("no-such-program" in line for line in editor.lines)
        assert not any("<Tab> accepts" in line for line in editor.lines)


def test_off_and_on_again(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab")) as editor:
        status = partial(editor.lua, "return require('completiond').status()")
        editor.until_ready()
        assert editor.vim.command_output("Completiond off") == "completiond off"
        assert status() == "completiond off"
        editor.lua(RECORD)
        editor.keys("Gox<Esc>")
        editor.vim.command("Completiond toggle")
        editor.keys("ox")
        until_shown(editor, "ab")
        editor.keys("<Esc>")
        editor.vim.command("Completiond toggle buffer")
        assert status() == "completiond off"
        editor.vim.command("new")
        assert status() == "completiond ready"


def test_restart_ends_the_daemon_and_goes_on_with_another(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab")) as editor:
        editor.until_ready()
        pid = holder_pid(paths.lock)
        editor.vim.command("Completiond restart")
        editor.until(lambda: holder_pid(paths.lock) not in (None, 0, pid), "another daemon")
        editor.until_ready()
        editor.keys("Gox")
        until_shown(editor, "ab")
        assert told(editor) == []


def test_settings_of_the_editor_reach_the_server(any_neovim: Path, paths: Paths, project: Path) -> None:
    wrong = "settings = { completion = { max_tokens = 'many' } }"
    with opened(any_neovim, paths, project / "say.py", say("ab"), setup=wrong) as editor:
        editor.until(lambda: told(editor), "a message")
        assert told(editor)[0].startswith("completiond: settings: ")
        assert told(editor)[0].endswith(":checkhealth completiond"), "which has all of it"
        editor.vim.command("checkhealth completiond")
        assert "completion.max_tokens" in "\n".join(editor.lines)
        editor.vim.command("close")
        editor.keys("Gox")
        until_shown(editor, "ab")
        assert len(told(editor)) == 1


def test_why_and_status(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "empty.py") as editor:
        editor.until_ready()
        editor.vim.command("Completiond status")
        editor.until(lambda: "fake-model" in editor.vim.command_output("messages"), "the daemon's status")
        editor.vim.command("Completiond why")
        editor.until(lambda: "none of the last requests" in editor.vim.command_output("messages"), "an answer")


# Answers in the daemon's place, with requests that came to nothing.
NOTHING = """
local reasons = ...
local server = require('completiond.server')
server.request = function(_, _, _, on_answer)
  local recent = {}
  for number, reason in ipairs(reasons) do
    local place = { document = 'a.py', line = 3, column = 8, ago_s = 2 }
    recent[number] = vim.tbl_extend('error', place, { characters = 0, reason = 'x', meaning = reason })
  end
  on_answer({ recent = recent })
end
"""


def test_whatever_the_reasons_no_key_is_waited_for(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "empty.py", "a\n" * 9) as editor:
        editor.vim.ui_attach(60, 20, rgb=True)
        editor.until_ready()
        for reasons, columns, lines in (
            (["Short."], 60, None),
            (["Short."], 10, ["2 s ago  a.py:3:8  Short."]),
            (["Off.", "Excluded."], 60, ["2 s ago  a.py:3:8  Off.", "2 s ago  a.py:3:8  Excluded."]),
        ):
            editor.vim.ui_try_resize(columns, 20)
            editor.lua(NOTHING, reasons)
            editor.keys(":Completiond why<CR>")
            assert editor.vim.api.get_mode() == {"mode": "n", "blocking": False}
            if lines is None:
                assert "2 s ago  a.py:3:8  Short." in messages(editor)
            else:
                assert window_texts(editor) == [lines]
                editor.keys("j")
                editor.until(lambda: not window_texts(editor), "the window's end")


def window_texts(editor: Neovim) -> list[list[str]]:
    """What floats above the windows."""
    floating = [window for window in editor.vim.windows if window.api.get_config()["relative"]]
    return [list(window.buffer[:]) for window in floating]


def test_the_daemon_is_killed_while_one_types(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "hang.py") as editor:
        editor.until_ready()
        editor.keys("ix")
        editor.until(lambda: editor.lua("return require('completiond').state().phase") == "busy", "a request")
        kill_daemon(paths)
        editor.until(lambda: editor.lua("return require('completiond').state().phase") != "busy", "its end")
        editor.vim.command(f"stopinsert | edit {project / 'say.py'}")
        editor.vim.current.buffer[:] = [json.dumps("ab")]
        editor.keys("Gox")
        until_shown(editor, "ab")
        assert told(editor) == []


SERVERS = "return vim.tbl_map(function(client) return client.id end, vim.lsp.get_clients({ name = 'completiond' }))"


def test_a_server_that_is_killed_again_and_again(any_neovim: Path, paths: Paths, project: Path) -> None:
    wrong = "sttings = {}, keys = { acept = '<Tab>', next = '<Nope>', previous = '' }, filetypes_off = 'python'"
    with opened(any_neovim, paths, project / "say.py", say("ab"), setup=wrong) as editor:
        editor.lua("vim.notify = _G.notify")
        editor.vim.ui_attach(80, 20, rgb=True)
        for _ in range(3):
            editor.keys("<Esc>i")
            editor.until_ready()
            nvim = editor.lua("return vim.uv.os_getpid()")
            for pid in editor.vim.api.get_proc_children(nvim):
                os.kill(pid, signal.SIGKILL)
            editor.until(lambda: editor.vim.api.get_mode()["blocking"] or not editor.lua(SERVERS), "its end")
        editor.until(lambda: editor.vim.api.get_mode()["blocking"] or "signal 9" in messages(editor), "a message")
        assert editor.vim.api.get_mode() == {"mode": "i", "blocking": False}, "nothing to be confirmed"
        assert "ended by signal 9" in editor.lua("return require('completiond').status()")


def messages(editor: Neovim) -> str:
    return str(editor.vim.command_output("messages"))


def test_a_file_that_gets_another_name(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "empty.py", say("ab")) as editor:
        editor.until_ready()
        editor.vim.command(f"file {project / 'say.py'}")
        editor.keys("Gox")
        until_shown(editor, "ab")
        editor.keys("<Tab><Esc>")
        editor.vim.command(f"file {project / 'hush.py'}")
        editor.vim.command(f"file {project / 'say.py'}")
        editor.keys("ox")
        until_shown(editor, "ab")
        assert told(editor) == []
