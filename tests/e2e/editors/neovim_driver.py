"""A real Neovim with the plugin, driven over its RPC as a user would: keys go in, ghost text and buffers come out."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pynvim

from tests.e2e.harness import ROOT

__all__ = ["PLUGIN", "TIMEOUT_S", "Neovim", "running"]

PLUGIN: Final = ROOT / "editors" / "neovim"
TIMEOUT_S: Final = 120.0
"""For what takes a second when nothing else runs on the machine."""
_POLL_S: Final = 0.01

_GHOST: Final = "local ghost = package.loaded['completiond.ghost']; return ghost and ghost.text(0)"
_NATIVE_GHOST: Final = """
local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
local mark = namespace and vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })[1]
if not mark then return nil end
local lines = { mark[4].virt_text[1][1] }
for _, line in ipairs(mark[4].virt_lines or {}) do table.insert(lines, line[1][1]) end
return table.concat(lines, '\\n')
"""


class Neovim:
    """One editor. ``vim`` is its API."""

    def __init__(self, vim: Any) -> None:
        self.vim = vim

    def lua(self, code: str, *arguments: object) -> Any:
        """Run Lua in the editor and return what it returns."""
        return self.vim.exec_lua(code, *arguments)

    def keys(self, keys: str) -> None:
        """Press keys, such as ``Aret<Esc>``, and wait until the editor has taken them."""
        self.vim.input(keys)
        self.vim.eval("1")

    def type(self, text: str) -> None:
        """Press one key after the other, each of them taken before the next."""
        for key in text:
            self.keys("<lt>" if key == "<" else key)

    @property
    def ghost(self) -> str | None:
        """The ghost text that is drawn; None if there is none."""
        text: str | None = self.lua(_GHOST)
        return text

    def native_ghost(self) -> str | None:
        """The ghost text of Neovim's own inline completion."""
        text: str | None = self.lua(_NATIVE_GHOST)
        return text

    @property
    def lines(self) -> list[str]:
        """The buffer's text."""
        return list(self.vim.current.buffer[:])

    def until(self, condition: Callable[[], object], what: str, poll_s: float = _POLL_S) -> Any:
        """Wait for a condition and return what it returned. Raises AssertionError with what the editor says."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while not (result := condition()):
            if time.monotonic() > deadline_s:
                raise AssertionError(f"waited in vain for {what}: {self.describe()}")
            time.sleep(poll_s)
        return result

    def ghost_text(self) -> str:
        """Wait for ghost text that is whole, and return it."""

        def whole() -> str | None:
            state = self.lua("return require('completiond').state().phase")
            return self.ghost if state == "ready" else None

        text: str = self.until(whole, "ghost text")
        return text

    def until_ready(self) -> None:
        """Wait until the model is loaded."""
        self.until(lambda: self.lua("return require('completiond').state().phase") == "ready", "a loaded model")

    def until_ended(self, pid: int) -> None:
        """Wait until a process is no more."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while _is_running(pid):
            if time.monotonic() > deadline_s:
                raise AssertionError(f"process {pid} does not end")
            time.sleep(_POLL_S)

    def describe(self) -> str:
        """What a failing test prints."""
        state = self.lua("local ours = package.loaded.completiond; return vim.inspect(ours and ours.state())")
        messages = self.vim.command_output("messages")
        mode = self.vim.api.get_mode()["mode"]
        return f"state {state}, mode {mode}, ghost {self.ghost!r}, lines {self.lines}, messages {messages!r}"


def _is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


@contextmanager
def running(
    program: Path,
    env: dict[str, str],
    folder: Path,
    setup: str = "",
    before: str = "",
    files: tuple[Path, ...] = (),
    init: Path | None = None,
) -> Iterator[Neovim]:
    """Run the ``program`` in ``folder`` with the plugin and nothing else; quit it at the end.

    ``setup`` is the inside of the Lua table that ``setup()`` is given, ``before`` is run before it; or there is an
    ``init`` file of its own.
    """
    if init is None:
        init = folder.parent / f"{folder.name}-init.lua"
        plugin = f"vim.opt.runtimepath:prepend([[{PLUGIN}]])"
        init.write_text(f"{plugin}\n{before}\nrequire('completiond').setup({{ {setup} }})\n", encoding="utf-8")
    argv = [str(program), "--embed", "--headless", "--clean", "-u", str(init), *map(str, files)]
    start = ["env", "-C", str(folder), *(f"{name}={value}" for name, value in env.items())]
    vim = pynvim.attach("child", argv=[*start, *argv])
    try:
        yield Neovim(vim)
    finally:
        quit_editor(vim)


def quit_editor(vim: Any) -> None:
    """Quit without saving; an editor that has quit already is left alone."""
    with contextlib.suppress(EOFError, OSError):  # the connection ends with the editor
        vim.input("<C-\\><C-n>")
        vim.command("qa!")
    vim.close()
