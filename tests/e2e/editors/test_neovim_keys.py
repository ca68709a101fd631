"""Keys of the Neovim plugin, and those of others: nothing is taken from anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from completiond.paths import Paths
from tests.e2e.editors.neovim_scripted import opened, say, until_lines, until_shown


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


@pytest.mark.parametrize(("typed", "wanted"), [("teh<Tab>", "the\t"), ("xteh<Tab>", "xteh\t")])
def test_tab_without_ghost_text_expands_abbreviations(
    any_neovim: Path, paths: Paths, project: Path, typed: str, wanted: str
) -> None:
    with opened(any_neovim, paths, project / "empty.py", before="vim.cmd('iabbrev teh the')") as editor:
        editor.until_ready()
        editor.vim.command("set noexpandtab")
        editor.keys(f"i{typed}")
        until_lines(editor, wanted)


def test_neovims_own_mapping_of_tab_comes_back(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project / "empty.py") as editor:
        editor.until_ready()
        editor.lua("require('completiond').setup({ keys = false })")
        described = str(editor.vim.eval("maparg('<Tab>', 'i', 0, 1)").get("desc"))
        assert "snippet" in described
        editor.keys("i<Tab>x")
        editor.until(lambda: editor.lines[0].lstrip() == "x" != editor.lines[0], "a tab")


def test_setup_again_gives_back_the_keys_of_before(any_neovim: Path, paths: Paths, project: Path) -> None:
    before = "vim.keymap.set('i', '<Tab>', 'tab')"
    again = "require('completiond').setup({ cmd = require('completiond.options').current.cmd, keys = %s })"
    with opened(any_neovim, paths, project / "empty.py", before=before) as editor:
        editor.until_ready()
        editor.lua("vim.keymap.set('i', '<M-w>', 'mine')")
        editor.lua(again % "{ accept = '<C-y>', accept_word = '<M-q>', next = false }")
        own = editor.vim.eval("map(['<Tab>', '<C-y>', '<M-w>', '<M-q>', '<M-n>'], 'maparg(v:val, \"i\", 0, 1)')")
        assert [one.get("desc", one.get("rhs", "")) for one in own] == [
            "tab",
            "completiond: accept",
            "mine",
            "completiond: accept_word",
            "",
        ]
        editor.lua(again % "false")
        editor.keys("i<Tab><C-y>")
        until_lines(editor, "tab")
        editor.lua(again % "nil")
        editor.lua(again % "nil")
        editor.keys("<Tab>")
        until_lines(editor, "tabtab")
