"""``python -m tests.e2e.editors.neovim_times``: from key to ghost text in Neovim, beside the daemon's time."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from completiond.client import connect
from completiond.paths import Paths
from tests.e2e.editors.neovim_driver import Neovim, running
from tests.e2e.editors.neovim_install import neovim_0_12, version_of
from tests.e2e.harness import ROOT, kill_daemon

_SAMPLE: Final = ROOT / "completiond" / "demo" / "files" / "inventory.py"
_TYPED: Final = (
    "def cheapest(items: list[Item]) -> Item | None:\n"
    '"""None of nothing, else what costs least."""\n'
    "known = sorted(items, key=lambda one: (one.unit_price, one.name))\n"
    "return known[0] if known else None\n"
)
_MAX_ASKED: Final = 25
"""Keys whose answers are waited for."""
_PAUSE_S: Final = 0.15
"""Between two keys, once the answer to the one before is there: what somebody takes who types."""

_RECORD: Final = """
local ghost, server = require('completiond.ghost'), require('completiond.server')
local show, request = ghost.show, server.request
_G.at = {}
local function note(what) _G.at[what] = _G.at[what] or vim.uv.hrtime() end
vim.on_key(function() _G.at = {}; note('key') end)
ghost.show = function(...) show(...); note('shown') end
server.request = function(client, method, params, on_answer, buf)
  note('asked')
  return request(client, method, params, function(...) on_answer(...); note('answered') end, buf)
end
"""


def measure(editor: Neovim, paths: Paths) -> None:
    """Type, and print medians and 90th percentiles in milliseconds."""
    rows: dict[str, list[float]] = {name: [] for name in ("along", "first", "whole", "server", "around")}
    for key in _TYPED:
        editor.keys("<CR>" if key == "\n" else "<lt>" if key == "<" else key)
        editor.until(lambda: editor.lua("return require('completiond').state().phase") == "ready", "the answer")
        at: dict[str, int] = editor.lua("return _G.at")
        shown_ms, answered_ms = ((at[what] - at["key"]) / 1e6 if what in at else None for what in ("shown", "answered"))
        if answered_ms is None and shown_ms is not None:
            rows["along"].append(shown_ms)
        elif answered_ms is not None:
            with connect(paths, start=False) as client:
                newest = client.call("completiond/status", {"why": True})["recent"][0]
            rows["server"].append(newest["took_ms"])
            rows["whole"].append(answered_ms)
            rows["around"].append(answered_ms - newest["took_ms"])
            if shown_ms is not None:
                rows["first"].append(shown_ms)
            if len(rows["whole"]) == _MAX_ASKED:
                break
        time.sleep(_PAUSE_S)
    _print("typed along: from key to ghost text drawn anew", rows["along"])
    _print("asked: from key to the first ghost text", rows["first"])
    _print("asked: from key to the end of the answer", rows["whole"])
    _print("the daemon's own time for the same answers", rows["server"])
    _print("what Neovim, shim and socket add to it", rows["around"])


def _print(what: str, times_ms: Sequence[float]) -> None:
    if len(times_ms) < 2:
        print(f"{what}: {len(times_ms)} keys")
        return
    p90_ms = statistics.quantiles(times_ms, n=10)[-1]
    print(f"{what}: {len(times_ms)} keys, median {statistics.median(times_ms):.1f} ms, p90 {p90_ms:.1f} ms")


def main() -> None:
    """Measure with a daemon of its own."""
    with tempfile.TemporaryDirectory(prefix="cdt-", ignore_cleanup_errors=True) as name:
        folder = Path(name, "project")
        folder.mkdir()
        file = folder / "inventory.py"
        file.write_text(_SAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
        own = {f"COMPLETIOND_{kind}_DIR": str(Path(name, kind.lower())) for kind in ("CONFIG", "RUNTIME", "STATE")}
        env = {**os.environ, **own, "XDG_STATE_HOME": name, "XDG_DATA_HOME": name, "PYTHONPATH": str(ROOT)}
        paths = replace(Paths.from_environment(), runtime_dir=Path(name, "runtime"))
        program = neovim_0_12()
        print(version_of(program))
        setup = f"cmd = {{ [[{sys.executable}]], '-m', 'completiond', 'lsp' }}"
        try:
            with running(program, env, folder, setup, files=(file,)) as editor:
                editor.until_ready()
                editor.lua(_RECORD)
                editor.keys("Go<CR>")
                editor.until_ready()
                measure(editor, paths)
        finally:
            kill_daemon(paths)


if __name__ == "__main__":
    main()
