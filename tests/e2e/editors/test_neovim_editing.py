"""The Neovim plugin on its own language server, with a daemon whose answers are known beforehand (it has no model)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import Neovim, running
from tests.e2e.harness import environment, kill_daemon, temporary_paths
from tests.fakes import digest

CMD = f"cmd = {{ [[{sys.executable}]], '-m', 'completiond', 'lsp' }}"

# All that is drawn from here on, '' for nothing.
RECORD = """
local ghost = require('completiond.ghost')
local show, hide = ghost.show, ghost.hide
_G.drawn = {}
ghost.show = function(buf, row, column, text, hint)
  table.insert(_G.drawn, text)
  return show(buf, row, column, text, hint)
end
ghost.hide = function(buf)
  table.insert(_G.drawn, '')
  return hide(buf)
end
"""
MESSAGES = "_G.told = {}; vim.notify = function(text) table.insert(_G.told, text) end"


@pytest.fixture
def paths() -> Iterator[Paths]:
    with temporary_paths() as paths:
        yield paths


def opened(
    neovim: Path, paths: Paths, file: Path, text: str | bytes = "", setup: str = "", before: str = "", **env: str
) -> AbstractContextManager[Neovim]:
    """An editor with one file; ``env`` is for the daemon."""
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    folders = {"XDG_STATE_HOME": str(paths.state_dir), "XDG_DATA_HOME": str(paths.state_dir)}
    whole_env = environment(paths, **folders, **env)
    return running(neovim, whole_env, file.parent, f"{CMD}, {setup}", f"{MESSAGES}\n{before}", (file,))


def say(text: str) -> str:
    """The first line of say.py."""
    return json.dumps(text) + "\n"


def until_shown(editor: Neovim, text: str) -> None:
    editor.until(lambda: editor.ghost == text, f"ghost text {text!r}")


def until_lines(editor: Neovim, *lines: str) -> None:
    editor.until(lambda: editor.lines == list(lines), f"lines {lines}")


def told(editor: Neovim) -> list[str]:
    return list(editor.lua("return _G.told"))


# What is shown


def test_ghost_text_grows_and_what_is_typed_along_consumes_it(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "slow.py") as editor:
        editor.until_ready()
        editor.lua(RECORD)
        editor.keys("ix = ")
        until_shown(editor, "slow")
        editor.until(lambda: editor.lua("return require('completiond').state().phase") == "ready", "the end")
        drawn = list(dict.fromkeys(text for text in editor.lua("return _G.drawn") if text))
        assert drawn == ["s", "sl", "slo", "slow"]
        editor.lua("_G.drawn = {}")
        for typed in ("s", "l", "o"):
            editor.keys(typed)
        until_shown(editor, "w")
        assert list(editor.lua("return _G.drawn")) == ["low", "ow", "w"], "never away meanwhile"
        editor.keys("<BS>")
        until_shown(editor, "ow")
        assert told(editor) == []


def test_what_is_typed_otherwise_takes_it_away(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab")) as editor:
        editor.until_ready()
        editor.keys("Gox")
        until_shown(editor, "ab")
        editor.lua(RECORD)
        editor.keys("!")
        until_shown(editor, "ab")  # the answer to a new request
        assert "" in editor.lua("return _G.drawn")
        editor.keys("<Left>")
        editor.until(lambda: editor.ghost is None, "no ghost text at another place")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_server_has_the_text_to_the_byte(any_neovim: Path, paths: Paths, project: Path, line_end: str) -> None:
    text = "é = '日本'\n\tx = \n\U0001f600 = a\u0301\n".replace("\n", line_end)
    with opened(any_neovim, paths, project / "hash.py", text.encode()) as editor:
        assert editor.vim.eval("&fileformat") == ("dos" if line_end == "\r\n" else "unix")
        editor.until_ready()
        editor.keys("2GAñ<CR>\U0001f600")
        prefix = f"é = '日本'\n\tx = ñ\n{editor.lines[2]}".replace("\n", line_end)
        suffix = "\n\U0001f600 = a\u0301\n".replace("\n", line_end)
        until_shown(editor, f"{digest(prefix)}:{digest(suffix)}")


def test_lines_tabs_and_wide_characters(any_neovim: Path, paths: Paths, project: Path) -> None:
    answer = "(é):\r\n\treturn '日本'\r\n"
    with opened(any_neovim, paths, project / "say.py", (say(answer)).replace("\n", "\r\n")) as editor:
        editor.until_ready()
        editor.vim.command("set tabstop=3")
        editor.keys("Goé\U0001f600")
        until_shown(editor, "(é):\n   return '日本'\n")
        editor.keys("<Tab>")
        first = editor.lines[0]
        until_lines(editor, first, "é\U0001f600(é):", "\treturn '日本'", "")
        editor.keys("<Esc>")
        assert editor.vim.eval("&fileformat") == "dos"


def test_text_on_the_right_stays_there(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab") + "f(é) # x") as editor:
        editor.until_ready()
        editor.keys("G0fé<Esc>iy")
        until_shown(editor, "ab")
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == "f(yabé) # x", "the text between")


# What is taken


def test_accepting_by_word_by_line_and_whole(any_neovim: Path, paths: Paths, project: Path) -> None:
    answer = "a_b(c) + 1\n    d = e\nf\n"
    with opened(any_neovim, paths, project / "say.py", say(answer)) as editor:
        editor.until_ready()
        head = editor.lines[0]
        editor.keys("Gox = ")
        until_shown(editor, answer)
        editor.keys("<M-w>")
        until_lines(editor, head, "x = a_b")
        assert editor.ghost == "(c) + 1\n    d = e\nf\n"
        editor.keys("<M-l>")
        until_lines(editor, head, "x = a_b(c) + 1")
        editor.keys("<M-l>")
        until_lines(editor, head, "x = a_b(c) + 1", "    d = e")
        assert editor.ghost == "\nf\n"
        editor.keys("<Tab>")
        until_lines(editor, head, "x = a_b(c) + 1", "    d = e", "f", "")
        assert editor.vim.current.window.cursor == (5, 0)


def test_what_was_accepted_is_one_undo_step(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab\ncd")) as editor:
        editor.until_ready()
        head = editor.lines[0]
        editor.keys("Gox")
        until_shown(editor, "ab\ncd")
        editor.keys("<Tab>")
        until_lines(editor, head, "xab", "cd")
        editor.keys("yz<Esc>")
        for lines in ((head, "xab", "cd"), (head, "x"), (head,)):
            editor.keys("u")
            assert editor.lines == list(lines)
        editor.keys("<C-r><C-r><C-r>")
        assert editor.lines == [head, "xab", "cdyz"]


def test_closers_that_a_plugin_inserts_are_not_doubled(any_neovim: Path, paths: Paths, project: Path) -> None:
    pairs = "vim.keymap.set('i', '(', '()<Left>'); vim.keymap.set('i', '\"', '\"\"<Left>')"
    with opened(any_neovim, paths, project / "say.py", say('("a")'), before=pairs) as editor:
        editor.until_ready()
        editor.keys("Goprint")
        assert editor.ghost_text() == '("a")'  # whole: else it is asked for anew
        editor.keys("(")
        until_shown(editor, '"a"')
        editor.keys('"')
        until_shown(editor, "a")
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == 'print("a")', "balanced text")


def test_dismissed_text_stays_away_while_it_is_typed_along(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("abc")) as editor:
        editor.until_ready()
        editor.keys("Gox")
        until_shown(editor, "abc")
        editor.keys("<M-x>")
        assert editor.ghost is None
        editor.keys("ab")
        editor.until(lambda: editor.lines[1] == "xab", "typed text")
        assert editor.ghost is None
        editor.keys("!")
        until_shown(editor, "abc")


# Keys of others


@pytest.mark.parametrize(
    ("mapping", "wanted"),
    [
        ("", "x\t"),
        ("vim.keymap.set('i', '<Tab>', 'rhs')", "xrhs"),
        ("vim.keymap.set('i', '<Tab>', '<Tab>y', { remap = true })", "x\ty"),
        ("vim.keymap.set('i', '<Tab>', function() return 'called<lt>' end, { expr = true })", "xcalled<"),
        ("vim.keymap.set('i', '<Tab>', function() vim.api.nvim_put({ 'put' }, 'c', false, true) end)", "xput"),
        ("vim.cmd([[inoremap <expr> <Tab> repeat('n', 3)]])", "xnnn"),
        ("vim.cmd([[imap <Tab> a<F2>]]); vim.cmd([[inoremap <F2> remapped]])", "xaremapped"),
    ],
)
def test_tab_without_ghost_text_does_what_it_did(
    any_neovim: Path, paths: Paths, project: Path, mapping: str, wanted: str
) -> None:
    with opened(any_neovim, paths, project / "empty.py", before=mapping) as editor:
        editor.until_ready()
        editor.vim.command("set noexpandtab")
        editor.keys("ix<Tab>")
        until_lines(editor, wanted)


def test_tab_with_ghost_text_leaves_the_old_mapping_alone(any_neovim: Path, paths: Paths, project: Path) -> None:
    before = "vim.keymap.set('i', '<Tab>', 'rhs'); vim.keymap.set('i', '<M-w>', 'mine')"
    with opened(any_neovim, paths, project / "say.py", say("ab"), before=before) as editor:
        editor.until_ready()
        editor.keys("Gox")
        until_shown(editor, "ab")
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == "xab", "accepted text")
        editor.keys("<M-w>")
        editor.until(lambda: editor.lines[1] == "xabmine", "the user's own mapping")


def test_functions_for_mappings_of_ones_own(any_neovim: Path, paths: Paths, project: Path) -> None:
    mapping = (
        "vim.keymap.set('i', '<C-y>', function()"
        " return require('completiond').accept() and '' or 'none' end, { expr = true })"
    )
    with opened(any_neovim, paths, project / "say.py", say("ab"), setup="keys = false", before=mapping) as editor:
        editor.until_ready()
        editor.keys("Gox")
        until_shown(editor, "ab")
        editor.keys("<C-y>")
        editor.until(lambda: editor.lines[1] == "xab", "accepted text")
        editor.keys("<Esc>o<M-x><C-y>")
        assert editor.vim.eval("maparg('<Tab>', 'i')") != "completiond: accept"


def test_health_names_mappings_in_the_way(any_neovim: Path, paths: Paths, project: Path) -> None:
    before = "vim.keymap.set('i', '<M-w>', 'mine'); vim.g.loaded_copilot = 1"
    with opened(any_neovim, paths, project / "empty.py", before=before) as editor:
        editor.until_ready()
        editor.lua("vim.keymap.set('i', '<Tab>', 'other', { desc = 'somebody else' })")
        editor.vim.command("checkhealth completiond")
        report = "\n".join(editor.lines)
    assert "<M-w> was mapped already" in report
    assert "<Tab> belongs to another mapping: somebody else" in report
    assert "copilot.vim is loaded, too" in report


# Late answers, and the way out


def test_an_answer_that_comes_after_insert_mode_shows_nothing(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "slow.py", "one\ntwo\n") as editor:
        editor.until_ready()
        editor.keys("Ax")
        editor.until(lambda: editor.ghost, "the beginning of the answer")
        editor.lua(RECORD)
        editor.keys("<Esc>j")
        editor.until(lambda: editor.ghost is None, "no ghost text in normal mode")
        editor.keys("A")
        until_shown(editor, "slow")
        drawn = list(editor.lua("return _G.drawn"))
        assert drawn[: drawn.index("s")] == [""], "nothing of the first answer after Esc"
        assert editor.lua("return vim.api.nvim_buf_get_extmarks(0, require('completiond.ghost').namespace, 0, -1, {})")[
            0
        ][1:] == [1, 3]


def test_an_answer_follows_its_line_when_lines_come_above(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "slow.py", "one\ntwo\n") as editor:
        editor.until_ready()
        editor.keys("2GAx")
        editor.until(lambda: editor.ghost, "the beginning of the answer")
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'new' })")
        until_shown(editor, "slow")
        editor.keys("<Tab>")
        until_lines(editor, "new", "one", "twoxslow")


def test_a_second_window_of_the_same_buffer(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab") + "one\ntwo\n") as editor:
        editor.until_ready()
        editor.vim.command("split | normal! 2G")
        editor.keys("A")
        until_shown(editor, "ab")
        editor.keys("<Cmd>wincmd w<CR>")
        editor.until(lambda: editor.ghost is None, "no ghost text where the cursor was")
        editor.keys("<Esc>3GA")
        until_shown(editor, "ab")
        editor.keys("<Tab>")
        until_lines(editor, json.dumps("ab"), "one", "twoab")


def test_a_macro_asks_for_nothing(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab")) as editor:
        editor.until_ready()
        editor.keys("qqox<Esc>q")
        editor.lua(RECORD)
        editor.keys("20@q")
        editor.until(lambda: len(editor.lines) == 22, "the macro's end")
        assert list(editor.lua("return _G.drawn")) == []


def test_quitting_with_a_request_in_flight(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "hang.py") as editor:
        editor.until_ready()
        editor.keys("ix")
        editor.until(lambda: editor.lua("return require('completiond').state().phase") == "busy", "a request")
        pid = editor.lua("return vim.uv.os_getpid()")
    editor.until_ended(pid)
    assert holder_pid(paths.lock) is not None, "the daemon stays"


# How it is


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


def test_off_and_on_again(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab")) as editor:
        status = partial(editor.lua, "return require('completiond').status()")
        editor.until_ready()
        editor.vim.command("Completiond off")
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
        assert "completion.max_tokens" in told(editor)[0]


def test_why_and_status(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "empty.py") as editor:
        editor.until_ready()
        editor.vim.command("Completiond status")
        editor.until(lambda: "fake-model" in editor.vim.command_output("messages"), "the daemon's status")
        editor.vim.command("Completiond why")
        editor.until(lambda: "none of the last requests" in editor.vim.command_output("messages"), "an answer")


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


# Neovim's own


def test_without_streaming_neovims_own_ghost_text_is_set_up(new_neovim: Path, paths: Paths, project: Path) -> None:
    answer = "a_b(c)\nd"
    with opened(new_neovim, paths, project / "say.py", say(answer), setup="streaming = false") as editor:
        editor.until_ready()
        head = editor.lines[0]
        editor.keys("Gox = ")
        editor.until(lambda: editor.native_ghost() == answer, "Neovim's ghost text")
        editor.keys("<M-w>")
        until_lines(editor, head, "x = a_b")
        editor.until(lambda: editor.native_ghost() == answer, "the answer at the new place")
        editor.keys("a_<Tab>")  # before Neovim asks again
        until_lines(editor, head, "x = a_ba_b(c)", "d")
        editor.keys("<Esc>ox = ")
        editor.until(lambda: editor.native_ghost() == answer, "Neovim's ghost text")
        editor.keys("<M-x>")
        editor.until(lambda: editor.native_ghost() is None, "nothing")


def test_neovims_own_shows_nothing_beside_ours(new_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(
        new_neovim, paths, project / "say.py", say("ab"), before="vim.lsp.inline_completion.enable()"
    ) as editor:
        editor.until_ready()
        editor.keys("Gox")
        until_shown(editor, "ab")
        assert editor.native_ghost() is None
        assert not editor.lua("return vim.lsp.get_clients()[1]:supports_method('textDocument/inlineCompletion')")


def test_an_old_neovim_streams_whatever_is_set(old_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(old_neovim, paths, project / "say.py", say("ab"), setup="streaming = false") as editor:
        editor.until_ready()
        assert len(told(editor)) == 1
        editor.keys("Gox")
        until_shown(editor, "ab")
