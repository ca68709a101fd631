"""Neovim with the plugin, the daemon that it starts, and the real default model. One daemon serves all tests here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from completiond.complete.completer import Completer
from completiond.lock import holder_pid
from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import PLUGIN, Neovim, running
from tests.e2e.harness import ROOT, kill_daemon

pytestmark = pytest.mark.model

ADD = "def add(first, second):\n    return \n\n\nprint(add(1, 2))\n"
CMD = f"cmd = {{ [[{sys.executable}]], '-m', 'completiond', 'lsp' }}"
SAMPLE = ROOT / "completiond" / "demo" / "files" / "inventory.py"

# The drafters that what is drawn came from.
RECORD_SOURCES = """
local server = require('completiond.server')
local partial = server.listeners.partial
_G.sources = {}
server.listeners.partial = function(params)
  for _, span in ipairs(params.spans) do
    _G.sources[span.source] = true
  end
  return partial(params)
end
"""


@pytest.fixture(scope="module")
def paths(model_paths: Paths, default_completer: Completer) -> Iterator[Paths]:
    """``default_completer`` has prepared the weights, so that the daemon's start is a warm one."""
    folder = Path(tempfile.mkdtemp(prefix="cde-"))
    paths = replace(model_paths, config_dir=folder / "config", runtime_dir=folder / "run", state_dir=folder / "state")
    try:
        yield paths
    finally:
        kill_daemon(paths)
        shutil.rmtree(folder, ignore_errors=True)


def environment(paths: Paths) -> dict[str, str]:
    return {
        "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)),
        "COMPLETIOND_CACHE_DIR": str(paths.cache_dir),
        "COMPLETIOND_CONFIG_DIR": str(paths.config_dir),
        "COMPLETIOND_RUNTIME_DIR": str(paths.runtime_dir),
        "COMPLETIOND_STATE_DIR": str(paths.state_dir),
        "COMPLETIOND_PROMPT_MAX_READ_MS": "0",  # what is read must not depend on this machine
        "XDG_STATE_HOME": str(paths.state_dir),
        "XDG_DATA_HOME": str(paths.state_dir),
    }


def opened(
    neovim: Path, paths: Paths, project: Path, text: str, setup: str = "", name: str = "sample.py"
) -> AbstractContextManager[Neovim]:
    """An editor with one file of a project."""
    file = project / name
    file.write_text(text, encoding="utf-8")
    return running(neovim, environment(paths), project, f"{CMD}, {setup}", files=(file,))


def test_type_type_along_and_accept(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project, ADD) as editor:
        editor.until_ready()
        editor.keys("2GA")
        assert editor.ghost_text() == "first + second"
        for number, key in enumerate("first", start=1):
            editor.type(key)
            editor.until(lambda: editor.ghost == "first + second"[number:], "what is left")  # noqa: B023
        assert editor.lines[1] == "    return first"
        editor.keys("<M-w>")
        editor.until(lambda: editor.lines[1] == "    return first +", "the next word")
        assert editor.ghost == " second"
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == "    return first + second", "all of it")
        editor.keys("<Esc>u")
        assert editor.lines[1] == "    return first +"


def test_dismissing(new_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(new_neovim, paths, project, ADD) as editor:
        editor.until_ready()
        editor.keys("2GA")
        editor.ghost_text()
        editor.keys("<M-x>")
        editor.until(lambda: editor.ghost is None, "nothing")
        editor.keys("<Tab><Esc>")
        assert editor.lines[1].strip() == "return", "nothing is accepted that is not seen"


def test_alternatives(new_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(new_neovim, paths, project, ADD) as editor:
        editor.until_ready()
        editor.keys("2GA")
        first = editor.ghost_text()
        editor.keys("<M-n>")
        second = editor.until(lambda: editor.ghost != first and editor.ghost_text(), "another suggestion")
        editor.keys("<M-p>")
        editor.until(lambda: editor.ghost == first, "the first one again")
        editor.keys("<M-n><Tab>")
        wanted = f"    return {second}".split("\n")
        editor.until(lambda: editor.lines[1 : 1 + len(wanted)] == wanted, "the other one in the text")


def test_a_rename_half_done_is_gone_on_with_by_the_dictionary(new_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(new_neovim, paths, project, SAMPLE.read_text(encoding="utf-8")) as editor:
        editor.until_ready()
        editor.lua(RECORD_SOURCES)
        begin = editor.lines.index("def withdraw(stock: dict[str, int], name: str, quantity: int) -> None:")
        editor.vim.command(f"{begin + 1},{begin + 4}s/stock\\>/stock_by_name/ge | noh | {begin + 5}")
        editor.keys("S")
        assert editor.ghost_text() == "stock_by_name[name] -= quantity"
        assert "ngram" in editor.lua("return _G.sources")
        editor.keys("<M-l>")
        editor.until(lambda: editor.lines[begin + 4] == "    stock_by_name[name] -= quantity", "the renamed line")


def test_a_long_answer_is_seen_while_it_is_written(new_neovim: Path, paths: Paths, project: Path) -> None:
    setup = "settings = { spec = { drafter = 'none' } }"
    with opened(new_neovim, paths, project, SAMPLE.read_text(encoding="utf-8"), setup) as editor:
        editor.until_ready()
        editor.lua(
            "local ghost, show = require('completiond.ghost'), require('completiond.ghost').show; _G.drawn = {}"
            " ghost.show = function(buf, row, column, text, ...)"
            " table.insert(_G.drawn, text); return show(buf, row, column, text, ...) end"
        )
        editor.keys("Go<CR>def deposit(stock: dict[str, int], name: str, quantity: int) -> None:<CR>")
        whole = editor.ghost_text()
        drawn = list(dict.fromkeys(editor.lua("return _G.drawn")))
        ours = [text for text in drawn if whole.startswith(text)]
        assert len(ours) >= 3, "token by token"
        assert ours == sorted(ours, key=len)


def test_a_daemon_killed_while_one_types_is_replaced(new_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(new_neovim, paths, project, ADD) as editor:
        editor.until_ready()
        editor.keys("2GA")
        editor.ghost_text()
        editor.type("x")
        killed = holder_pid(paths.lock)
        kill_daemon(paths)
        editor.type("y")
        editor.keys("<BS><BS>")
        editor.until(lambda: editor.lines[1] == "    return ", "the text typed meanwhile")
        assert editor.ghost_text() == "first + second", "without another key"
        assert holder_pid(paths.lock) != killed
        assert "rror" not in editor.vim.command_output("messages")


def test_two_editors_share_a_daemon_and_one_quits_in_the_middle(
    any_neovim: Path, new_neovim: Path, paths: Paths, project: Path
) -> None:
    with opened(new_neovim, paths, project, ADD) as staying:
        staying.until_ready()
        with opened(any_neovim, paths, project, SAMPLE.read_text(encoding="utf-8"), name="other.py") as leaving:
            leaving.until_ready()
            pid = leaving.lua("return vim.uv.os_getpid()")
            leaving.keys("GA<CR><CR>def ")
            staying.keys("2GA")
            staying.vim.command("Completiond status")
            staying.until(lambda: "2 clients" in staying.vim.command_output("messages"), "two clients")
        leaving.until_ended(pid)
        assert staying.ghost_text() == "first + second"


def test_health_has_nothing_wrong(any_neovim: Path, paths: Paths, project: Path) -> None:
    with opened(any_neovim, paths, project, ADD) as editor:
        editor.until_ready()
        editor.vim.command("checkhealth completiond")
        report = "\n".join(editor.lines)
    assert "ERROR" not in report
    assert "WARNING" not in report
    assert "The daemon is ready" in report
    assert "<Tab> accepts ghost text" in report


def test_the_readmes_lines_without_the_plugin(new_neovim: Path, paths: Paths, project: Path) -> None:
    """Neovim 0.12's own inline completion, by what the README says to write into init.lua."""
    readme = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    snippet = readme.partition("<!-- bare Neovim -->\n```lua\n")[2].partition("```")[0]
    assert "vim.lsp.inline_completion.enable" in snippet
    bin_folder = project.parent / "bin"
    bin_folder.mkdir()
    program = bin_folder / "completiond"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m completiond "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    file = project / "sample.py"
    file.write_text(ADD, encoding="utf-8")
    init = project.parent / "bare.lua"
    init.write_text(snippet, encoding="utf-8")
    env = {**environment(paths), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    with running(new_neovim, env, project, init=init, files=(file,)) as editor:
        editor.keys("2GA")

        def asked_again() -> bool:
            editor.keys("x<BS>")  # the model may have to be loaded
            return editor.native_ghost() == "first + second"

        editor.until(asked_again, "Neovim's ghost text", poll_s=1.0)
        editor.keys("<Tab>")
        editor.until(lambda: editor.lines[1] == "    return first + second", "accepted text")


def test_the_help_is_found_by_its_name(new_neovim: Path, project: Path) -> None:
    copy = project / "plugin"
    shutil.copytree(PLUGIN, copy)
    commands = ["help completiond-keys", "echo expand('%:t')", "qa!"]
    arguments = [part for command in commands for part in ("-c", command)]
    run = subprocess.run(
        [new_neovim, "--headless", "--clean", "--cmd", f"set rtp^={copy}", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stderr.strip() == "completiond.txt"
