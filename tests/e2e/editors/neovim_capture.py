"""``python -m tests.e2e.editors.neovim_capture FILE.svg``: Neovim's screen in a terminal (tmux), with ghost text."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import PLUGIN, TIMEOUT_S
from tests.e2e.editors.neovim_install import neovim_0_12
from tests.e2e.harness import ROOT, kill_daemon

_COLUMNS: Final = 88
_LINES: Final = 16
_SAMPLE: Final = ROOT / "completiond" / "demo" / "files" / "inventory.py"
_INIT: Final = """
vim.o.number, vim.o.termguicolors, vim.o.showmode, vim.o.ruler = true, true, false, false
vim.o.scrolloff, vim.o.swapfile = 8, false -- lines below the cursor are free for ghost text
vim.cmd.highlight('Normal guibg=NONE')
vim.o.statusline = " %f %=%{v:lua.require'completiond'.status()} "
vim.api.nvim_create_autocmd('User', { pattern = 'CompletiondStatus', command = 'redrawstatus' })
"""


class Terminal:
    """A tmux server of its own with one window."""

    def __init__(self, folder: Path, command: str, env: dict[str, str]) -> None:
        self._socket = str(folder / "tmux")
        size = ["-x", str(_COLUMNS), "-y", str(_LINES)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, command, env={**env, "COLORTERM": "truecolor"})

    def _tmux(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names of them."""
        self._tmux("send-keys", *keys)

    def screen(self, colours: bool = False) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def until(self, text: str) -> None:
        """Wait until a text is on the screen."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while text not in self.screen():
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"no {text!r} on the screen:\n{self.screen()}")
            time.sleep(0.02)

    def close(self) -> None:
        """End it with all that runs in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, timeout=TIMEOUT_S)


def capture(target: Path) -> None:
    """Write the screen to ``target``: a rename half done, and the next lines as ghost text."""
    with tempfile.TemporaryDirectory(prefix="cdc-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        own = {f"COMPLETIOND_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "RUNTIME", "STATE")}
        env = {**os.environ, **own}
        env |= {"XDG_STATE_HOME": name, "XDG_DATA_HOME": name, "PYTHONPATH": str(ROOT)}
        (folder / "inventory.py").write_text(_SAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
        setup = f"require('completiond').setup({{ cmd = {{ [[{sys.executable}]], '-m', 'completiond', 'lsp' }} }})"
        (folder / "init.lua").write_text(f"vim.opt.runtimepath:prepend([[{PLUGIN}]])\n{_INIT}\n{setup}\n")
        start = [str(neovim_0_12()), "--clean", "-u", str(folder / "init.lua"), "inventory.py"]
        terminal = Terminal(folder, f"cd {shlex.quote(name)} && exec {shlex.join(start)}", env)
        try:
            terminal.until("completiond ready")
            terminal.keys(
                ":silent /^def withdraw/,$s/stock\\>/stock_by_name/g | noh", "Enter", "G", "z", "t", "o", "Enter", "C-u"
            )
            terminal.keys("def deposit(stock_by_name: dict[str, int], name: str, quantity: int) -> None:", "Enter")
            terminal.until("Deposit")
            terminal.until("completiond ready")
            screen = terminal.screen(colours=True)
        finally:
            terminal.close()
            kill_daemon(replace(Paths.from_environment(), runtime_dir=folder / "runtime"))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        console = Console(record=True, width=_COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(screen), end="")
        drawing = console.export_svg(title="Neovim")
    # Without the fonts that it would fetch from elsewhere.
    drawing = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)
    target.write_text(re.sub(r"<!-- Generated .*?-->", "", drawing), encoding="utf-8")


if __name__ == "__main__":
    capture(Path(sys.argv[1]))
