"""The Neovim plugin while one types: what is drawn, what is taken, late answers, Neovim's own ghost text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import Neovim
from tests.e2e.editors.neovim_scripted import RECORD, opened, say, told, until_lines, until_shown
from tests.fakes import digest

# Counts requests and answers. As from servers of before, each answer begins with a notification that has no text.
COUNT_REQUESTS = """
local server = require('completiond.server')
local request = server.request
_G.num_requests, _G.num_answers = 0, 0
server.request = function(client, method, params, on_answer, buf)
  if method ~= 'textDocument/inlineCompletion' then
    return request(client, method, params, on_answer, buf)
  end
  _G.num_requests = _G.num_requests + 1
  return request(client, method, params, function(...)
    _G.num_answers = _G.num_answers + 1
    local document = { uri = params.textDocument.uri, version = vim.lsp.util.buf_versions[buf] }
    server.listeners.partial({ textDocument = document, position = params.position, insertText = '' })
    return on_answer(...)
  end, buf)
end
"""

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


def test_nothing_to_say_is_not_asked_for_again(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "hush.py") as editor:
        editor.until_ready()
        editor.lua(COUNT_REQUESTS)
        editor.keys("i")
        editor.type("ab(")
        editor.until(lambda: editor.lua("return _G.num_answers > 0 and _G.num_answers == _G.num_requests"), "answers")
        editor.lua("vim.wait(300, function() return false end)")
        editor.lua("require('completiond.session').on_change(); require('completiond.server').listeners.ready()")
        assert editor.lua("return _G.num_requests") <= 5, (
            "one for Insert mode, each key, and a server that is ready anew"
        )
        editor.until(lambda: editor.lua("return _G.num_answers == _G.num_requests"), "an answer")
        editor.lua("for _ = 1, 99 do require('completiond.server').listeners.ready() end")
        assert editor.lua("return _G.num_requests") <= 7, "however often it says so"
        editor.keys("<M-n>")
        editor.until(lambda: editor.lua("return _G.num_answers == _G.num_requests"), "an answer to who asks")
        assert editor.ghost is None


def test_the_window_scrolls_as_far_as_ghost_text_needs_and_not_back(
    any_neovim: Path, paths: Paths, project: Path
) -> None:
    text = say("b\nc\nd") + "line\n" * 40
    with opened(any_neovim, paths, project / "say.py", text) as editor:
        editor.vim.ui_attach(80, 14, rgb=True)
        editor.until_ready()
        editor.keys("Goa")
        until_shown(editor, "b\nc\nd")
        assert screen(editor)[8:12] == ["line", "ab", "c", "d"]
        top = editor.vim.eval("line('w0')")
        editor.keys("<M-x>")
        editor.until(lambda: editor.ghost is None, "nothing")
        assert screen(editor)[8:12] == ["line", "a", "~", "~"], "it stays where it is"
        editor.keys("<Esc>S")
        until_shown(editor, "b\nc\nd")
        assert editor.vim.eval("line('w0')") == top, "there is room"
        editor.keys("<Esc>")
        editor.vim.command("set scrolloff=99")
        editor.keys("<C-b>ggGA")
        until_shown(editor, "b\nc\nd")
        assert screen(editor)[11] == "b", "nothing that 'scrolloff' would take back"


def screen(editor: Neovim) -> list[str]:
    """The rows of the screen, without blanks at their end."""
    editor.vim.command("redraw")
    rows = editor.vim.eval("map(range(1, &lines), {_, row -> join(map(range(1, 40), 'screenstring(row, v:val)'), '')})")
    return [str(row).rstrip() for row in rows]


def test_buffers_without_a_name_have_ghost_text(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "say.py", say("ab")) as editor:
        editor.until_ready()
        editor.vim.command("enew | set filetype=python")
        editor.keys("ib = <Esc>Oa = é")
        until_shown(editor, f"{digest('a = é')}:{digest(chr(10) + 'b = ' + chr(10))}")
        editor.keys("<Esc>")
        editor.vim.command("new | set fileformat=dos")
        editor.keys("ic<CR>d")
        shown = f"{digest(chr(13).join(['c', chr(10) + 'd']))}:{digest(chr(13) + chr(10))}"
        until_shown(editor, shown)
        editor.keys("<Tab>")
        until_lines(editor, "c", "d" + shown)
        editor.keys("<Esc>")
        editor.vim.command(f"saveas {project / 'hush.py'}")
        editor.vim.command(f"saveas! {project / 'hash.py'}")
        editor.keys("Sd")
        until_shown(editor, shown)
        assert told(editor) == []


def test_a_buffer_without_a_name_is_gone_on_with_when_it_is_written(
    any_neovim: Path, paths: Paths, project: Path
) -> None:
    with opened(any_neovim, paths, project / "empty.py") as editor:
        editor.until_ready()
        editor.vim.command("enew")
        editor.keys(f"i{say('ab').strip()}<CR>x")
        editor.until(lambda: editor.ghost and ":" in editor.ghost, "ghost text of a text without a name")
        editor.keys("<Esc>")
        editor.vim.command(f"write {project / 'say.py'}")
        editor.keys("Sx")
        until_shown(editor, "ab")
        assert told(editor) == []


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


def test_what_follows_closers_that_a_plugin_inserts_is_shown_behind_them(
    any_neovim: Path, paths: Paths, project: Path
) -> None:
    pairs = "vim.keymap.set('i', '(', '()<Left>'); vim.keymap.set('i', ')', '<Right>')"
    with opened(any_neovim, paths, project / "say.py", say("(a) + b"), before=pairs) as editor:
        editor.until_ready()
        editor.keys("Gof")
        assert editor.ghost_text() == "(a) + b"
        editor.lua(COUNT_REQUESTS)
        editor.keys("(")
        until_shown(editor, "a")
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == "f(a)", "the text in front of the closer")
        editor.keys(")")
        until_shown(editor, " + b")
        assert editor.lua("return _G.num_requests") == 0
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == "f(a) + b", "all of it")


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
