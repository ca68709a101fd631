"""An editor on the plugin's own language server, with a daemon whose answers are known beforehand (it has no model)."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import Neovim, running
from tests.e2e.harness import environment

__all__ = ["CMD", "MESSAGES", "RECORD", "opened", "say", "told", "until_lines", "until_shown"]

CMD: Final = f"cmd = {{ [[{sys.executable}]], '-m', 'completiond', 'lsp' }}"

# All that is drawn from here on, '' for nothing.
RECORD: Final = """
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
MESSAGES: Final = "_G.told, _G.notify = {}, vim.notify; vim.notify = function(text) table.insert(_G.told, text) end"


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
