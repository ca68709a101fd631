"""A headless Neovim that runs a piece of Lua."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from completiond.paths import Paths
from tests.e2e.editors.neovim_install import neovim_0_12
from tests.e2e.harness import TIMEOUT_S, environment


async def run_lua(folder: Path, paths: Paths, code: str) -> Any:
    """What ``code`` returns, as JSON. ``folder`` is empty, and the working folder. Raises CannotInstallError where no
    Neovim is to be had: an editor that is not there has not been tested.
    """
    script, result = folder / "script.lua", folder / "result.json"
    script.write_text(
        "assert(vim.fn.has('nvim-0.12') == 1, 'Neovim is too old')\n"
        f"local run = function()\n{code}\nend\n"
        f"vim.fn.writefile({{ vim.json.encode({{ run() }}) }}, '{result}')\n"
    )
    process = await asyncio.create_subprocess_exec(
        str(await asyncio.to_thread(neovim_0_12)), "--headless", "--clean", "-l", str(script),
        cwd=folder, env=environment(paths, XDG_STATE_HOME=str(folder)),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT_S):
            said, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.communicate()
        raise
    assert process.returncode == 0, said.decode(errors="replace")
    assert result.exists(), said.decode(errors="replace")
    (value,) = json.loads(result.read_text())
    return value
